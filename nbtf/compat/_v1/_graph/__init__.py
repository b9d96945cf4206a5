"""What a graph of TensorFlow 1 is made of."""
