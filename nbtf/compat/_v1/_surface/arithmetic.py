"""Arithmetic under TensorFlow 1's names and rules, such as `tf.div` and `tf.clip_by_norm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbtf
from nbtf._devices.base import Buffer
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.math.arithmetic import preferring
from nbtf._ops.math.comparison import Where
from nbtf._ops.math.division import FloorDiv, FloorMod, RealDiv
from nbtf._ops.math.division import truediv as _truediv
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DTypeLike, as_dtype, complex64, complex128, float32, float64, int32, int64
from nbtf.compat._v1._surface.scoping import inside, opened, tensor_called


def _operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns both operands as tensors with the same dtype; constants made from them are named `x` and `y`."""
    first = tensor_called("x", x)
    second = preferring(y, first._dtype)
    return first, second.called("y") if isinstance(second, GraphTensor) else second


def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element; integers produce fractions."""
    with opened("truediv", name) as scope:
        return _truediv(*_operands(x, y), name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element, as `x / y` does."""
    takes_dtype = isinstance(y, GraphTensor) and not isinstance(x, GraphTensor | Buffer)
    with inside():
        return truediv(as_tensor(x, y._dtype) if takes_dtype else x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element as in Python 2: integers produce integers, rounded down.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Session() as sess:
    ...     print(sess.run([tf1.div(7, 2), tf1.div(7.0, 2.0)]))
    [np.int32(3), np.float32(3.5)]
    """
    with opened("div", name) as scope:
        first = tensor_called("x", x)
        second = tensor_called("y", y, first._dtype)
        return (FloorDiv if first._dtype.is_integer else RealDiv)(first, second, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element; division by 0 returns 0."""
    with opened("div_no_nan", name) as scope:
        return nbtf.math.divide_no_nan(x, y, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element and rounds down."""
    with opened("floordiv", name) as scope:
        return FloorDiv(*_operands(x, y), name=scope)


def floor_div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element and rounds down."""
    with inside():
        return FloorDiv(x, y, name=name)


def floormod(x: Any, y: Any, name: str | None = None) -> Any:
    """Returns the remainder of a division that rounds down, element by element."""
    with inside():
        return FloorMod(x, y, name=name)


mod = floormod


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides floats element by element."""
    with inside():
        return RealDiv(x, y, name=name or "RealDiv")


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiplies a tensor by a number."""
    with inside():
        operand: Any = as_tensor(x)
        factor: Any = tensor_called("scalar", scalar, operand._dtype)
        return nbtf.scalar_mul(factor, operand, name)


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Returns the sum of a list of tensors with the same dtype and shape.

    Args:
      inputs: the tensors. A single tensor is returned unchanged, or as an Identity node if `name` is given.

    Raises:
      ValueError: if the list is empty or shapes differ.
    """
    with inside():
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
            )
        tensors: list[Any] = [*inputs]
        if len(tensors) == 1 and name:
            return nbtf.identity(tensors[0], name)
        return nbtf.add_n(tensors, name)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Any:
    """Returns the sum of a list of tensors; see `nbtf.math.accumulate_n`."""
    return add_n(inputs, name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Any:
    """Returns where exactly one of two Boolean tensors is true; see `nbtf.math.logical_xor`."""
    with inside():
        either, both = nbtf.logical_or(x, y), nbtf.logical_and(x, y)
        return nbtf.logical_and(either, nbtf.logical_not(both), name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Selects elements or rows from two tensors; without them, returns the positions where the condition is true.

    Args:
      condition: Boolean tensor with the same shape as `x`, a scalar, or a vector with one value per row.
      x: values where the condition is true.
      y: values where it is false; must have the same shape.

    Raises:
      ValueError: if only one of `x` and `y` is given.
    """
    with inside():
        if x is None and y is None:
            return Where(condition, name=name)
        if x is None or y is None:
            raise ValueError("x and y must both be non-None or both be None.")
        mask, first = as_tensor(condition), as_tensor(x)
        rows, rank = mask.shape.rank, first.shape.rank
        if rows == 1 and rank is not None and rank > 1:  # the condition has one value per row
            mask = nbtf.reshape(mask, [-1, *[1] * (rank - 1)])
        return nbtf.where(mask, first, y, name or ("Select" if isinstance(first, GraphTensor) else None))


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Multiplies matrices; see `nbtf.matmul`.

    Args:
      a_is_sparse, b_is_sparse: accepted for compatibility and ignored.
      **options: `output_type`, `grad_a` and `grad_b`, as in `nbtf.matmul`.

    Raises:
      ValueError: if the shapes do not match, or a matrix is both transposed and adjoint.
    """
    with inside():
        if isinstance(a, GraphTensor) and isinstance(b, GraphTensor) and a._dtype is not b._dtype:
            raise TypeError(
                f"Input 'b' of 'MatMul' Op has type {b._dtype.name} that does not match type {a._dtype.name} of "
                "argument 'a'."
            )
        return nbtf.matmul(
            a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, name=name, **options
        )


# Casts


def to_float(x: Any, name: str = "ToFloat") -> Any:
    """Casts a tensor to float32."""
    return _cast(x, float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Any:
    """Casts a tensor to float64."""
    return _cast(x, float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Any:
    """Casts a tensor to int32."""
    return _cast(x, int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Any:
    """Casts a tensor to int64."""
    return _cast(x, int64, name)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Any:
    """Casts a tensor to bfloat16."""
    return _cast(x, nbtf.bfloat16, name)


def to_complex64(x: Any, name: str = "ToComplex64") -> Any:
    """Casts a tensor to complex64."""
    return _cast(x, complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Any:
    """Casts a tensor to complex128."""
    return _cast(x, complex128, name)


def _cast(x: Any, dtype: DTypeLike, name: str) -> Any:
    with inside():
        return nbtf.cast(x, dtype, name)


def is_numeric_tensor(tensor: Any) -> bool:
    """Returns whether an object is a numeric tensor."""
    return nbtf.is_tensor(tensor) and as_dtype(tensor.dtype) in nbtf._types.NUMBERS


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Clips the elements of a tensor to a range; see `nbtf.clip_by_value`."""
    with opened("clip_by_value", name) as scope:
        return nbtf.clip_by_value(t, clip_value_min, clip_value_max, scope)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scales a tensor down to a maximum norm; see `nbtf.clip_by_norm`."""
    with opened("clip_by_norm", name) as scope:
        return nbtf.clip_by_norm(t, clip_norm, axes, scope)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scales a tensor down to a maximum average norm, which is the norm divided by the number of elements.

    Args:
      t: float tensor.
      clip_norm: the maximum average norm.
    """
    with opened("clip_by_average_norm", name) as scope:
        values = as_tensor(t)
        count = nbtf.cast(nbtf.size(values), values.dtype)
        inverse = nbtf.math.rsqrt(nbtf.reduce_sum(values * values, list(range(values.shape.rank or 0))))
        limit = as_tensor(clip_norm, values._dtype)
        factor = nbtf.minimum(inverse * count, 1.0 / limit)
        return nbtf.identity(values * limit * factor, scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """Returns the joint norm of a list of tensors.

    Args:
      t_list: tensors; None values are ignored.
    """
    with opened("global_norm", name):
        return nbtf.linalg.global_norm(t_list, "global_norm")


def clip_by_global_norm(t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None) -> Any:
    """Scales all tensors in a list down by the same factor if their joint norm exceeds a limit.

    Args:
      t_list: tensors; None values are kept.
      clip_norm: the maximum joint norm.
      use_norm: their joint norm, if it is already known.

    Returns:
      The tensors, and their original joint norm.
    """
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    with opened("clip_by_global_norm", name):
        return nbtf.clip_by_global_norm(t_list, clip_norm, norm)
