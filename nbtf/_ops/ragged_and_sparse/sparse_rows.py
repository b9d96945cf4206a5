"""Keeps some elements of a sparse tensor, and fills its empty rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.comparison import where
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, sparse_of
from nbtf._ops.specs import Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, bool_, int64
from nbtf.errors import InvalidArgumentError


def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Returns a sparse tensor with only some of its stored elements.

    Args:
      sp_input: the sparse tensor, with `n` stored elements.
      to_retain: which of them to keep, a Boolean vector of length `n`.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      ValueError: if `to_retain` is not a vector of this length.

    >>> tf.sparse.retain(tf.sparse.from_dense([5, 0, 6]), [False, True]).values.numpy()
    array([6], dtype=int32)
    """
    sparse, keeps = sparse_of(sp_input), as_tensor(to_retain)
    count, length = sparse.values.shape[0], keeps.shape.with_rank(1)[0]
    if None not in (count, length) and count != length:
        raise ValueError(f"Dimensions {count} and {length} are not compatible")
    stored: Any = where(keeps)
    positions = reshape(stored, [-1])
    indices, values = gather(sparse.indices, positions), gather(sparse.values, positions)
    result = SparseTensor(indices, values, identity(sparse.dense_shape))
    result.set_shape(sparse.shape)
    return result


class FilledRows(NamedTuple):
    """A sparse tensor without empty rows, and which of its rows were empty."""

    sp_ordered_output: SparseTensor
    empty_row_indicator: Tensor


def _filled_partly(indices: Any, *operands: Any, **attrs: Any) -> list[Dims]:
    rank = None if indices.shape is None else indices.shape[1]
    count = None if indices.shape is None else indices.shape[0]
    return [(None, rank), (None,), (None,), (count,)]


@op(
    "int64 T T -> int64 T bool int64",
    T=ALL,
    host={"dense_shape": as_ints},
    asked={"dense_shape": int64},
    cpu_only=True,
    data_dependent=True,
    partly=_filled_partly,
)
def SparseFillEmptyRows(xp: Any, indices: Any, values: Any, default_value: Any, dense_shape: Any) -> list[Any]:
    rows = dense_shape[0]
    wrong = xp.flatnonzero((indices[:, 0] < 0) | (indices[:, 0] >= rows))
    if len(wrong):
        at = int(wrong[0])
        raise InvalidArgumentError(f"indices({at}, 0) is invalid: {int(indices[at, 0])} >= {rows}")
    is_empty = xp.ones(rows, bool)
    is_empty[indices[:, 0]] = False
    fillers = xp.zeros((int(is_empty.sum()), indices.shape[1]), indices.dtype)
    fillers[:, 0] = xp.flatnonzero(is_empty)
    filled = xp.concatenate([indices, fillers])
    numbers = xp.concatenate([values, xp.full(len(fillers), default_value, values.dtype)])
    order = xp.argsort(filled[:, 0], kind="stable")
    targets = xp.empty(len(order), xp.int64)
    targets[order] = xp.arange(len(order))
    return [filled[order], numbers[order], is_empty, targets[: len(indices)]]


@SparseFillEmptyRows.infer
def _(indices: Spec, values: Spec, default_value: Spec, dense_shape: Any) -> list[Spec]:
    count, rank = indices.shape
    rows = dense_shape[0] if dense_shape else None
    return [Spec((None, rank), int64), Spec((None,), values.dtype), Spec((rows,), bool_), Spec((count,), int64)]


@SparseFillEmptyRows.gradient_keeping("inputs", "outputs")
def _(call: Call, *grads: Tensor | None) -> Gradients:
    if grads[1] is None:
        return [None, None, None]
    to_values, to_default = SparseFillEmptyRowsGrad(call.outputs[3], grads[1])
    return [None, to_values, to_default]


def _gradients_partly(reverse_index_map: Any, grad_values: Any) -> list[Dims]:
    return [reverse_index_map.shape, ()]


@op("int64 T -> T T", T=ALL, cpu_only=True, partly=_gradients_partly)
def SparseFillEmptyRowsGrad(xp: Any, reverse_index_map: Any, grad_values: Any) -> list[Any]:
    is_filler = xp.ones(len(grad_values), bool)
    is_filler[reverse_index_map] = False
    return [grad_values[reverse_index_map], xp.asarray(grad_values[is_filler].sum(), grad_values.dtype)]


@SparseFillEmptyRowsGrad.infer
def _(reverse_index_map: Spec, grad_values: Spec) -> list[Spec]:
    return [Spec(reverse_index_map.shape, grad_values.dtype), Spec((), grad_values.dtype)]


unregistered(SparseFillEmptyRowsGrad)


def fill_empty_rows(sp_input: SparseTensor, default_value: TensorLike, name: str | None = None) -> FilledRows:
    """Returns a sparse tensor with an element in each row, and which rows had none.

    Args:
      sp_input: the sparse tensor.
      default_value: the value that an empty row gets at its start, a scalar.

    Returns:
      The sparse tensor, with its rows in order, and a Boolean vector with one element per row.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      InvalidArgumentError: if a row does not exist.

    >>> filled, was_empty = tf.sparse.fill_empty_rows(tf.sparse.from_dense([[0, 0], [0, 5]]), -1)
    >>> filled.values.numpy(), was_empty.numpy()
    (array([-1,  5], dtype=int32), array([ True, False]))
    """
    sparse = sparse_of(sp_input)
    default = as_tensor(default_value, sparse.dtype)
    indices, values, is_empty, _ = SparseFillEmptyRows(
        sparse.indices, sparse.values, default, dense_shape=sparse.dense_shape, name=name
    )
    result = SparseTensor(indices, values, sparse.dense_shape)
    result.set_shape(sparse.shape)
    return FilledRows(result, is_empty)
