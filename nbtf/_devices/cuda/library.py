"""Where is CuPy loaded? Here, and only when somebody asks for a real GPU."""

from __future__ import annotations

from typing import Any


def load_cupy() -> Any:
    """Imports CuPy: the only place that does."""
    import cupy  # pyright: ignore[reportMissingImports]  # it need not be there

    return cupy  # pyright: ignore[reportUnknownVariableType]
