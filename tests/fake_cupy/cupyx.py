"""`cupyx`: what CuPy has beyond NumPy."""

from __future__ import annotations

from typing import Any

from tests.fake_cupy.arrays import named


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    named("add").at(a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    named("maximum").at(a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    named("minimum").at(a, slices, value)
