"""Texts, on the CPU: `tf.strings`."""
