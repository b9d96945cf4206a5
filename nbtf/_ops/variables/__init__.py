"""`tf.Variable` and the ops on its resource."""
