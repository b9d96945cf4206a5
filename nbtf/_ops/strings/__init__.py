"""String ops, which run on the CPU: `tf.strings`."""
