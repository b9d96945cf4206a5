"""Looks up the rows of a table by sparse numbers, and combines those of each row of numbers."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import ones_like, zeros_like
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.searching import unique
from nbtf._ops.arrays.shapes import expand_dims, reshape
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.comparison import greater, greater_equal, where
from nbtf._ops.math.division import divide, divide_no_nan
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.logic import logical_and
from nbtf._ops.math.magnitude import square
from nbtf._ops.math.segments import IDS, folded, segment_sum
from nbtf._ops.math.unsorted_segments import unsorted_segment_sum
from nbtf._ops.nn.layers import embedding_lookup
from nbtf._ops.op import Gradients, Op, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.ragged_and_sparse.sparse_rows import fill_empty_rows, retain
from nbtf._ops.ragged_and_sparse.sparse_shapes import reshape as reshape_sparse
from nbtf._ops.reductions.means_and_extremes import reduce_prod
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, REALS, DType, int32, int64
from nbtf.errors import InvalidArgumentError

_COMBINERS = ("mean", "sqrtn", "sum")


def _folded_spec(data: Spec, indices: Spec, segment_ids: Spec) -> Spec:
    return Spec((None, *data.shape[1:]), data.dtype)


def _rows(xp: Any, data: Any, indices: Any, segment_ids: Any) -> tuple[Any, Any]:
    """Returns the sum and the number of rows of each segment, after checking the arguments."""
    if indices.ndim != 1 or segment_ids.shape != indices.shape:
        raise InvalidArgumentError("segment_ids and indices should have same size.")
    if ((indices < 0) | (indices >= len(data))).any():
        raise InvalidArgumentError(f"indices must be within [0, {len(data)})")
    if (segment_ids[1:] < segment_ids[:-1]).any():
        raise InvalidArgumentError("segment ids are not increasing")
    count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
    members = folded(xp, xp.add, xp.ones(len(indices), xp.int64), segment_ids, count, 0)
    sums = folded(xp, xp.add, data[indices], segment_ids, count, 0)
    return sums, xp.maximum(members, 1).reshape(count, *[1] * (data.ndim - 1)).astype(data.dtype)


def _sparse_segment_op(type: str, dtypes: frozenset[DType]) -> Op:
    """Returns an op that combines the rows of each segment that are listed by their numbers."""

    def kernel(xp: Any, data: Any, indices: Any, segment_ids: Any) -> Any:
        sums, members = _rows(xp, data, indices, segment_ids)
        if type == "SparseSegmentSum":
            return sums
        return (sums / (members if type == "SparseSegmentMean" else xp.sqrt(members))).astype(data.dtype)

    kernel.__name__ = type
    return op(
        "T Tidx Tsegmentids -> T",
        T=dtypes,
        Tidx=IDS,
        Tsegmentids=IDS,
        data_dependent=True,
        infer=_folded_spec,
        cpu_only=True,
    )(kernel)


SparseSegmentSum = _sparse_segment_op("SparseSegmentSum", REALS)
SparseSegmentMean = _sparse_segment_op("SparseSegmentMean", FLOATS)
SparseSegmentSqrtN = _sparse_segment_op("SparseSegmentSqrtN", FLOATS)


@SparseSegmentSum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_to_rows(call, grad), None, None]


@SparseSegmentMean.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_to_rows(call, divide(grad, _members(call))), None, None]


@SparseSegmentSqrtN.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_to_rows(call, divide(grad, sqrt(_members(call)))), None, None]


def _to_rows(call: Call, grad: Tensor) -> Tensor:
    data, indices, ids = call.inputs
    return unsorted_segment_sum(gather(grad, ids), indices, shape_of(data)[0])


def _members(call: Call) -> Tensor:
    """Returns the number of rows of each segment, at least 1, with a shape that broadcasts to the result."""
    data, _, ids = call.inputs
    count = segment_sum(ones_like(ids, data.dtype), ids)
    counted: Any = where(greater(count, zeros_like(count)), count, ones_like(count))
    return reshape(counted, [-1, *[1] * (len(data.shape) - 1)])


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Returns a combination of a table's rows for each row of sparse numbers.

    Args:
      params: the table, shape `[rows, ...]`, or a list of tables with consecutive rows.
      sp_ids: a sparse matrix of row numbers, int32 or int64, with at least one number in each row.
      sp_weights: a sparse matrix of weights at the same positions; None for weights of 1.
      combiner: `"mean"` (default), `"sum"`, or `"sqrtn"`: the sum over the root of the squared weights' sum.
      max_norm: the largest norm of a row; longer rows are scaled down to it. No limit by default.
      name: accepted and ignored.
      allow_fast_lookup: accepted and ignored.

    Returns:
      The combined rows, shape `[rows of sp_ids, ...]`.

    Raises:
      TypeError: if `sp_ids` or `sp_weights` is not a sparse tensor.
      ValueError: if `combiner` is none of these words.
      InvalidArgumentError: if a row does not exist.

    >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 1], [2, 2])
    >>> tf.nn.embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids, None, combiner="mean").numpy().tolist()
    [[2.0], [3.0]]
    """
    word = _checked_combiner(combiner)
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
    segment_ids = cast(sp_ids.indices[:, 0], int32)
    if sp_weights is not None:
        rows = embedding_lookup(params, sp_ids.values, max_norm)
        return identity(_weighted(rows, sp_weights.values, segment_ids, word), name=name)
    numbers, positions = unique(sp_ids.values)
    rows = embedding_lookup(params, numbers, max_norm)
    record = {"sum": SparseSegmentSum, "mean": SparseSegmentMean, "sqrtn": SparseSegmentSqrtN}[word]
    return record(rows, positions, segment_ids, name=name)


