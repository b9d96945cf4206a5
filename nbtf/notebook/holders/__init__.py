"""Finds what holds memory: the search for names, and the line that frees it."""
