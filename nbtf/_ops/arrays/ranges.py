"""Creates tensors by a rule: range, linspace, one_hot, meshgrid."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import ones
from nbtf._ops.attributes import HostInput, as_axis, as_int, of_integers, positive_axes
from nbtf._ops.math.arithmetic import cast, multiply, subtract
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.reductions.sums import reduce_sum, unbroadcast_both
from nbtf._ops.specs import UNKNOWN, Dims, bracketed, broadcast_shapes, longer, of_rank
from nbtf._runtime.conversion import as_tensor, host_array
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import (
    ALL,
    FLOATS,
    DType,
    DTypeLike,
    TensorLike,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from nbtf.errors import InvalidArgumentError, NotFoundError

_BY_RANK = (int32, int64, float16, bfloat16, float32, float64)
"""Dtypes by precedence: if its numbers differ, a range has the last one. Source: `range` in TensorFlow's math_ops."""

_RANGES = frozenset(_BY_RANK)
"""Dtypes with a kernel. Source: TensorFlow's CPU kernel registrations of Range."""

_DECLARED = frozenset((int8, int16, uint16, uint32, uint64))
"""Dtypes that the op's definition allows although TensorFlow has a kernel for them only in compiled functions."""


def as_number(value: Any) -> Any:
    """Returns a Python number, or a tensor's value.

    Raises:
      InvalidArgumentError: if `value` has several elements.
    """
    if value.__class__ is int or value.__class__ is float:
        return value
    array = value.numpy() if isinstance(value, Tensor) else host_array(value)[0]
    if getattr(array, "size", 1) != 1:
        raise InvalidArgumentError(f"limit must be a scalar, not shape {bracketed(array.shape)}")
    return array.item() if hasattr(array, "item") else array


@op(
    "-> dtype",
    host={"start": as_number, "limit": as_number, "delta": as_number},
    asked={"start": None, "limit": None, "delta": None},
    plain={"dtype": as_dtype},
    partly=of_rank(1),
    inputs={name: HostInput(name, of_result=True) for name in ("start", "limit", "delta")},
    static=True,
)
def Range(xp: Any, start: Any, limit: Any, delta: Any, dtype: DType) -> Any:
    count = _count(start, limit, delta, dtype)
    scalar_type = dtype.np_dtype.type
    if dtype.is_integer:
        return xp.arange(start, limit, delta, dtype.np_dtype)
    return scalar_type(start) + xp.arange(count).astype(dtype.np_dtype) * scalar_type(delta)


