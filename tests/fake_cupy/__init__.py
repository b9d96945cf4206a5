"""A fake `cupy`, for tests only: NumPy computes, and it refuses what CuPy refuses. No GPU code is executed.

It mirrors what is known of CuPy 14.2; a test against the real package looks after the mirror.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.fake_cupy import arrays, cuda, cupyx
from tests.fake_cupy.arrays import argsort as argsort
from tests.fake_cupy.arrays import array as array
from tests.fake_cupy.arrays import asarray as asarray
from tests.fake_cupy.arrays import ascontiguousarray as ascontiguousarray
from tests.fake_cupy.arrays import broadcast as broadcast
from tests.fake_cupy.arrays import empty as empty
from tests.fake_cupy.arrays import lexsort as lexsort
from tests.fake_cupy.arrays import ndarray as ndarray
from tests.fake_cupy.arrays import sort as sort
from tests.fake_cupy.arrays import take as take
from tests.fake_cupy.exchange import from_dlpack as from_dlpack
from tests.fake_cupy.machine import MACHINE as MACHINE
from tests.fake_cupy.machine import FakeMachine
from tests.fake_cupy.machine import reset as reset

__version__ = "14.2.0+fake"


class _Submodule(SimpleNamespace):
    """A submodule, which has what CuPy has under the names of NumPy's."""

    prefix: str

    def __getattr__(self, name: str) -> Any:
        return arrays.named(name, self.prefix)


linalg, fft = _Submodule(prefix="linalg."), _Submodule(prefix="fft.")
_as_strided = arrays.function("as_strided", np.lib.stride_tricks.as_strided)
lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return arrays.named(name)


def get_default_memory_pool() -> Any:
    return cuda.memory.DEFAULT_POOL


def get_default_pinned_memory_pool() -> Any:
    return SimpleNamespace(free_all_blocks=lambda: None)


@contextmanager
def installed(cards: int = 1, **how: Any) -> Generator[FakeMachine]:
    """Is what `import cupy` finds, inside a `with`."""
    names: dict[str, Any] = {"cupy": sys.modules[__name__], "cupyx": cupyx, "cupy.cuda": cuda}
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    cuda.memory.DEFAULT_POOL._pools.clear()  # what earlier tests left in it was on other cards
    try:
        yield reset(cards, **how)
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
