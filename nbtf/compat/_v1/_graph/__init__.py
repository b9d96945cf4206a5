"""Graphs of TensorFlow 1."""
