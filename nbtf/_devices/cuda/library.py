"""The only place that imports CuPy, and only for real GPUs."""

from __future__ import annotations

from typing import Any


def load_cupy() -> Any:
    """Imports and returns CuPy."""
    import cupy  # pyright: ignore[reportMissingImports]  # optional

    return cupy  # pyright: ignore[reportUnknownVariableType]
