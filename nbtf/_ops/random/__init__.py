"""Stateful and stateless random numbers: `tf.random`."""
