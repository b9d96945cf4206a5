"""Ragged tensors, sparse tensors and indexed slices."""
