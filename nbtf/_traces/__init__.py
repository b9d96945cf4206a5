"""What did a profiler record? Traces of PyTorch, TensorFlow, JAX and nbtf in the Chrome form, read as recordings."""
