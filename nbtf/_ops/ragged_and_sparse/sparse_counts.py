"""Counts integers and returns the counts as a sparse tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.attributes import as_int, as_ints
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.ragged_and_sparse.sparse_shapes import reshape as reshape_sparse
from nbtf._ops.specs import Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError

_IDS, _COUNTS = frozenset({int32, int64}), frozenset({int32, int64, float32, float64})


def _counted(
    rows: Sequence[Sequence[int]], weights: Sequence[Sequence[Any]] | None, attrs: Any
) -> list[dict[int, Any]]:
    """Returns the counts of each row's numbers, with the numbers in order."""
    _, maxlength, binary_output = attrs
    counted: list[dict[int, Any]] = []
    for number, row in enumerate(rows):
        counts: dict[int, Any] = {}
        for column, value in enumerate(row):
            if value < 0:
                raise InvalidArgumentError("Input values must all be non-negative")
            if maxlength < 0 or value < maxlength:
                amount = 1 if weights is None else weights[number][column]
                counts[value] = 1 if binary_output else counts.get(value, 0) + amount
        counted.append(dict(sorted(counts.items())))
    return counted


def _as_sparse(xp: Any, counted: Sequence[dict[int, Any]], is_vector: bool, attrs: Any, dtype: Any) -> list[Any]:
    minlength, maxlength, _ = attrs
    largest = max([value + 1 for counts in counted for value in counts], default=0)
    width = max(largest if maxlength < 0 else maxlength, minlength)
    pairs = [(row, value) for row, counts in enumerate(counted) for value in counts]
    indices = xp.array(pairs, xp.int64).reshape(len(pairs), 2)
    amounts = xp.array([amount for counts in counted for amount in counts.values()], dtype).reshape(len(pairs))
    shape = [width] if is_vector else [len(counted), width]
    return [indices[:, 1:] if is_vector else indices, amounts, xp.array(shape, xp.int64)]


def _partly(*specs: Any, **attrs: Any) -> list[Dims]:
    return [(None, None), (None,), (None,)]


def _dense_specs(values: Spec, weights: Spec, **attrs: Any) -> list[Spec]:
    rank = len(values.shape)
    return [Spec((None, rank), int64), Spec((None,), weights.dtype), Spec((rank,), int64)]


_ATTRS: Any = {"cpu_only": True, "data_dependent": True, "partly": _partly}


@op("Tidx T -> int64 T int64", Tidx=_IDS, T=_COUNTS, infer=_dense_specs, **_ATTRS)
def DenseCountSparseOutput(
    xp: Any, values: Any, weights: Any, minlength: int, maxlength: int, binary_output: bool
) -> list[Any]:
    if values.ndim not in (1, 2):
        raise InvalidArgumentError("Input must be a 1 or 2-dimensional tensor.")
    if weights.size and weights.shape != values.shape:
        raise InvalidArgumentError("Weights and values must have the same shape.")
    rows = values.reshape(-1, values.shape[-1]).tolist()
    amounts = weights.reshape(-1, values.shape[-1]).tolist() if weights.size else None
    attrs = (minlength, maxlength, binary_output)
    return _as_sparse(xp, _counted(rows, amounts, attrs), values.ndim == 1, attrs, weights.dtype)


def _sparse_specs(indices: Spec, values: Spec, weights: Spec, dense_shape: Any, **attrs: Any) -> list[Spec]:
    rank = len(dense_shape)
    return [Spec((None, rank), int64), Spec((None,), weights.dtype), Spec((rank,), int64)]


