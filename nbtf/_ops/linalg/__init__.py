"""Linear algebra: products, linear systems, decompositions and norms: `tf.linalg`."""
