"""Messages in the manner of protocol buffers, without their library."""