@op(
    "int64 Tidx T -> int64 T int64",
    Tidx=_IDS,
    T=_COUNTS,
    host={"dense_shape": as_ints},
    asked={"dense_shape": int64},
    infer=_sparse_specs,
    **_ATTRS,
)
def SparseCountSparseOutput(
    xp: Any,
    indices: Any,
    values: Any,
    weights: Any,
    dense_shape: tuple[int, ...],
    minlength: int,
    maxlength: int,
    binary_output: bool,
) -> list[Any]:
    if weights.size and weights.shape != values.shape:
        raise InvalidArgumentError("Weights and values must have the same shape.")
    count = dense_shape[0] if len(dense_shape) == 2 else 1
    rows: list[list[int]] = [[] for _ in range(count)]
    amounts: list[list[Any]] = [[] for _ in range(count)]
    row_numbers = indices[:, 0].tolist() if len(dense_shape) == 2 else [0] * len(indices)
    for column, row in enumerate(row_numbers):
        rows[row].append(int(values[column]))
        amounts[row].append(weights[column].item() if weights.size else 1)
    attrs = (minlength, maxlength, binary_output)
    return _as_sparse(xp, _counted(rows, amounts, attrs), len(dense_shape) == 1, attrs, weights.dtype)


no_gradient(DenseCountSparseOutput, SparseCountSparseOutput)


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Returns the number of occurrences of each integer as a sparse tensor.

    Args:
      values: integers of at least 0: a tensor, a sparse tensor, whose zeros that are not stored do not count, or a
        ragged tensor of two axes.
      weights: the weight of each occurrence, of the same kind and with the same positions; 1 by default.
      axis: 0 or None (0 is the default) counts all numbers together; -1 counts each row of a matrix.
      minlength: the minimum length of the result's last axis.
      maxlength: the length of the result's last axis; larger numbers are ignored. By default the largest number plus 1.
      binary_output: whether to return 1 for presence instead of counts; False by default.
      name: accepted and ignored.

    Returns:
      A sparse tensor of int32 counts, or of the weights' dtype.

    Raises:
      ValueError: if `axis` has another value, a length is negative, or `weights` is not of the kind of `values`.
      InvalidArgumentError: if a number is negative, or the weights have another shape.

    >>> counts = tf.sparse.bincount([[1, 1, 3], [0, 0, 0]], axis=-1)
    >>> tf.sparse.to_dense(counts).numpy().tolist()
    [[0, 2, 0, 1], [3, 0, 0, 0]]
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    attrs: Any = {
        "minlength": _length(minlength, "minlength"),
        "maxlength": _length(maxlength, "maxlength"),
        "binary_output": binary_output,
        "name": name,
    }
    if isinstance(values, RaggedTensor):
        values, weights = _sparse_rows(values), None if weights is None else _sparse_rows(weights)
    if isinstance(values, SparseTensor):
        numbers = values if axis == -1 or values.indices.shape[1] == 1 else reshape_sparse(values, [-1])
        if weights is not None and not isinstance(weights, SparseTensor):
            text = "Argument `weights` must be a SparseTensor if `values` is a SparseTensor."
            raise ValueError(f"{text} Received weights={weights} of type: {type(weights).__name__}")
        amounts = as_tensor([], int32) if weights is None else weights.values
        ids = _ids(numbers.values)
        indices, counts, shape = SparseCountSparseOutput(
            numbers.indices, ids, amounts, dense_shape=numbers.dense_shape, **attrs
        )
        return SparseTensor(indices, counts, shape)
    dense = _ids(as_tensor(values))
    amounts = as_tensor([], int32) if weights is None else as_tensor(weights)
    if axis != -1:
        dense, amounts = reshape(dense, [-1]), reshape(amounts, [-1])
    indices, counts, shape = DenseCountSparseOutput(dense, amounts, **attrs)
    return SparseTensor(indices, counts, shape)


def _length(value: Any, argument: str) -> int:
    if value is None:
        return -1
    length = as_int(value)
    if length < 0:
        raise ValueError(f"Argument `{argument}` must be at least 0, or None. Received: {length}")
    return length


def _ids(values: Tensor) -> Tensor:
    return values if values.dtype in _IDS else cast(values, int64 if values.dtype.size > 4 else int32)


def _sparse_rows(ragged: Any) -> SparseTensor:
    """Returns a ragged tensor of two axes as a sparse tensor that stores all its values."""
    lengths = [len(row) for row in ragged.to_list()]
    positions = [[row, column] for row, length in enumerate(lengths) for column in range(length)]
    indices = reshape(as_tensor(positions, int64), [len(positions), 2])
    return SparseTensor(indices, ragged.flat_values, as_tensor([len(lengths), max(lengths, default=0)], int64))