def _checked_combiner(combiner: str | None) -> str:
    word = "mean" if combiner is None else combiner
    if word not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    return word


def _weighted(rows: Tensor, weights: Tensor, segment_ids: Tensor, combiner: str) -> Tensor:
    """Returns the weighted rows of each segment, combined."""
    columns = reshape(cast(weights, rows.dtype), [-1, *[1] * (len(rows.shape) - 1)])
    sums = segment_sum(multiply(rows, columns), segment_ids)
    if combiner == "sum":
        return sums
    if combiner == "mean":
        return divide_no_nan(sums, segment_sum(columns, segment_ids))
    return divide_no_nan(sums, sqrt(segment_sum(square(columns), segment_ids)))


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Returns what `embedding_lookup_sparse` does, also for empty rows, negative numbers and numbers of any rank.

    Args:
      embedding_weights: the table, shape `[rows, columns]`, or a list of tables with consecutive rows.
      sparse_ids: a sparse tensor of row numbers, int32 or int64, of at least two axes; negative ones are left out.
      sparse_weights: a sparse tensor of weights at the same positions; those below or at 0 are left out unless the
        combiner is `"sum"`. None for weights of 1.
      combiner: `"mean"` (default), `"sum"` or `"sqrtn"`.
      default_id: the row for rows without numbers; by default their result is 0.
      max_norm: the largest norm of a row; longer rows are scaled down to it. No limit by default.
      name: accepted and ignored.
      allow_fast_lookup: accepted and ignored.

    Returns:
      The combined rows, shape `sparse_ids.shape[:-1] + [columns]`.

    Raises:
      TypeError: if `sparse_ids` or `sparse_weights` is not a sparse tensor.
      ValueError: if `combiner` is none of these words, or no table is given.
      InvalidArgumentError: if a row does not exist.

    >>> ids = tf.SparseTensor([[0, 0]], [1], [2, 2])
    >>> tf.nn.safe_embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids).numpy().tolist()
    [[3.0], [0.0]]
    """
    if embedding_weights is None or (embedding_weights.__class__ in (list, tuple) and not len(embedding_weights)):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    if not isinstance(sparse_ids, SparseTensor):
        raise TypeError(f"sparse_ids must be SparseTensor, got {type(sparse_ids)}")
    lengths = sparse_ids.dense_shape
    ids = reshape_sparse(sparse_ids, _matrix_shape(lengths))
    weights = sparse_weights
    if weights is not None:
        weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
    is_used = greater_equal(ids.values, zeros_like(ids.values))
    if weights is not None and combiner != "sum":
        is_used = logical_and(is_used, greater(weights.values, zeros_like(weights.values)))
    filled, is_empty = fill_empty_rows(retain(ids, is_used), default_id or 0)
    if weights is not None:
        weights, _ = fill_empty_rows(retain(weights, is_used), 1.0)
    result = embedding_lookup_sparse(embedding_weights, filled, weights, combiner, max_norm)
    if default_id is None:
        result = where(expand_dims(is_empty, 1), zeros_like(result), result)
    shape = concat([cast(lengths, int32)[:-1], shape_of(result)[1:]], 0)
    final = reshape(result, shape, name=name)
    if sparse_ids.shape.rank is not None and hasattr(final, "set_shape"):
        final.set_shape([*sparse_ids.shape.as_list()[:-1], *result.shape.as_list()[1:]])
    return final


def _matrix_shape(lengths: Tensor) -> Any:
    """Returns the shape of a matrix whose rows are the last axis of a tensor."""
    return concat([reshape(reduce_prod(cast(lengths, int64)[:-1]), [1]), cast(lengths, int64)[-1:]], 0)
