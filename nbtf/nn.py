"""`tf.nn`: activations, softmax and losses."""
