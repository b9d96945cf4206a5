"""Reads and writes elements and slices by their coordinates: gather_nd, scatter_nd.

Each op is the other's gradient.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.index_writes import joined_at, read_at
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.ranges import range as number_range
from nbtf._ops.attributes import as_shape, of_integers
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import as_asked, bracketed, may_be_equal
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, int16, int32, int64
from nbtf.errors import InvalidArgumentError

POSITIONS = frozenset({int16, int32, int64})
"""Dtypes of positions. Source: attr `Tindices` in TensorFlow's op definitions."""


def index_columns(xp: Any, indices: Any, shape: tuple[int, ...], of_what: str) -> tuple[Any, ...]:
    """Returns NumPy's index for rows of positions, after a bounds check.

    A real GPU does not check, since it would have to wait for the values. TensorFlow's GPU kernels do not either; see
    index_writes.py.
    """
    depth = indices.shape[-1]
    if xp is CPU.xp and indices.size:
        outside = ((indices < 0) | (indices >= xp.array(shape[:depth]))).any(axis=-1)
        if outside.any():
            _refuse(xp, indices, outside, of_what)
    return tuple(indices[..., i] for i in range(depth))


def _refuse(xp: Any, indices: Any, outside: Any, of_what: str) -> None:
    first = tuple(int(i) for i in xp.argwhere(outside)[0])
    row = ", ".join(str(int(i)) for i in indices[first])
    position = bracketed(first) if first else ""
    raise InvalidArgumentError(f"indices{position} = [{row}] does not index into {of_what}")


@op("T Tindices -> T", T=ALL, Tindices=POSITIONS)
def GatherNd(xp: Any, params: Any, indices: Any) -> Any:
    if not indices.ndim or not params.ndim or indices.shape[-1] > params.ndim:
        raise IndexError("positions must have at least one axis")
    columns = index_columns(xp, indices, params.shape, f"param shape {bracketed(params.shape)}, node name: GatherNd")
    return read_at(xp, params, columns) if columns else xp.broadcast_to(params, indices.shape[:-1] + params.shape)


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """Returns the elements or slices of a tensor at the given positions.

    Args:
      params: a tensor with at least one axis.
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of `params`.
      batch_dims: number of leading batch axes that both have in common; 0 by default.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Returns:
      The elements or slices, shape `[..., *params.shape[depth:]]`.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU reads zeros there), or has more numbers than
        `params` has axes.

    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
    array([2, 3], dtype=int32)
    """
    if batch_dims:
        return _gather_nd_in_batches(as_tensor(params), as_tensor(indices), batch_dims)
    return GatherNd(params, indices, name=name)


def _gather_nd_in_batches(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Gathers with the batch index prepended to each position."""
    rows = indices.shape.as_list()[:-1]
    if check_whole(batch_dims, "batch_dims") > len(rows):
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {len(indices.shape)}")
    columns = [
        reshape(number_range(rows[axis], dtype=indices.dtype), [-1 if i == axis else 1 for i in range(len(rows) + 1)])
        for axis in range(batch_dims)
    ]
    return GatherNd(params, concat([*(broadcast_to(column, [*rows, 1]) for column in columns), indices], -1))


@GatherNd.infer
def _(params: Spec, indices: Spec) -> Spec | None:
    if not params.shape:
        raise InvalidArgumentError("params must be at least a vector")
    if not indices.shape:
        raise InvalidArgumentError("indices must be at least a vector")
    if indices.shape[-1] is None:
        return None
    depth, n = indices.shape[-1], len(params.shape)
    if depth > n:
        raise InvalidArgumentError(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {n}")
    return Spec((*indices.shape[:-1], *params.shape[depth:]), params.dtype)


@GatherNd.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    params, indices = call.inputs
    return [scatter_nd(indices, grad, params.shape), None]


@op(
    "Tindices T -> T",
    T=ALL,
    Tindices=POSITIONS,
    host={"shape": of_integers("Tindices", as_shape)},
    partly=as_asked("shape"),
)
def ScatterNd(xp: Any, indices: Any, updates: Any, shape: Any, bad_indices_policy: str) -> Any:
    if not indices.ndim or indices.shape[-1] > len(shape):
        raise ValueError("positions must have at least one axis")
    if indices.shape[:-1] + tuple(shape)[indices.shape[-1] :] != updates.shape:
        raise ValueError("shapes do not fit")
    empty = xp.full(shape, b"", updates.dtype) if updates.dtype.kind == "O" else xp.zeros(shape, updates.dtype)
    columns = index_columns(xp, indices, tuple(shape), f"shape {bracketed(shape)}")
    return joined_at(xp, xp.add, empty, columns, updates, fresh=True)


@ScatterNd.express
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Returns zeros with elements or slices written at the given positions.

    Args:
      indices: positions, shape `[..., depth]`; each row is a position along the first `depth` axes of the result.
      updates: the values to write, shape `[..., *shape[depth:]]`; values at repeated positions are summed.
      shape: the shape of the result.
      bad_indices_policy: accepted and ignored; for positions out of range, see Raises.

    Returns:
      A tensor of `updates`' dtype.

    Raises:
      InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

    >>> tf.scatter_nd([[1], [3], [1]], [5, 6, 7], [5]).numpy()
    array([ 0, 12,  0,  6,  0], dtype=int32)
    """
    return ScatterNd(indices, updates, shape=shape, bad_indices_policy=bad_indices_policy, name=name)


@ScatterNd.infer
def _(indices: Spec, updates: Spec, shape: tuple[int, ...], bad_indices_policy: str) -> Spec:
    for length in shape:
        if length < 0:
            raise InvalidArgumentError(f"Dimension {length} must be >= 0")
    if not indices.shape:
        raise InvalidArgumentError(f"Indices shape must have rank at least one. Found:{bracketed(())}")
    outer, depth = len(indices.shape) - 1, indices.shape[-1]
    updates_shape, indices_shape = bracketed(updates.shape), bracketed(indices.shape)
    if not may_be_equal(indices.shape[:-1], updates.shape[:outer]):
        text = f"Dimensions [0,{outer}) of indices[shape={indices_shape}] must match dimensions [0,{outer}) of updates"
        raise InvalidArgumentError(f"{text}[shape={updates_shape}]")
    if depth is not None and (depth > len(shape) or not may_be_equal(shape[depth:], updates.shape[outer:])):
        text = f"Dimensions [{depth},{len(shape)}) of input[shape={bracketed(shape)}] must match dimensions "
        raise InvalidArgumentError(f"{text}[{outer},{len(updates.shape)}) of updates[shape={updates_shape}]")
    return Spec(shape, updates.dtype)


@ScatterNd.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [None, gather_nd(grad, call.inputs[0])]
