"""Runs the ops that most programs use, so that a GPU has compiled their kernels before they are needed.

CuPy compiles a kernel for each op, dtype, number of axes and kind of broadcasting. Running everything would take
minutes; these groups cover a training step of a small model and the inspection of its data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import fill, ones_like, zeros, zeros_like
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.indexing import getitem
from nbtf._ops.arrays.joining import concat, stack
from nbtf._ops.arrays.shapes import expand_dims, transpose
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add, cast, multiply, negative, subtract
from nbtf._ops.math.comparison import equal, greater, less, where
from nbtf._ops.math.division import truediv
from nbtf._ops.math.exponentials import exp, log, sigmoid, sqrt, tanh
from nbtf._ops.math.magnitude import abs as absolute
from nbtf._ops.math.magnitude import maximum, minimum, square
from nbtf._ops.math.ordering import argsort
from nbtf._ops.nn.activations import relu
from nbtf._ops.nn.softmax import softmax
from nbtf._ops.random.stateless import stateless_normal, stateless_uniform
from nbtf._ops.reductions.extreme_indices import argmax
from nbtf._ops.reductions.means_and_extremes import reduce_max, reduce_mean, reduce_min
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.arguments import check_several
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DType, bool_, float32, float64, int32, int64

_UNARY = (absolute, exp, log, negative, sqrt, square, relu, sigmoid, tanh, ones_like, zeros_like, identity)
_BINARY = (add, subtract, multiply, truediv, maximum, minimum, greater, less, equal)
_REDUCTIONS = (reduce_sum, reduce_mean, reduce_max, reduce_min)


def core() -> dict[str, Callable[[], object]]:
    """Returns functions that run the ops, by group name; their small arguments are created on the current device."""
    return {
        "elementwise": _elementwise,
        "reductions": _reductions,
        "products": _products,
        "parts": _rows_and_slices,
        "casts": _casts,
        "random": _random,
        "variables": _variables,
    }


def chosen(ops: str | Sequence[str]) -> dict[str, Callable[[], object]]:
    """Returns the requested groups.

    Raises:
      ValueError: if a group does not exist.
    """
    groups = core()
    names: list[Any] = [ops] if isinstance(ops, str) else check_several(ops, "ops", "op group names or 'core'")
    names = [*groups] if names == ["core"] else names
    unknown = [name for name in names if name not in [*groups]]
    if unknown:
        raise ValueError(f"ops is {ops!r}; expected 'core', or some of {', '.join(groups)}.")
    return {name: groups[name] for name in names}


def _matrix(dtype: DType = float32) -> Any:
    return as_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype)


def _elementwise() -> None:
    matrix = _matrix()
    row = reshape(_matrix(), [6])
    batch, first = expand_dims(matrix, 0), getitem(matrix, 0)
    for function in _UNARY:
        for x in (row, matrix, batch):
            function(x)
    for two in _BINARY:
        for x, y in (
            (row, row),
            (matrix, matrix),
            (batch, batch),
            (matrix, first),
            (matrix, as_tensor(2.0)),
        ):
            two(x, y)
    where(greater(matrix, 2.0), matrix, zeros_like(matrix))


def _reductions() -> None:
    matrix = _matrix()
    for reduce in _REDUCTIONS:
        for axis in (None, 0, -1):
            reduce(matrix, axis)
        reduce(reshape(matrix, [6]))
    for axis in (0, 1):
        argmax(matrix, axis)
    argsort(matrix)
    softmax(matrix)


def _products() -> None:
    matrix = _matrix()
    matmul(matrix, matrix, transpose_b=True)
    matmul(matrix, matrix, transpose_a=True)
    matmul(expand_dims(matrix, 0), expand_dims(transpose(matrix), 0))


def _rows_and_slices() -> None:
    matrix = _matrix()
    concat([matrix, matrix], 0)
    concat([matrix, matrix], 1)
    stack([matrix, matrix])
    transpose(matrix)
    gather(matrix, [1, 0])
    identity(getitem(matrix, (slice(None), 1)))
    identity(getitem(matrix, 0))
    fill([2, 3], 1.0)
    zeros([2, 3])


def _casts() -> None:
    matrix = _matrix()
    for dtype in (float64, int32, int64, bool_):
        cast(cast(matrix, dtype), float32)


def _random() -> None:
    stateless_uniform([2, 3], seed=[1, 2])  # leaves the state of the global seed unchanged
    stateless_normal([2, 3], seed=[1, 2])


def _variables() -> None:
    variable = Variable(_matrix())
    variable.assign_add(_matrix())
    variable.assign_sub(_matrix())
    variable.assign(_matrix())
