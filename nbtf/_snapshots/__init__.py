"""Memory snapshots of PyTorch: reading them, what they say about memory, and what other settings would have done."""
