"""PyTorch's allocator for CUDA, without the card: settings, blocks, segments, statistics, snapshot and error text.

Rules and texts are those of PyTorch 2.13. `CachingAllocator` lists what could not be compared with a card.
"""
