"""Checks of ranks, shapes and dtypes: the functions of `tf.debugging` that do not read elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nbtf._devices.base import Buffer
from nbtf._ops.attributes import as_ints
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DType, DTypeLike, as_dtype, float32, int32


def _opening(message: str | None) -> str:
    return f"{message}.  " if message else ""


def _with_shape(x: Any) -> Any:
    return x if hasattr(x, "dtype") and hasattr(x, "shape") else as_tensor(x)


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor has the given rank.

    Args:
      x: a tensor.
      rank: the required number of axes.
      message: the text that the error starts with.

    Raises:
      ValueError: if `x` has another rank, or `rank` is not a scalar.
      TypeError: if `rank` is not an integer.

    >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    expected = _number(rank)
    _check_rank(x, lambda have: have == expected, f"rank {expected}", message)


def assert_rank_at_least(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor has at least the given rank; see `assert_rank` for the arguments.

    >>> tf.debugging.assert_rank_at_least([[1, 2]], 1)
    """
    expected = _number(rank)
    _check_rank(x, lambda have: have >= expected, f"rank at least {expected}", message)


def assert_rank_in(x: Any, ranks: Iterable[Any], message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor has one of the given ranks; see `assert_rank` for the arguments.

    >>> tf.debugging.assert_rank_in([[1, 2]], (1, 2))
    """
    listed = tuple(_number(rank) for rank in ranks)
    _check_rank(x, lambda have: have in listed, f"rank in {listed}", message)


def _number(rank: Any) -> int:
    if rank.__class__ is int:
        return rank
    tensor = as_tensor(rank)
    if tensor.dtype is not int32:
        raise TypeError(f"tensor must be of type {int32!r}; got {tensor.dtype!r}")
    if tensor.ndim:
        raise ValueError("Rank must be a scalar.")
    return as_ints(tensor)[0]


def _check_rank(x: Any, holds: Callable[[int], bool], text: str, message: str | None) -> None:
    shape = _with_shape(x).shape
    if not holds(len(shape)):
        raise ValueError(
            f"{_opening(message)}Tensor  must have {text}.  Received rank {len(shape)}, shape {tuple(shape)}"
        )


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor is a scalar.

    Args:
      tensor: a tensor.
      message: the text that the error starts with.

    Raises:
      ValueError: if `tensor` is not a scalar.

    >>> tf.debugging.assert_scalar(1)
    """
    shape = _with_shape(tensor).shape
    if len(shape):
        raise ValueError(f"{_opening(message)}Expected scalar shape, saw shape: {tuple(shape)}.")


def assert_type(tensor: Any, tf_type: DTypeLike, message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor has the given dtype.

    Args:
      tensor: a tensor; may be ragged or sparse.
      tf_type: the required dtype.
      message: the text that the error starts with.

    Raises:
      TypeError: if `tensor` has another dtype.

    >>> tf.debugging.assert_type(tf.constant(1), tf.int32)
    """
    expected, actual = as_dtype(tf_type), _dtype(tensor)
    if actual is not expected:
        raise TypeError(f"{_opening(message)}tensor must be of type {expected!r}; got {actual!r}")


def _dtype(tensor: Any) -> DType:
    dtype = getattr(tensor, "dtype", None)
    return dtype if isinstance(dtype, DType) else as_tensor(tensor).dtype


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises an error unless a tensor has an integer dtype.

    Args:
      x: a tensor.
      message: the text that the error starts with.

    Raises:
      TypeError: if `x` has another dtype.

    >>> tf.debugging.assert_integer(tf.constant(1))
    """
    dtype = _dtype(x)
    if not dtype.is_integer:
        text = f'Expected "x" to be integer type.  Found: tensor of dtype {dtype}'
        raise TypeError(f"{_opening(message)}{text}")


def assert_proper_iterable(values: Any) -> None:
    """Raises an error unless a value is a real collection, not a tensor, array or string that is merely iterable.

    Args:
      values: the value to check.

    Raises:
      TypeError: if `values` is a tensor, an array or a string, or not iterable.

    >>> tf.debugging.assert_proper_iterable([1])
    """
    if isinstance(values, Buffer | str | bytes) or hasattr(values, "__array__") or hasattr(values, "__tf_tensor__"):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """Raises an error unless all tensors have the same floating-point dtype.

    Args:
      tensors: the tensors to check.
      dtype: the required dtype; any floating-point dtype by default.

    Returns:
      The common dtype; float32 if neither argument is given.

    Raises:
      ValueError: if the dtypes differ or are not floating-point.

    >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant(2.0)])
    tf.float32
    """
    expected, first = None if dtype is None else as_dtype(dtype), None
    for tensor in tensors or ():
        actual = _dtype(tensor)
        if expected is None:
            expected, first = actual, tensor
        elif actual is not expected:
            like = "" if first is None else f" as {first!s}"
            raise ValueError(f"{tensor!s}, type={actual}, must be of the same type ({expected}){like}.")
    if expected is None:
        return float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected}.")
    return expected


def assert_shapes(
    shapes: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """Raises an error unless the shapes of tensors match a specification.

    Args:
      shapes: pairs of a tensor and a shape. A shape is a list of lengths, of names, which stand for the same length
        everywhere, and of None or `"."`, which stand for any length; `"..."` at one end stands for any number of axes.
        A string such as `"NM"` is a list of its letters.
      data, summarize: accepted and ignored.
      message: the text that the error starts with.

    Raises:
      ValueError: if a shape does not match.

    >>> tf.debugging.assert_shapes([(tf.ones([2, 3]), ("N", "M")), (tf.ones([3]), ("M",))])
    """
    lengths_by_symbol: dict[Any, tuple[int, str]] = {}
    pairs: Iterable[tuple[Any, Any]] = shapes.items() if hasattr(shapes, "items") else shapes
    for tensor, dimensions in pairs:
        shaped = _with_shape(tensor)
        have = list(shaped.shape)
        symbols: list[Any] = list(dimensions) if hasattr(dimensions, "__iter__") else [dimensions]
        for axis, symbol in _axes(shaped, symbols, message):
            _check_length(shaped, have, axis, symbol, lengths_by_symbol, message)


def _axes(tensor: Any, symbols: list[Any], message: str | None) -> list[tuple[int, Any]]:
    """Returns the axes that a shape describes, with the symbol of each."""
    rank = len(tensor.shape)
    if symbols[:1] in (["..."], ["*"]):
        later_symbols = symbols[1:]
        assert_rank_at_least(tensor, len(later_symbols), message)
        return [(rank - len(later_symbols) + i, symbol) for i, symbol in enumerate(later_symbols)]
    if symbols[-1:] in (["..."], ["*"]):
        assert_rank_at_least(tensor, len(symbols) - 1, message)
        return list(enumerate(symbols[:-1]))
    assert_rank(tensor, len(symbols), message)
    return list(enumerate(symbols))


def _check_length(
    tensor: Any,
    have: list[Any],
    axis: int,
    symbol: Any,
    lengths_by_symbol: dict[Any, tuple[int, str]],
    message: str | None,
) -> None:
    if symbol in (None, "."):
        return
    subject = f"Tensor shape={tuple(have)} dtype={tensor.dtype.name} dimension {axis}"
    if hasattr(symbol, "__index__"):
        size, source = symbol.__index__(), "explicitly"
    else:
        size, source = lengths_by_symbol.setdefault(symbol, (have[axis], f"by {subject[0].lower()}{subject[1:]}"))
    if have[axis] != size:
        raise ValueError(
            f"{_opening(message)}Specified {source}.  {subject} must have size {size}.  "
            f"Received size {have[axis]}, shape {tuple(have)}"
        )
