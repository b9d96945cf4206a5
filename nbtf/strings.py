"""`tf.strings`: functions of string tensors."""
