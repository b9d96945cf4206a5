"""What layers of networks are made of: `tf.nn`."""
