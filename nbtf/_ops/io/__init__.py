"""Files, bytes and records."""
