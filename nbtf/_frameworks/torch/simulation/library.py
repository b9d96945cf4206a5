"""Loads PyTorch, only when its GPUs are to be simulated."""

from __future__ import annotations

from typing import Any


def load_torch() -> Any:
    """Returns PyTorch, importing it if necessary."""
    import torch  # pyright: ignore[reportMissingImports]  # PyTorch is optional

    return torch  # pyright: ignore[reportUnknownVariableType]
