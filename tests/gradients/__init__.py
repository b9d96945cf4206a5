"""Compares every way to compute a gradient, in every way to run a program, with TensorFlow's answers."""
