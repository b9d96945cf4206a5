"""Arithmetic element by element, comparisons, running sums and segments: `tf.math`."""
