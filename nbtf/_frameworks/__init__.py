"""Other array libraries of this process: their memory on the cards, and the work that can be observed.

This package imports nothing that the user has not imported, and creates no CUDA context.
"""

from __future__ import annotations

from nbtf._frameworks.base import Framework
from nbtf._frameworks.cupy import CuPy
from nbtf._frameworks.jax import Jax
from nbtf._frameworks.tensorflow import TensorFlow
from nbtf._frameworks.torch import PyTorch
from nbtf._frameworks.unwatched import UNWATCHED

FRAMEWORKS: tuple[type[Framework], ...] = (PyTorch, TensorFlow, CuPy, Jax)
"""The supported libraries; a new one is one file and one entry here."""


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported."""
    return [library for library in (framework.imported() for framework in FRAMEWORKS) if library is not None]


def library_name(module: str) -> str:
    """Returns the name of the library that is imported as a module: `PyTorch` for `torch`.

    Raises:
      ValueError: if no library that nbtf knows is imported by that name.
    """
    names = {framework.module_name: framework.name for framework in (*FRAMEWORKS, *UNWATCHED)}
    if module not in names:
        supported = ", ".join([framework.module_name for framework in FRAMEWORKS])
        raise ValueError(f"Unknown library {module!r}. Libraries to leave out: {supported}.")
    return names[module]
