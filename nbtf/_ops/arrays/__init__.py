"""How tensors are made, shaped, cut, joined, gathered and scattered; no arithmetic."""
