"""NVIDIA GPUs: their arrays, memory, streams and libraries, used through CuPy."""
