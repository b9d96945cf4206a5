"""Ops that simulate the rounding of numbers to few bits."""
