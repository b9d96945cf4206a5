"""Positions of the largest and smallest elements."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput
from nbtf._ops.op import no_gradient, op
from nbtf._ops.reductions.sums import reduced_shape
from nbtf._ops.specs import Dims, bracketed
from nbtf._runtime.tensor import Tensor
from nbtf._types import REALS, DType, DTypeLike, TensorLike, as_dtype, bool_, int16, int32, int64, uint16
from nbtf.errors import InvalidArgumentError

_POSITIONS = {index_dtype.c_name: index_dtype for index_dtype in (int16, uint16, int32, int64)}
"""The dtypes of positions, in the order used by TensorFlow's message."""


def as_position(value: Any) -> DType:
    """Returns the dtype of positions.

    Raises:
      InvalidArgumentError: if TensorFlow does not support this dtype for positions.
    """
    dtype = as_dtype(value)
    if dtype.c_name not in _POSITIONS:
        text = f"Value for attr 'output_type' of {dtype.c_name} is not in the list of allowed values: "
        raise InvalidArgumentError(text + ", ".join(_POSITIONS))
    return dtype


def as_one_axis(value: Any) -> int:
    """Returns one axis; None means the first.

    Raises:
      TypeError: if `value` is not an integer.
    """
    if value is None:
        return 0
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError("axis must be int or Tensor with integer datatype") from None


def _reduced_partly(input: Any, axis: Any, output_type: Any) -> Dims:
    return None if not input.shape else (None,) * (len(input.shape) - 1)


def _positions(input: Spec, axis: int, output_type: DType) -> Spec:
    rank = len(input.shape)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"Expected dimension in the range [{-rank}, {rank}), but got {axis}")
    if input.shape[axis] == 0:
        raise InvalidArgumentError(f"Reduction axis {axis} is empty in shape {bracketed(input.shape)}")
    return Spec(reduced_shape(input.shape, axis, False), output_type)


_along_an_axis = op(
    "T -> output_type",
    T=REALS | {bool_},
    host={"axis": as_one_axis},
    plain={"output_type": as_position},
    infer=_positions,
    partly=_reduced_partly,
    inputs={"axis": HostInput("dimension", default=0)},
    index_type="Tidx",
)


@_along_an_axis
def ArgMax(xp: Any, input: Any, axis: int, output_type: DType) -> Any:
    if not input.shape[axis]:
        raise ValueError("an empty axis has no largest element")
    return input.argmax(axis).astype(output_type.np_dtype, copy=False)


@ArgMax.express
def argmax(input: TensorLike, axis: Any = None, output_type: DTypeLike = int64, name: str | None = None) -> Tensor:
    """Returns the positions of the largest elements along an axis, the first among equal ones.

    Args:
      input: a tensor of real numbers or bools, shape `[d0, ..., dn]`.
      axis: one axis, counted from the end if negative; the first by default.
      output_type: the dtype: int16, uint16, int32 or int64 (default).

    Returns:
      Positions along `axis`, with `input`'s shape without this axis.

    Raises:
      InvalidArgumentError: if the axis is outside `[-rank, rank)`, or has no elements.

    >>> tf.argmax([[1, 5, 2], [9, 0, 3]], axis=1).numpy()
    array([1, 0])
    """
    return ArgMax(input, axis=0 if axis is None else axis, output_type=output_type, name=name)


@_along_an_axis
def ArgMin(xp: Any, input: Any, axis: int, output_type: DType) -> Any:
    if not input.shape[axis]:
        raise ValueError("an empty axis has no smallest element")
    return input.argmin(axis).astype(output_type.np_dtype, copy=False)


@ArgMin.express
def argmin(input: TensorLike, axis: Any = None, output_type: DTypeLike = int64, name: str | None = None) -> Tensor:
    """Returns the positions of the smallest elements along an axis, the first among equal ones.

    Args:
      input: a tensor of real numbers or bools, shape `[d0, ..., dn]`.
      axis: one axis, counted from the end if negative; the first by default.
      output_type: the dtype: int16, uint16, int32 or int64 (default).

    Returns:
      Positions along `axis`, with `input`'s shape without this axis.

    Raises:
      InvalidArgumentError: if the axis is outside `[-rank, rank)`, or has no elements.

    >>> tf.argmin([[1, 5, 2], [9, 0, 3]], axis=1).numpy()
    array([0, 1])
    """
    return ArgMin(input, axis=0 if axis is None else axis, output_type=output_type, name=name)


no_gradient(ArgMax, ArgMin)
