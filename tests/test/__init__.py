"""`tf.test`."""
