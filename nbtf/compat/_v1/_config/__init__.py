"""The settings of a session."""
