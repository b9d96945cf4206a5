"""Diagonals and bands of matrices."""

from __future__ import annotations

import math
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.attributes import as_int, as_ints
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import bracketed, like_first, may_be_equal, merged_shape
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, TensorLike, bool_, int64
from nbtf.errors import InvalidArgumentError

ELEMENTS = NUMBERS | {bool_}

LEFT_ALIGNED = {
    "LEFT_RIGHT": (True, False),
    "RIGHT_LEFT": (False, True),
    "LEFT_LEFT": (True, True),
    "RIGHT_RIGHT": (False, False),
}
"""The alignments of shorter diagonals above and below the main one: whether each is at the left of its row."""


def as_range(k: Any) -> tuple[int, int]:
    """Returns the lowest and highest diagonal of a range; 0 is the main one."""
    numbers = as_ints(k)
    if not numbers:
        raise InvalidArgumentError("diag_index must be a scalar or vector, received shape: [0]")
    return numbers[0], numbers[-1]


def _padding_of(elements: Any, padding_value: Any) -> Any:
    """Returns the value that pads elements; as in TensorFlow, it may be a number if they are bools."""
    return bool(padding_value) if getattr(elements, "dtype", None) == "bool" else padding_value


def as_number(value: Any) -> Any:
    """Returns a padding value as a Python number."""
    return value.numpy() if isinstance(value, Tensor) else value


def _entries(xp: Any, shape: Any, k: tuple[int, int], align: str, width: int) -> list[tuple[Any, ...]]:
    """Returns, for each diagonal from the highest, its row and column indices and its part of the packed row."""
    rows, columns = shape[-2:]
    entries: list[tuple[Any, ...]] = []
    if align not in LEFT_ALIGNED:
        raise InvalidArgumentError(f"align must be one of {', '.join(LEFT_ALIGNED)}. Got {align!r}")
    above, below = LEFT_ALIGNED[align]
    for d in range(k[1], k[0] - 1, -1):
        length = max(min(rows + min(d, 0), columns - max(d, 0)), 0)
        is_left = (d >= 0 and above) or (d <= 0 and below)
        start = 0 if is_left else width - length
        step = xp.arange(length)
        entries.append((step + max(-d, 0), step + max(d, 0), slice(start, start + length)))
    return entries


def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Returns matrices with the given diagonals.

    Args:
      diagonal: the diagonals, shape `[..., length]`; for several per matrix, the highest first, `[..., count, length]`.
      k: the diagonal: 0 for the main one (default), positive above it; a pair for a range.
      num_rows: number of rows; by default (-1) the smallest that fits.
      num_cols: number of columns; by default (-1) the smallest that fits.
      padding_value: the value of all other elements; 0 by default.
      align: the alignment of shorter diagonals of a range in their rows, above and below the main one.

    Returns:
      Matrices, shape `[..., rows, columns]`.

    Raises:
      InvalidArgumentError: if the diagonals do not fit the matrices.

    >>> tf.linalg.diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    padding_value = _padding_of(diagonal, padding_value)
    return MatrixDiagV3(
        diagonal, k=k, num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align=align, name=name
    )


@op(
    "T -> T",
    T=ELEMENTS,
    plain={"k": as_range, "num_rows": as_int, "num_cols": as_int, "padding_value": as_number},
)
def MatrixDiagV3(
    xp: Any, diagonal: Any, k: tuple[int, int], num_rows: int, num_cols: int, padding_value: Any, align: str
) -> Any:
    batch, rows, columns = _matrix_shape(diagonal.shape, k, num_rows, num_cols)
    result = xp.full((*batch, rows, columns), padding_value, diagonal.dtype)
    packed = diagonal[..., None, :] if k[0] == k[1] else diagonal
    for number, (row, column, packed_part) in enumerate(_entries(xp, (rows, columns), k, align, packed.shape[-1])):
        result[..., row, column] = packed[..., number, packed_part]
    return result


