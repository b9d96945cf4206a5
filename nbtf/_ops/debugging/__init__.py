"""Checks of values, shapes and dtypes: `tf.debugging`."""
