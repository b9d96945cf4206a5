"""Row splits of ragged tensors: how they are made and checked, and how rows are padded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.attributes import as_ints
from nbtf._ops.op import op, unregistered
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL
from nbtf.errors import InvalidArgumentError

_HOST: Any = CPU.xp
"""NumPy, since row positions are in host memory."""


def splits_of(lengths: Sequence[int]) -> list[int]:
    """Returns the positions where rows of these lengths start and end."""
    splits = [0]
    for length in lengths:
        splits.append(splits[-1] + length)
    return splits


def kept_lengths(array: Any, padding: Any) -> list[int]:
    """Returns the lengths of an array's rows without the padding at their end."""
    row_lengths: list[int] = []
    for row in array.reshape(*array.shape[:2], -1):
        used = _HOST.flatnonzero((row != padding).any(1))
        row_lengths.append(int(used[-1]) + 1 if len(used) else 0)
    return row_lengths


def check_rowids(rowids: Sequence[int]) -> None:
    """Raises an error if row numbers of values decrease.

    Raises:
      InvalidArgumentError: if the row numbers decrease.
    """
    if any(a > b for a, b in pairwise(rowids)):
        text = "Arguments to from_value_rowids do not form a valid RowPartition: value_rowids decrease"
        raise InvalidArgumentError(text)


def check_splits(splits: Tensor, count: int) -> None:
    """Raises an error if row splits are invalid.

    Raises:
      InvalidArgumentError: if the splits do not start at 0, decrease, or do not end at the number of values.
    """
    starts = splits.numpy().tolist()
    if not starts or starts[0] != 0:
        text = f"Arguments to from_row_splits do not form a valid RaggedTensor:zero\n{_unequal(starts[:1], [0])}"
    elif any(a > b for a, b in pairwise(starts)):
        text = "Arguments to from_row_splits do not form a valid RaggedTensor:monotonic"
    elif starts[-1] != count:
        unequal = _unequal(starts[-1:], [count])
        text = f"Arguments to _from_row_partition do not form a valid RaggedTensor\n{unequal}"
    else:
        return
    raise InvalidArgumentError(text)


def _unequal(x: list[int], y: list[int]) -> str:
    return f"Condition x == y did not hold.\nFirst {len(x)} elements of x:\n{x}\nFirst {len(y)} elements of y:\n{y}"


@op("T T int64* -> T", T=ALL, plain={"shape": as_ints}, data_dependent=True, cpu_only=True)
def RaggedTensorToTensor(xp: Any, values: Any, default_value: Any, row_splits: Any, shape: Any) -> Any:
    positions = _row_positions(xp, row_splits)
    inner = values.shape[1:]
    result = xp.empty((*shape[: len(positions)], *inner), values.dtype)
    result[...] = default_value
    fits = xp.ones(len(values), bool)
    for position, length in zip(positions, shape, strict=False):
        fits &= position < length
    result[tuple(position[fits] for position in positions)] = values[fits]
    return result


@RaggedTensorToTensor.infer
def _(values: Spec, default_value: Spec, row_splits: Sequence[Spec], shape: tuple[int, ...]) -> Spec:
    return Spec((*shape[: len(row_splits) + 1], *values.shape[1:]), values.dtype)


def _row_positions(xp: Any, nested: Sequence[Any]) -> list[Any]:
    """Returns, for each axis from the outermost, the position of each of the innermost values."""
    rows = xp.arange(nested[-1][-1])
    positions: list[Any] = []
    for splits in reversed(nested):
        row = xp.searchsorted(splits, rows, "right") - 1
        positions.insert(0, rows - splits[row])
        rows = row
    return [rows, *positions]


unregistered(RaggedTensorToTensor)  # TensorFlow has one: raise an error rather than silently omit the gradient
