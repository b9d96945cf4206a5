"""Checks of the answers to the exercises and questions of the tutorials."""
