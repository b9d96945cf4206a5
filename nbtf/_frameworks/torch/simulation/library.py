"""Where is PyTorch loaded? Here, and only when its GPUs are to be simulated."""

from __future__ import annotations

from typing import Any


def load_torch() -> Any:
    """Returns PyTorch, imported if nobody has done so before."""
    import torch  # pyright: ignore[reportMissingImports]  # it need not be there

    return torch  # pyright: ignore[reportUnknownVariableType]
