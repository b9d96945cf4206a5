"""`cupyx`: what CuPy has beyond NumPy."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.fake_cupy.arrays import SOLVERS, named


@contextmanager
def errstate(*, linalg: str) -> Generator[None]:
    """Whether solvers say that they failed; they do not unless told to, on this thread [1.5]."""
    before, SOLVERS.linalg = SOLVERS.linalg, linalg
    try:
        yield
    finally:
        SOLVERS.linalg = before


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    named("add").at(a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    named("maximum").at(a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    named("minimum").at(a, slices, value)
