"""Other array libraries of this process: what do they have on the cards, and what can be known of their work?

Nothing is imported here that the user has not imported, and looking creates no CUDA context.
"""

from __future__ import annotations

from collections.abc import Collection

from nbtf._frameworks.base import Framework
from nbtf._frameworks.cupy import CuPy
from nbtf._frameworks.jax import Jax
from nbtf._frameworks.torch import PyTorch

FRAMEWORKS: tuple[type[Framework], ...] = (PyTorch, CuPy, Jax)
"""A new library is one file and one entry here."""


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported, with what they tell of cards and arrays.

    >>> import sys
    >>> [library.name for library in tf.runtime.frameworks()] == [] or "torch" in sys.modules or "jax" in sys.modules
    True
    """
    return [library for library in (framework.imported() for framework in FRAMEWORKS) if library is not None]


def check_names(names: Collection[str]) -> None:
    """Refuses what is no name of a library.

    Raises:
      ValueError: one of them is none.
    """
    modules = [framework.module_name for framework in FRAMEWORKS]
    unknown = [name for name in names if name not in modules]
    if unknown:
        raise ValueError(f"A library to leave out is one of {', '.join(modules)}; got {unknown[0]!r}.")
