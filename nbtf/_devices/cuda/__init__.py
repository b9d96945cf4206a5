"""A GPU of NVIDIA: its arrays, memory, streams and libraries through CuPy."""
