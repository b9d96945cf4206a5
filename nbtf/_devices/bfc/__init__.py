"""TensorFlow's allocator, best fit with coalescing: chunks, pool, account and dump."""
