"""Calls public functions with invalid arguments and checks their errors."""
