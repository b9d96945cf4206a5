"""Are elements that are joined side by side in long lines those that NumPy joins one by one?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._ops.reductions.lines import FEW, join, rows_side_by_side

SHAPES = st.lists(st.sampled_from([1, 2, 3, 5, 17, 64, 300]), min_size=1, max_size=4).filter(
    lambda shape: np.prod(shape) <= 20 * FEW
)


@st.composite
def _reductions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...] | None, bool]:
    shape = tuple(draw(SHAPES))
    axes = st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda axis: axis % len(shape))
    return shape, draw(st.none() | axes.map(tuple)), draw(st.booleans())


@given(_reductions(), st.sampled_from([np.add, np.multiply, np.maximum, np.minimum]), st.integers(0, 9))
def test_integers_are_joined_as_numpy_joins_them(reduction: Any, ufunc: Any, seed: int) -> None:
    shape, axes, keepdims = reduction
    array = np.random.default_rng(seed).integers(-9, 10, shape, np.int32)
    expected = ufunc.reduce(array, axes, np.int32, None, keepdims)
    actual = join(np, ufunc, array, axes, np.int32, keepdims)
    assert (expected.shape, expected.dtype) == (actual.shape, actual.dtype)
    assert np.array_equal(expected, actual)


@pytest.mark.parametrize("columns", [2, 3, 31, 64, 256])
@pytest.mark.parametrize("rows", [8_000, 8_191])
def test_sums_come_nearer_the_truth(rows: int, columns: int) -> None:
    array = np.random.default_rng(0).random((rows, columns), np.float32)
    truth = array.sum(0, np.float64)
    off = abs(join(np, np.add, array, (0,)) - truth).max()
    assert rows_side_by_side(rows, columns) > 1
    assert off < abs(np.add.reduce(array, 0) - truth).max()


def test_what_is_no_number_stays_so() -> None:
    array = np.ones((5_000, 3), np.float32)
    array[17, 1], array[4_999, 2] = np.nan, np.inf
    for ufunc in np.add, np.maximum:
        assert np.array_equal(ufunc.reduce(array, 0), join(np, ufunc, array, 0), equal_nan=True)


def test_arrays_in_other_orders_are_left_to_numpy() -> None:
    array = np.random.default_rng(0).random((3, 9_000), np.float32).T
    assert np.array_equal(np.add.reduce(array, 0), join(np, np.add, array, 0))
