"""`tf.bitwise`: bits of integers."""
