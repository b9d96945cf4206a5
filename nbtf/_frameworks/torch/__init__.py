"""What is PyTorch to nbtf? Nothing here imports it; what needs its classes is loaded once the user has imported it."""

from __future__ import annotations

from nbtf._frameworks.torch.library import PyTorch as PyTorch