def _matrix_shape(shape: Any, k: tuple[int, int], rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Returns the batch lengths, rows and columns of matrices with these diagonals."""
    several = k[0] != k[1]
    if len(shape) < 1 + several:
        raise InvalidArgumentError(f"diagonal must be at least {1 + several}-dim, received shape: {bracketed(shape)}")
    if k[0] > k[1]:
        raise InvalidArgumentError(f"lower_diag_index must not be larger than upper_diag_index: {k[0]} > {k[1]}")
    if shape[-1] is None:
        return shape[: -2 if several else -1], None if rows == -1 else rows, None if columns == -1 else columns
    least_rows, least_columns = shape[-1] - min(k[1], 0), shape[-1] + max(k[0], 0)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    for side, length, lowest in (("rows", rows, least_rows), ("columns", columns, least_columns)):
        if length < lowest:
            raise InvalidArgumentError(f"The number of {side} is too small.")
    if rows != least_rows and columns != least_columns:
        text = "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal."
        raise InvalidArgumentError(text)
    return shape[: -2 if several else -1], rows, columns


@MatrixDiagV3.infer
def _(diagonal: Spec, k: tuple[int, int], num_rows: int, num_cols: int, padding_value: Any, align: str) -> Spec:
    batch, rows, columns = _matrix_shape(diagonal.shape, k, num_rows, num_cols)
    return Spec((*batch, rows, columns), diagonal.dtype)


@MatrixDiagV3.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [diag_part(grad, k=call.attrs["k"], align=call.attrs["align"])]


def diag_part(
    input: TensorLike, name: str | None = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Returns diagonals of matrices.

    Args:
      input: matrices, shape `[..., rows, columns]`.
      k: the diagonal: 0 for the main one (default), positive above it; a pair for a range.
      padding_value: the value that pads shorter diagonals; 0 by default.
      align: the alignment of shorter diagonals in their rows, above and below the main one.

    Returns:
      The diagonal, shape `[..., length]`; for a range, the diagonals, the highest first, `[..., count, length]`.

    Raises:
      InvalidArgumentError: if `input` has fewer than two axes, or a diagonal does not exist.

    >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    padding_value = _padding_of(input, padding_value)
    return MatrixDiagPartV3(input, k=k, padding_value=padding_value, align=align, name=name)


@op("T -> T", T=ELEMENTS, plain={"k": as_range, "padding_value": as_number})
def MatrixDiagPartV3(xp: Any, input: Any, k: tuple[int, int], padding_value: Any, align: str) -> Any:
    shape = _packed_shape(input.shape, k)
    several = shape if k[0] != k[1] else (*shape[:-1], 1, shape[-1])
    result = xp.full(several, padding_value, input.dtype)
    for number, (row, column, packed_part) in enumerate(_entries(xp, input.shape, k, align, shape[-1])):
        result[..., number, packed_part] = input[..., row, column]
    return result.reshape(shape)


def _packed_shape(shape: Any, k: tuple[int, int]) -> tuple[Any, ...]:
    """Returns the shape of the packed diagonals of matrices."""
    if len(shape) < 2:
        raise InvalidArgumentError(f"input must be at least 2-dim, received shape: {bracketed(shape)}")
    *batch, rows, columns = shape
    for side, d in (("lower", k[0]), ("upper", k[1])):
        if None not in (rows, columns) and not -rows < d < columns and d:
            text = f"{side}_diag_index is out of bound: {d}. It must be between {-rows} and {columns}"
            raise InvalidArgumentError(text)
    if k[0] > k[1]:
        raise InvalidArgumentError(f"lower_diag_index must not be larger than upper_diag_index: {k[0]} > {k[1]}")
    length = None if None in (rows, columns) else min(rows + min(k[1], 0), columns - max(k[0], 0))
    return (*batch, length) if k[0] == k[1] else (*batch, k[1] - k[0] + 1, length)


@MatrixDiagPartV3.infer
def _(input: Spec, k: tuple[int, int], padding_value: Any, align: str) -> Spec:
    return Spec(_packed_shape(input.shape, k), input.dtype)


@MatrixDiagPartV3.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    rows, columns = call.inputs[0].shape[-2:]
    return [diag(grad, k=call.attrs["k"], num_rows=rows, num_cols=columns, align=call.attrs["align"])]


def set_diag(
    input: TensorLike, diagonal: TensorLike, name: str | None = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Returns matrices with diagonals replaced.

    Args:
      input: matrices, shape `[..., rows, columns]`.
      diagonal: the new diagonals, in the form that `tf.linalg.diag_part` returns, of the same dtype.
      k: the diagonal: 0 for the main one (default), positive above it; a pair for a range.
      align: the alignment of shorter diagonals of a range in their rows, above and below the main one.

    Raises:
      InvalidArgumentError: if the diagonals do not fit the matrices.

    >>> tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy()
    array([[0, 2],
           [3, 0]], dtype=int32)
    """
    return MatrixSetDiagV3(input, diagonal, k=k, align=align, name=name)


@op("T T -> T", T=ELEMENTS, plain={"k": as_range})
def MatrixSetDiagV3(xp: Any, input: Any, diagonal: Any, k: tuple[int, int], align: str) -> Any:
    if diagonal.shape != _packed_shape(input.shape, k):
        raise ValueError("the diagonals do not fit")
    result = input.copy()
    packed = diagonal[..., None, :] if k[0] == k[1] else diagonal
    for number, (row, column, packed_part) in enumerate(_entries(xp, input.shape, k, align, packed.shape[-1])):
        result[..., row, column] = packed[..., number, packed_part]
    return result


@MatrixSetDiagV3.infer
def _(input: Spec, diagonal: Spec, k: tuple[int, int], align: str) -> Spec:
    expected = _packed_shape(input.shape, k)
    if not may_be_equal(diagonal.shape, expected):
        raise InvalidArgumentError(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
            "the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
            f"Input shape: {bracketed(input.shape)}\nDiagonal shape: {bracketed(diagonal.shape)}\n"
            f"Expected diagonal shape: {bracketed(expected)}"
        )
    return input


@MatrixSetDiagV3.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    k, align = call.attrs["k"], call.attrs["align"]
    nothing = zeros_like(call.inputs[1])
    return [set_diag(grad, nothing, k=k, align=align), diag_part(grad, k=k, align=align)]


def band_part(input: TensorLike, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Returns matrices with all elements outside a band around the main diagonal set to 0.

    Args:
      input: matrices, shape `[..., rows, columns]`.
      num_lower: number of diagonals to keep below the main one; all if negative.
      num_upper: number of diagonals to keep above the main one; all if negative.

    Raises:
      InvalidArgumentError: if `input` has fewer than two axes, or not enough diagonals.

    >>> tf.linalg.band_part([[1, 2], [3, 4]], 0, -1).numpy()
    array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return MatrixBandPart(input, num_lower=num_lower, num_upper=num_upper, name=name)


@op(
    "T -> T",
    T=ELEMENTS,
    host={"num_lower": as_int, "num_upper": as_int},
    asked={"num_lower": int64, "num_upper": int64},
    partly=like_first,
)
def MatrixBandPart(xp: Any, input: Any, num_lower: int, num_upper: int) -> Any:
    rows, columns = input.shape[-2:]
    if num_lower > rows or num_upper > columns:
        raise ValueError("not enough diagonals")
    distance = xp.arange(rows)[:, None] - xp.arange(columns)
    mask = xp.ones(distance.shape, bool)
    if num_lower >= 0:
        mask &= distance <= num_lower
    if num_upper >= 0:
        mask &= distance >= -num_upper
    return xp.where(mask, input, xp.zeros((), input.dtype))


@MatrixBandPart.infer
def _(input: Spec, num_lower: int, num_upper: int) -> Spec:
    if len(input.shape) < 2:
        raise InvalidArgumentError(f"input must be at least 2-dim, received shape: {bracketed(input.shape)}")
    for word, number, side, length in (
        ("num_lower", num_lower, "rows", input.shape[-2]),
        ("num_upper", num_upper, "columns", input.shape[-1]),
    ):
        if length is not None and number > length:
            text = f"{word} must be negative or less or equal to number of {side} ({length}) got: {number}"
            raise InvalidArgumentError(text)
    return input


@MatrixBandPart.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [band_part(grad, call.attrs["num_lower"], call.attrs["num_upper"])]


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sums of the main diagonals of matrices.

    Args:
      x: a numeric tensor, shape `[..., rows, columns]`.

    Returns:
      The sums, shape `[...]`.

    >>> tf.linalg.trace([[1, 2], [3, 4]]).numpy()
    np.int32(5)
    """
    return reduce_sum(diag_part(x), -1, name=name)


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with a given tensor on its diagonal.

    Args:
      diagonal: the diagonal, shape `[d0, ..., dn]`.

    Returns:
      A tensor of shape `[d0, ..., dn, d0, ..., dn]`, 0 wherever the two halves of an index differ.

    >>> tf.linalg.tensor_diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return Diag(diagonal, name=name)


@op("T -> T", T=NUMBERS)
def Diag(xp: Any, diagonal: Any) -> Any:
    result = xp.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    numbers = xp.arange(diagonal.size)
    result[numbers, numbers] = diagonal.reshape(-1)
    return result.reshape(*diagonal.shape, *diagonal.shape)


@Diag.infer
def _(diagonal: Spec) -> Spec:
    return Spec((*diagonal.shape, *diagonal.shape), diagonal.dtype)


@Diag.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [tensor_diag_part(grad)]


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elements whose index has two equal halves.

    Args:
      input: a tensor of shape `[d0, ..., dn, d0, ..., dn]`.

    Returns:
      A tensor of shape `[d0, ..., dn]`.

    Raises:
      InvalidArgumentError: if the shape does not have two equal halves.

    >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    return DiagPart(input, name=name)


@op("T -> T", T=NUMBERS)
def DiagPart(xp: Any, input: Any) -> Any:
    half = input.shape[: input.ndim // 2]
    if input.shape != (*half, *half):
        raise ValueError("the shape must have two equal halves")
    size = math.prod(half)
    return xp.diagonal(input.reshape(size, size)).reshape(half)


@DiagPart.infer
def _(input: Spec) -> Spec:
    rank = len(input.shape)
    half = input.shape[: rank // 2]
    if rank % 2:
        text = f"The rank of the tensor should be even and positive, got shape {bracketed(input.shape)}"
        raise InvalidArgumentError(text)
    for i, (length, partner) in enumerate(zip(half, input.shape[rank // 2 :], strict=True)):
        if length != partner and None not in (length, partner):
            text = f"Invalid shape {bracketed(input.shape)}: dimensions {i} and {i + rank // 2} do not match."
            raise InvalidArgumentError(text)
    return Spec(merged_shape([half, input.shape[rank // 2 :]]), input.dtype)


@DiagPart.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [tensor_diag(grad)]
