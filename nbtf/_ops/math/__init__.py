"""Elementwise arithmetic, comparisons, cumulative sums and segments: `tf.math`."""
