"""`tf.linalg`: products, decompositions and solutions of matrices."""
