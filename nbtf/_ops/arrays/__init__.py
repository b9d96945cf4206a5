"""Ops that create, reshape, slice, join, gather and scatter tensors, without arithmetic."""
