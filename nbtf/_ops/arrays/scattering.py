"""Updates elements and slices of a tensor by position: tensor_scatter_nd_update and its variants."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.coordinates import POSITIONS, gather_nd, index_columns
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.index_writes import joined_at, written_at
from nbtf._ops.math.arithmetic import cast, multiply, negative
from nbtf._ops.math.comparison import equal
from nbtf._ops.math.division import divide
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import bracketed
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, COMPLEXES, NUMBERS, TensorLike
from nbtf.errors import InvalidArgumentError


def _columns_of(xp: Any, tensor: Any, indices: Any, updates: Any) -> tuple[Any, ...]:
    """Returns the positions to write, as NumPy's index."""
    if not indices.ndim or indices.shape[:-1] + tensor.shape[indices.shape[-1] :] != updates.shape:
        raise ValueError("shapes do not fit")
    if indices.shape[-1] > tensor.ndim:
        raise ValueError("the positions have too many numbers")
    return index_columns(xp, indices, tensor.shape, f"shape {bracketed(tensor.shape)}")


def _written(tensor: Spec, indices: Spec, updates: Spec, **attrs: Any) -> Spec:
    """Returns the spec of the result: that of `tensor`, after checking the shapes."""
    if not indices.shape:
        raise InvalidArgumentError(f"Indices shape must have rank at least one. Found:{bracketed(())}")
    outer, depth = indices.shape[:-1], indices.shape[-1] or 0
    updates_shape = bracketed(updates.shape)
    if None in (*tensor.shape, *indices.shape, *updates.shape):
        return tensor
    if len(updates.shape) - len(outer) != len(tensor.shape) - depth:
        text = "Inner dimensions of output shape must match inner dimensions of updates shape. Output: "
        raise InvalidArgumentError(f"{text}{bracketed(tensor.shape)} updates: {updates_shape}")
    if updates.shape[: len(outer)] != outer:
        text = f"Outer dimensions of indices and update must match. Indices shape: {bracketed(indices.shape)}"
        raise InvalidArgumentError(f"{text}, updates shape:{updates_shape}")
    if updates.shape[len(outer) :] != tensor.shape[depth:]:
        inner = len(tensor.shape) - depth
        text = f"The inner {inner} dimensions of output.shape={bracketed(tensor.shape)} must match the inner {inner} "
        raise InvalidArgumentError(f"{text}dimensions of updates.shape={updates_shape}")
    return tensor


@op("T Tindices T -> T", T=ALL, Tindices=POSITIONS, infer=_written)
def TensorScatterUpdate(xp: Any, tensor: Any, indices: Any, updates: Any) -> Any:
    return written_at(xp, tensor, _columns_of(xp, tensor, indices, updates), updates)


@TensorScatterUpdate.express
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a tensor with elements or slices replaced at the given positions.

    Args:
      tensor: any tensor.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `tensor`.
      updates: the new values, shape `[..., *tensor.shape[depth:]]`. For a repeated position, the
        last value wins.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [9, 8]).numpy()
    array([9, 2, 8], dtype=int32)
    """
    return TensorScatterUpdate(tensor, indices, updates, name=name)


@TensorScatterUpdate.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    _, indices, updates = call.inputs
    return [
        tensor_scatter_nd_update(identity(grad), indices, zeros_like(updates)) if call.needs(0) else None,
        None,
        gather_nd(grad, indices) if call.needs(2) else None,
    ]


@op("T Tindices T -> T", T=NUMBERS, Tindices=POSITIONS, infer=_written)
def TensorScatterAdd(xp: Any, tensor: Any, indices: Any, updates: Any, bad_indices_policy: str) -> Any:
    return joined_at(xp, xp.add, tensor, _columns_of(xp, tensor, indices, updates), updates)


@TensorScatterAdd.express
def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with numbers added at the given positions.

    Args:
      tensor: a numeric tensor.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `tensor`.
      updates: the numbers to add, shape `[..., *tensor.shape[depth:]]`; for a repeated position, all are added.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    return TensorScatterAdd(tensor, indices, updates, bad_indices_policy=bad_indices_policy, name=name)


@TensorScatterAdd.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad, None, gather_nd(grad, call.inputs[1]) if call.needs(2) else None]


@op("T Tindices T -> T", T=NUMBERS, Tindices=POSITIONS, infer=_written)
def TensorScatterSub(xp: Any, tensor: Any, indices: Any, updates: Any, bad_indices_policy: str) -> Any:
    return joined_at(xp, xp.add, tensor, _columns_of(xp, tensor, indices, updates), -updates)


@TensorScatterSub.express
def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with numbers subtracted at the given positions.

    Args:
      tensor: a numeric tensor.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `tensor`.
      updates: the numbers to subtract, shape `[..., *tensor.shape[depth:]]`; for a repeated position, all of them.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.tensor_scatter_nd_sub([10, 20, 30], [[0], [2]], [1, 2]).numpy()
    array([ 9, 20, 28], dtype=int32)
    """
    return TensorScatterSub(tensor, indices, updates, bad_indices_policy=bad_indices_policy, name=name)


@TensorScatterSub.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad, None, negative(gather_nd(grad, call.inputs[1])) if call.needs(2) else None]


@op("T Tindices T -> T", T=NUMBERS - COMPLEXES, Tindices=POSITIONS, infer=_written)
def TensorScatterMax(xp: Any, tensor: Any, indices: Any, updates: Any, bad_indices_policy: str) -> Any:
    return joined_at(xp, xp.maximum, tensor, _columns_of(xp, tensor, indices, updates), updates)


@TensorScatterMax.express
def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with the larger of two numbers at the given positions.

    Args:
      tensor: a tensor of real numbers.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `tensor`.
      updates: the numbers to compare with, shape `[..., *tensor.shape[depth:]]`.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.tensor_scatter_nd_max([1, 5, 3], [[0], [1]], [4, 4]).numpy()
    array([4, 5, 3], dtype=int32)
    """
    return TensorScatterMax(tensor, indices, updates, bad_indices_policy=bad_indices_policy, name=name)


@TensorScatterMax.gradient_keeping("inputs", "outputs")
def _shared(call: Call, grad: Tensor) -> Gradients:
    """Passes the gradient to the extreme value; equal values share it."""
    tensor, indices, updates = call.inputs
    old_share = cast(equal(tensor, call.output), tensor.dtype)
    new_share = cast(equal(updates, gather_nd(call.output, indices)), updates.dtype)
    share = divide(grad, tensor_scatter_nd_add(old_share, indices, new_share))
    return [multiply(share, old_share), None, multiply(gather_nd(share, indices), new_share)]


@op("T Tindices T -> T", T=NUMBERS - COMPLEXES, Tindices=POSITIONS, infer=_written)
def TensorScatterMin(xp: Any, tensor: Any, indices: Any, updates: Any, bad_indices_policy: str) -> Any:
    return joined_at(xp, xp.minimum, tensor, _columns_of(xp, tensor, indices, updates), updates)


@TensorScatterMin.express
def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with the smaller of two numbers at the given positions.

    Args:
      tensor: a tensor of real numbers.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `tensor`.
      updates: the numbers to compare with, shape `[..., *tensor.shape[depth:]]`.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.tensor_scatter_nd_min([4, 1, 3], [[0], [1]], [2, 2]).numpy()
    array([2, 1, 3], dtype=int32)
    """
    return TensorScatterMin(tensor, indices, updates, bad_indices_policy=bad_indices_policy, name=name)


TensorScatterMin.gradient_keeping("inputs", "outputs")(_shared)