def _count(start: Any, limit: Any, delta: Any, dtype: DType) -> int:
    """Returns the length of a range, computed in its dtype as in TensorFlow."""
    scalar_type = dtype.np_dtype.type
    first, end, step = scalar_type(start), scalar_type(limit), scalar_type(delta)
    if step == 0:
        raise InvalidArgumentError(f"Requires delta != 0: {step}")
    if step > 0 and first > end:
        raise InvalidArgumentError(f"Requires start <= limit when delta > 0: {first}/{end}")
    if step < 0 and first < end:
        raise InvalidArgumentError(f"Requires start >= limit when delta < 0: {first}/{end}")
    if dtype.is_integer:
        return len(builtins.range(int(first), int(end), int(step)))
    count = abs((end - first) / step)
    if not math.isfinite(count):
        raise InvalidArgumentError(f"Requires ((limit - start) / delta) to be finite, got {count}")
    return math.ceil(count)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: DTypeLike | None = None, name: str | None = "range"
) -> Tensor:
    """Returns the numbers from `start` to `limit` (excluded) in steps of `delta`.

    Args:
      start: the first number; if it is the only argument, it is the limit and the range starts at 0.
      limit: the end of the range, not included.
      delta: the step; negative for a descending range; 1 by default.
      dtype: the dtype of the numbers; by default the arguments' dtype.

    Returns:
      A vector.

    Raises:
      InvalidArgumentError: if the step is 0 or leads away from `limit`, or the op does not allow the dtype.
      NotFoundError: if the op allows the dtype and no kernel computes it, such as int16.
      TypeError: if a number does not fit `dtype`.

    >>> tf.range(3).numpy(), tf.range(1, 2, 0.25).numpy()
    (array([0, 1, 2], dtype=int32), array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    if limit is None:
        start, limit = 0, start
    target_dtype = None if dtype is None else as_dtype(dtype)
    dtypes = [_dtype_of(value, target_dtype) for value in (start, limit, delta)]
    if target_dtype is None:
        strange = [candidate for candidate in dtypes if candidate not in _BY_RANK]
        if strange:
            names = "int32, int64, float16, bfloat16, float32 or float64"
            raise TypeError(f"tf.range accepts {names} numbers, got {strange[0]!r}")
        target_dtype = max(dtypes, key=_BY_RANK.index)
    if target_dtype not in _RANGES:
        raise _without_kernel(target_dtype)
    return Range(start=start, limit=limit, delta=delta, dtype=target_dtype, name=name)


def _dtype_of(value: Any, target_dtype: DType | None) -> DType:
    """Returns a tensor's dtype, or the dtype that a Python value gets; raises an error for unsuitable values."""
    if value.__class__ is int and target_dtype is None and -(2**31) <= value < 2**31:
        return int32
    value_dtype = getattr(value, "dtype", None)
    return value_dtype if isinstance(value_dtype, DType) else host_array(value, target_dtype)[1]


def _without_kernel(dtype: DType) -> NotFoundError | InvalidArgumentError:
    """Returns TensorFlow's error for a dtype that Range does not compute; Keras' `arange` catches the first one."""
    if dtype in _DECLARED:
        return NotFoundError(
            f"Could not find device for node: {{{{node Range}}}} = Range[Tidx=DT_{dtype.name.upper()}]\n"
            f"No kernel of Range computes in {dtype.name}: cast the range of another dtype. [Op:Range] name: "
        )
    names = ", ".join(sorted(allowed.c_name for allowed in _RANGES | _DECLARED))
    return InvalidArgumentError(
        f"Value for attr 'Tidx' of {dtype.c_name} is not in the list of allowed values: {names}"
    )


@Range.infer
def _(start: Any, limit: Any, delta: Any, dtype: DType) -> Spec:
    return Spec((_count(start, limit, delta, dtype),), dtype)


no_gradient(Range)


@op("T T -> T", T=FLOATS, host={"num": of_integers("Tidx", as_int)}, plain={"axis": as_int}, partly=longer)
def LinSpace(xp: Any, start: Any, stop: Any, num: int, axis: int) -> Any:
    if num < 0:
        raise ValueError("invalid number of values")
    start, stop = xp.broadcast_arrays(start, stop)
    axis = axis if axis >= 0 else axis + start.ndim + 1
    index = (slice(None),) * axis + (None,)
    first, last = start[index], stop[index]
    shape = [num - 2 if i == axis else 1 for i in builtins.range(first.ndim)]
    if num < 2:
        return first[(slice(None),) * axis + (slice(num),)]
    steps = xp.arange(1, num - 1, dtype=start.dtype).reshape(shape)
    between = first + (last - first) / start.dtype.type(num - 1) * steps
    return xp.concatenate([first, between, last], axis)


