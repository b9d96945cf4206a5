"""Matrices: products, systems of equations, decompositions, norms: `tf.linalg`."""
