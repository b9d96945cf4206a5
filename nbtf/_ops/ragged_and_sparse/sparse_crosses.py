"""Crosses of categories: cross_hashed, the hash of each combination of a row's elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import is_tensor
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.specs import bracketed
from nbtf._ops.strings.hashes import fingerprint
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int64, string
from nbtf.errors import InvalidArgumentError

_ALL = (1 << 64) - 1
_FACTOR = 0xC6A4A7935BD1E995
"""The odd factor of joined fingerprints. Source: MurmurHash64A (A. Appleby), which FarmHash's authors use for this."""
_DEFAULT_KEY = 0xDECAFCAFFE
"""The hash before the first category. Source: `_DEFAULT_HASH_KEY` in TensorFlow's sparse_ops.py."""


def _mixed(value: int) -> int:
    return (value & _ALL) ^ ((value & _ALL) >> 47)


def joined(first: int, second: int) -> int:
    """Returns the fingerprint of two fingerprints."""
    result = first ^ _FACTOR ^ (_mixed(second * _FACTOR) * _FACTOR & _ALL)
    return _mixed(_mixed(result * _FACTOR) * _FACTOR)


def _crossed_partly(*inputs: Any, **attrs: Any) -> list[Any]:
    return [(None, 2), (None,), (2,)]


@op(
    "int64* int64* int64* string* int64* string* -> int64 int64 int64",
    cpu_only=True,
    data_dependent=True,
    partly=_crossed_partly,
)
def SparseCross(
    xp: Any,
    indices: list[Any],
    shapes: list[Any],
    numbers: list[Any],
    texts: list[Any],
    dense_numbers: list[Any],
    dense_texts: list[Any],
    of_texts: Sequence[bool],
    num_buckets: int,
    hash_key: int,
) -> list[Any]:
    count = len(indices)
    stored, dense = (iter(numbers), iter(texts)), (iter(dense_numbers), iter(dense_texts))
    columns = [
        _rows_of_sparse(xp, positions, next(stored[is_text]), int(shape[0]), is_text)
        for positions, shape, is_text in zip(indices, shapes, of_texts[:count], strict=True)
    ]
    columns += [_rows_of_dense(next(dense[is_text]), at, is_text) for at, is_text in enumerate(of_texts[count:])]
    batch = len(columns[0]) if columns else 0
    for at, column in enumerate(columns):
        if len(column) != batch:
            position = f"sparse tensor {at}" if at < count else f"dense tensor {at - count}"
            raise InvalidArgumentError(f"Expected batch size {batch} got {len(column)} at {position}")
    rows = [_crosses([column[row] for column in columns], num_buckets, hash_key) for row in range(batch)]
    positions = [(row, at) for row, hashes in enumerate(rows) for at in range(len(hashes))]
    values = [value for hashes in rows for value in hashes]
    lengths = [batch, max([0, *map(len, rows)])]
    return [xp.array(positions, xp.int64).reshape(-1, 2), xp.array(values, xp.int64), xp.array(lengths, xp.int64)]


def _read(is_text: bool) -> Callable[[Any], int]:
    """Returns the function from a category to its hash."""
    return fingerprint if is_text else lambda number: int(number) & _ALL


def _rows_of_sparse(xp: Any, positions: Any, values: Any, batch: int, is_text: bool) -> list[list[int]]:
    """Returns the hashes of each row's elements."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    numbers: list[int] = positions[:, 0].tolist()
    for row, value in zip(numbers, values.tolist(), strict=True):
        rows[row].append(_read(is_text)(value))
    return rows


def _rows_of_dense(matrix: Any, position: int, is_text: bool) -> list[list[int]]:
    """Returns the hashes of each row's elements."""
    if matrix.ndim != 2:
        shape = bracketed(matrix.shape)
        raise InvalidArgumentError(f"Dense inputs should be a matrix but received shape {shape} at position {position}")
    return [[_read(is_text)(value) for value in row] for row in matrix.tolist()]


def _crosses(categories: Sequence[Sequence[int]], num_buckets: int, hash_key: int) -> list[int]:
    """Returns the bucket of each combination."""
    buckets = list[int]()
    for combination in product(*categories):
        value = hash_key & _ALL
        for category in combination:
            value = joined(value, category)
        buckets.append(value % (num_buckets or (1 << 63) - 1))
    return buckets


@SparseCross.infer
def _(*inputs: Any, **attrs: Any) -> list[Spec]:
    return [Spec((None, 2), int64), Spec((None,), int64), Spec((2,), int64)]


no_gradient(SparseCross)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns the hash of each combination of categories, one from each input, row by row.

    Args:
      inputs: a list of matrices and sparse matrices of strings or integers, with the same number of rows.
      num_buckets: hashes are below this number; 0 (default) keeps 63 bits.
      hash_key: an integer that changes the hashes; the default is TensorFlow's.

    Returns:
      A sparse int64 tensor with a row for each row of the inputs.

    Raises:
      TypeError: if `inputs` is not a list, or contains anything but tensors.
      InvalidArgumentError: if an input is not a matrix, the numbers of rows differ, or `num_buckets` is negative.

    >>> crossed = tf.sparse.cross_hashed([tf.constant([["a", "b"]]), tf.constant([[1]])], num_buckets=100)
    >>> crossed.dense_shape.numpy()
    array([1, 2])
    """
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    listed: list[Any] = [*inputs]
    if any([isinstance(value, RaggedTensor) or not is_tensor(value) for value in listed]):
        raise TypeError("All inputs must be SparseTensors")
    if num_buckets < 0:
        raise InvalidArgumentError(f"Value for attr 'num_buckets' of {num_buckets} must be at least minimum 0")
    stored = [value for value in listed if isinstance(value, SparseTensor)]
    dense = [as_tensor(value) for value in listed if not isinstance(value, SparseTensor)]
    values = [sparse.values for sparse in stored]
    indices, crossed, lengths = SparseCross(
        [sparse.indices for sparse in stored],
        [sparse.dense_shape for sparse in stored],
        *_apart(values),
        *_apart(dense),
        of_texts=[value.dtype is string for value in (*values, *dense)],
        num_buckets=num_buckets,
        hash_key=_DEFAULT_KEY if hash_key is None else hash_key,
        name=name,
    )
    return SparseTensor(indices, crossed, lengths)


def _apart(values: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the numbers as int64, and the strings."""
    numbers = [cast(value, int64) for value in values if value.dtype is not string]
    return numbers, [value for value in values if value.dtype is string]
