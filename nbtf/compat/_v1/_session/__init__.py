"""Execution of graphs by sessions."""
