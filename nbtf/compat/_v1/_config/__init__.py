"""Session configuration."""
