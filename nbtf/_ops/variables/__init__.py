"""Values that ops replace: `tf.Variable`, and the ops on its resource."""
