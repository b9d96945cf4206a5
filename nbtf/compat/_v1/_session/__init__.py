"""How a session runs a graph."""
