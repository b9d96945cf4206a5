"""`tf.random`: numbers that depend on a seed and on nothing else."""
