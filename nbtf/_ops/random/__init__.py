"""Random numbers, with a state and without: `tf.random`."""
