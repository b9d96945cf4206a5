"""Arithmetic under TensorFlow 1's names and rules, such as `tf.div` and `tf.where`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbtf
from nbtf._devices.base import Buffer
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.math.arithmetic import preferring
from nbtf._ops.math.comparison import Where
from nbtf._ops.math.division import FloorDiv, RealDiv
from nbtf._ops.math.division import truediv as _truediv
from nbtf._runtime.conversion import as_tensor
from nbtf._types import as_dtype
from nbtf.compat._v1._surface.scoping import inside, opened, tensor_called
from nbtf.compat._v1._surface.wrapping import tabled


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


def floordiv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides element by element and rounds down."""
    with opened("floordiv", name) as scope:
        return FloorDiv(*_operands(x, y), name=scope)


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divides floats element by element."""
    with inside():
        return RealDiv(x, y, name=name or "RealDiv")


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiplies a tensor by a number."""
    with inside():
        operand: Any = as_tensor(x)
        return nbtf.scalar_mul(tensor_called("scalar", scalar, operand._dtype), operand, name)


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
        return nbtf.identity(tensors[0], name) if len(tensors) == 1 and name else nbtf.add_n(tensors, name)


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
        rank = first.shape.rank
        if mask.shape.rank == 1 and rank is not None and rank > 1:  # the condition has one value per row
            mask = nbtf.reshape(mask, [-1, *[1] * (rank - 1)])
        return nbtf.where(mask, first, y, name or ("Select" if isinstance(first, GraphTensor) else None))


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Gathers elements or slices from each row by index.

    Args:
      params: any tensor.
      indices: indices for each row.

    Raises:
      ValueError: if `indices` is a scalar.
    """
    with inside():
        numbers, values = nbtf.convert_to_tensor(indices), nbtf.convert_to_tensor(params)
        batch_dims = len(numbers.shape) - 1
        if batch_dims < 0:
            raise ValueError("Argument `batch_dims` = -1 must be less than rank(`indices`) = 0")
        return nbtf.gather(values, numbers, batch_dims=batch_dims, axis=batch_dims, name=name)


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


def is_numeric_tensor(tensor: Any) -> bool:
    """Returns whether an object is a numeric tensor."""
    return nbtf.is_tensor(tensor) and as_dtype(tensor.dtype) in nbtf._types.NUMBERS


def clip_by_global_norm(t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None) -> Any:
    """Scales all tensors in a list down by the same factor if their joint norm exceeds a limit.

    Args:
      t_list: tensors; None values are kept.
      clip_norm: the maximum joint norm.
      use_norm: their joint norm, if it is already known.

    Returns:
      The tensors, and their original joint norm.
    """
    norm = tabled("global_norm")(t_list, name) if use_norm is None else use_norm
    with opened("clip_by_global_norm", name):
        return nbtf.clip_by_global_norm(t_list, clip_norm, norm)
