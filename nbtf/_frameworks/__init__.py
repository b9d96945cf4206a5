"""Other array libraries of this process: what do they have on the cards, and what can be known of their work?

Nothing is imported here that the user has not imported, and looking creates no CUDA context.
"""

from __future__ import annotations

from nbtf._frameworks.base import Framework
from nbtf._frameworks.cupy import CuPy
from nbtf._frameworks.jax import Jax
from nbtf._frameworks.torch import PyTorch

FRAMEWORKS: tuple[type[Framework], ...] = (PyTorch, CuPy, Jax)
"""A new library is one file and one entry here."""


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported, with what they tell of cards and arrays."""
    return [library for library in (framework.imported() for framework in FRAMEWORKS) if library is not None]


def library_name(module: str) -> str:
    """Returns the name of the library that is imported as a module: `PyTorch` for `torch`.

    Raises:
      ValueError: there is none.
    """
    names = {framework.module_name: framework.name for framework in FRAMEWORKS}
    if module not in names:
        raise ValueError(f"A library to leave out is one of {', '.join(names)}; got {module!r}.")
    return names[module]