def linspace(start: TensorLike, stop: TensorLike, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Returns evenly spaced numbers.

    Args:
      start: the first number, or a tensor of first numbers. Integers become float64.
      stop: the last number, or a tensor of last numbers.
      num: number of values.
      axis: the axis of the numbers in the result, counted from the end if negative; 0 by default.

    Returns:
      A tensor with one more axis than `start` and `stop`, which are broadcast.

    Raises:
      InvalidArgumentError: if `num` is negative.
      TypeError: if `num` is not an integer, or `stop` does not fit `start`'s dtype.

    >>> tf.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first = as_tensor(start)
    last = as_tensor(stop, first._dtype)
    _check_count(num)
    if first._dtype.is_integer:
        float_dtype = float32 if first._dtype in (int8, int16, uint8, uint16) else float64
        first, last = cast(first, float_dtype), cast(last, float_dtype)
    return LinSpace(first, last, num=num, axis=axis, name=name)


def _check_count(num: Any) -> None:
    dtype = _dtype_of(num, None)
    if not dtype.is_integer:
        raise TypeError(
            f"Argument `tensor` (name: num) must be of type integer. Received `tensor` = {num} of dtype: {dtype}"
        )


@LinSpace.infer
def _(start: Spec, stop: Spec, num: int, axis: int) -> Spec:
    if num < 0:
        raise InvalidArgumentError(f"Requires start <= limit when delta > 0: 1/{num}")
    shape = broadcast_shapes(start.shape, stop.shape)
    (position,) = positive_axes(axis, len(shape) + 1)
    return Spec((*shape[:position], num, *shape[position:]), start.dtype)


@LinSpace.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    num = as_int(call.attrs["num"])
    axis = call.attrs["axis"] % len(grad.shape)
    shape = [num if i == axis else 1 for i in builtins.range(len(grad.shape))]
    share = cast(reshape(linspace(0.0, 1.0, num), shape), grad.dtype)
    return unbroadcast_both(
        call,
        lambda: reduce_sum(multiply(grad, subtract(1, share)), axis),
        lambda: reduce_sum(multiply(grad, share), axis),
    )


INDICES = frozenset({uint8, int8, int32, int64})


def _one_hot_partly(indices: Any, on_value: Any, off_value: Any, depth: Any, axis: int) -> Dims:
    if indices.shape is None:
        return None
    number = len(indices.shape) if axis == -1 else axis
    return (*indices.shape[:number], None if depth is UNKNOWN else depth, *indices.shape[number:])


@op(
    "TI T T -> T",
    T=ALL,
    TI=INDICES,
    host={"depth": as_axis},
    asked={"depth": int32},
    plain={"axis": as_int},
    partly=_one_hot_partly,
    inputs={"depth": HostInput("depth", 1)},
    definition="indices:TI, depth:int32, on_value:T, off_value:T -> output:T; attr=axis:int,default=-1; attr=T:type; "
    "attr=TI:type,default=DT_INT64,allowed=[DT_UINT8, DT_INT8, DT_INT32, DT_INT64]",
)
def OneHot(xp: Any, indices: Any, on_value: Any, off_value: Any, depth: Any, axis: int) -> Any:
    if not -1 <= axis <= indices.ndim or depth < 0:
        raise ValueError("no such axis")
    position = indices.ndim if axis == -1 else axis
    shape = [depth if i == position else 1 for i in builtins.range(indices.ndim + 1)]
    hot = indices[(slice(None),) * position + (None,)] == xp.arange(depth, dtype=int64.np_dtype).reshape(shape)
    return xp.where(hot, on_value, off_value)


def one_hot(
    indices: TensorLike,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns rows with `on_value` at one position each.

    Args:
      indices: the positions; for a position out of range, the row has only `off_value`. NumPy floats and bools become
        int64.
      depth: number of positions.
      on_value: the value at the position; 1 by default.
      off_value: the value elsewhere; 0 by default.
      axis: the index of the new axis; the last by default.
      dtype: the dtype of the result; by default that of the values, or float32.

    Returns:
      A tensor with one more axis than `indices`.

    Raises:
      InvalidArgumentError: if `depth` is negative, or the axis does not exist.
      TypeError: if the values' dtypes differ.

    >>> tf.one_hot([0, 2], 3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    _dtype_of(depth, int32)  # rejects non-integers
    value_dtype = target_dtype = None if dtype is None else as_dtype(dtype)
    if on_value is not None or off_value is not None:
        on_dtype = None if on_value is None else _dtype_of(on_value, _suiting(on_value, value_dtype))
        off_dtype = None if off_value is None else _dtype_of(off_value, _suiting(off_value, value_dtype))
        value_dtype = _agreed(on_dtype, off_dtype, value_dtype)
    value_dtype = value_dtype or float32
    on = as_tensor(1, value_dtype) if on_value is None else as_tensor(on_value, target_dtype)
    off = as_tensor(0, value_dtype) if off_value is None else as_tensor(off_value, target_dtype)
    return OneHot(_as_indices(indices), on, off, depth=depth, axis=-1 if axis is None else axis, name=name)


def _as_indices(indices: Any) -> Any:
    """Returns NumPy arrays and bools as int64, as TensorFlow does; other values unchanged."""
    dtype = None if isinstance(indices, Tensor) else host_array(indices)[1]
    from_numpy = isinstance(indices, CPU.xp.ndarray | CPU.xp.generic)
    if dtype is bool_ or (from_numpy and dtype not in INDICES):
        return cast(as_tensor(indices), int64)
    return as_tensor(indices, int64) if indices.__class__ is int else indices


def _suiting(value: Any, dtype: DType | None) -> DType | None:
    """Returns `dtype` if a Python value fits it; for None, the value's own dtype."""
    try:
        host_array(value, dtype)
    except (TypeError, ValueError):
        return None
    return dtype


def _agreed(on: DType | None, off: DType | None, target_dtype: DType | None) -> DType | None:
    if target_dtype is not None:
        for name, value_dtype in (("on_value", on), ("off_value", off)):
            if value_dtype is not None and value_dtype is not target_dtype:
                raise TypeError(f"dtype {value_dtype} of {name} does not match dtype parameter {target_dtype}")
        return target_dtype
    if on is not None and off is not None and on is not off:
        raise TypeError(f"dtype {on} of on_value does not match dtype {off} of off_value")
    return on or off


@OneHot.infer
def _(indices: Spec, on_value: Spec, off_value: Spec, depth: int | tuple[int, ...], axis: int) -> Spec:
    n = len(indices.shape)
    if not -1 <= axis <= n:
        raise InvalidArgumentError(f"Expected axis to be -1 or between [0, {n + 1}).  But received: {axis}")
    if isinstance(depth, tuple):
        raise InvalidArgumentError(f"depth must be a scalar, but got: {bracketed((len(depth),))}")
    if depth < 0:
        raise InvalidArgumentError(f"depth must be non-negative, got: {depth}")
    position = n if axis == -1 else axis
    return Spec((*indices.shape[:position], depth, *indices.shape[position:]), on_value.dtype)


no_gradient(OneHot)


def meshgrid(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Returns the coordinates of every point of a grid.

    Args:
      *args: vectors, one per axis of the grid.
      **kwargs: `indexing`: `"xy"` (default), which swaps the first two axes, or `"ij"`;
        `name`: accepted and ignored.

    Returns:
      One tensor per vector, each with the grid's shape.

    Raises:
      ValueError: if `indexing` is unknown.
      TypeError: if a keyword is unknown.

    >>> x, y = tf.meshgrid([1, 2], [3, 4, 5])
    >>> x.numpy().tolist(), y.numpy().tolist()
    ([[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]])
    """
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    for unknown in kwargs:
        raise TypeError(f"'{unknown}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    vectors = [as_tensor(arg) for arg in args]
    order = [*builtins.range(len(vectors))]
    if indexing == "xy" and len(vectors) > 1:
        order[:2] = [1, 0]
    lengths: Sequence[Any] = [vectors[i].shape.num_elements() for i in order]
    shapes = [[-1 if axis == i else 1 for axis in order] for i in builtins.range(len(vectors))]
    columns = [reshape(vector, shape) for vector, shape in zip(vectors, shapes, strict=True)]
    return [multiply(column, ones(lengths, column.dtype)) for column in columns]
