"""Messages compatible with protocol buffers, without their library."""
