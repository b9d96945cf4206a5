"""PyTorch as an array library beside nbtf. No module here imports PyTorch; those that need it load after the user's."""

from __future__ import annotations

from nbtf._frameworks.torch.library import PyTorch as PyTorch
