"""Joins and splits tensors along an axis: concat and split, stack and unstack.

Each op is the other's gradient, hence the common module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import broadcast_to
from nbtf._ops.arrays.identity import identity
from nbtf._ops.attributes import HostInput, KnownInput, as_int, as_ints, of_integers
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import (
    UNKNOWN,
    Dims,
    Lengths,
    bracketed,
    may_be_equal,
    merged_shape,
    unequal_list,
    unequal_shapes,
)
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import Packer, as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, DType, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def _joined_partly(values: Any, axis: Any) -> Dims:
    shapes = [value.shape for value in values if value.shape is not None]
    if not shapes:
        return None
    shape = merged_shape(shapes)
    return tuple([None if axis is UNKNOWN or number == axis % len(shape) else n for number, n in enumerate(shape)])


def _joined_values(values: Sequence[KnownInput], axis: int) -> Any:
    if any([value.value is None for value in values]):
        return None
    return [number for value in values for number in value.value]


def _misfit_of_joined(values: Sequence[Lengths], axis: int) -> str | None:
    rank = len(values[0])
    if not -rank <= axis < rank:
        return f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {rank}"
    differences = [unequal_shapes(values[0], lengths, axis % max(rank, 1)) for lengths in values[1:]]
    return next(filter(None, differences), None)


@op(
    "T* -> T",
    T=ALL,
    host={"axis": of_integers("Tidx", as_int)},
    partly=_joined_partly,
    index_type="Tidx",
    static=_joined_values,
    misfit=_misfit_of_joined,
)
def ConcatV2(xp: Any, values: list[Any], axis: int) -> Any:
    return xp.concatenate(values, axis)


def concat(values: Any, axis: Any, name: str | None = "concat") -> Tensor:
    """Joins tensors along an existing axis.

    Args:
      values: a list of tensors of the same dtype whose shapes differ only along `axis`.
      axis: the axis, counted from the end if negative.

    Returns:
      A tensor of the same rank.

    Raises:
      InvalidArgumentError: if dtypes or shapes do not fit, or the axis does not exist.

    >>> tf.concat([[[1, 2]], [[3, 4]]], axis=0).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    is_sequence = bool(isinstance(values, list | tuple))
    listed: list[Any] = list(values) if is_sequence else [values]
    if len(listed) == 1:
        return identity(listed[0], name=name)
    if not listed:
        raise InvalidArgumentError("tf.concat: `values` is empty. Pass at least one tensor.")
    return ConcatV2(listed, axis=axis, name=name)


@ConcatV2.infer
def _(values: Sequence[Spec], axis: int) -> Spec:
    first, n = values[0], len(values[0].shape)
    if n == 0:
        raise InvalidArgumentError("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -n <= axis < n:
        text = f"ConcatOp : Expected concatenating dimensions in the range [{-n}, {n}), but got {axis}"
        raise InvalidArgumentError(text)
    axis %= n
    for number, value in enumerate(values):
        _compare_shapes(first.shape, value.shape, number, axis)
    lengths: list[int | None] = list(first.shape)
    for position in range(n):
        candidates = [value.shape[position] for value in values]
        fixed = [length for length in candidates if length is not None]
        if position != axis:
            lengths[position] = fixed[0] if fixed else None
        else:
            lengths[position] = sum(fixed) if len(fixed) == len(candidates) else None
    return Spec(tuple(lengths), first.dtype)


def _compare_shapes(first: tuple[int | None, ...], second: tuple[int | None, ...], number: int, axis: int) -> None:
    shapes = f"shape[0] = {bracketed(first)} vs. shape[{number}] = {bracketed(second)}"
    if len(first) != len(second):
        raise InvalidArgumentError(f"ConcatOp : Ranks of all input tensors should match: {shapes}")
    for position, (m, n) in enumerate(zip(first, second, strict=True)):
        if position != axis and m != n and None not in (m, n):
            raise InvalidArgumentError(f"ConcatOp : Dimension {position} in both shapes must be equal: {shapes}")


@ConcatV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    values, axis = call.inputs[0], as_int(call.attrs["axis"])
    pieces: Any = split(grad, [value.shape[axis] for value in values], axis)
    return [pieces]


def _packed_values(values: Sequence[KnownInput], axis: int) -> Any:
    return None if any([value.shape != () for value in values]) else [value.value for value in values]


@op("T* -> T", T=ALL, plain={"axis": as_int}, static=_packed_values, misfit=unequal_list)
def Pack(xp: Any, values: list[Any], axis: int) -> Any:
    if axis < 0:
        axis += values[0].ndim + 1
    if any(value.shape != values[0].shape for value in values):
        raise ValueError("shapes differ")
    index = (slice(None),) * axis + (None,)  # views and `concatenate`: 3 times as fast as `stack`
    return xp.concatenate([value[index] for value in values], axis)


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Joins tensors of one shape along a new axis.

    Args:
      values: a list of tensors of the same dtype and shape.
      axis: the position of the new axis, counted from the end if negative; 0 by default.

    Returns:
      A tensor with one more axis. A list of Python values along axis 0 becomes a constant without running an op.

    Raises:
      ValueError: if `axis` is out of range.

    >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if axis == 0:
        try:
            return as_tensor(values)
        except (TypeError, ValueError, InvalidArgumentError):
            pass  # values that do not form one constant may still be tensors of the same shape
    if not hasattr(values, "__len__") or not len(values):
        raise ValueError(f"`values` must be a list of tensors, one at least. Got {values!r}")
    n = len(as_tensor(values[0]).shape) + 1
    if not -n <= check_whole(axis, "axis") < n:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-n}, {n})")
    return Pack(list(values), axis=axis, name=name)


@Pack.infer
def _(values: Sequence[Spec], axis: int) -> Spec:
    first = values[0]
    for number, value in enumerate(values):
        if not may_be_equal(value.shape, first.shape):
            text = f"values[0].shape = {bracketed(first.shape)} != values[{number}].shape = {bracketed(value.shape)}"
            raise InvalidArgumentError(f"Shapes of all inputs must match: {text}")
    axis %= len(first.shape) + 1
    shape = merged_shape([value.shape for value in values])
    return Spec((*shape[:axis], len(values), *shape[axis:]), first.dtype)


@Pack.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    pieces: Any = unstack(grad, len(call.inputs[0]), call.attrs["axis"])
    return [pieces]


def packed(values: Sequence[Any], dtype: DType | None = None) -> Tensor:
    """Returns a list that contains tensors as one tensor, whose dtype they take; used by conversions."""
    items = list(values) if dtype is None else [_in_dtype(item, dtype) for item in values]
    return Pack(items, axis=0, name="packed")


def _in_dtype(item: Any, dtype: DType) -> Any:
    holds_tensors = item.__class__ in (list, tuple, Tensor) or hasattr(item, "__tf_tensor__")
    return cast(item, dtype) if holds_tensors else as_tensor(item, dtype)


Packer.pack = packed


def _unpacked_partly(value: Any, num: int, axis: int) -> list[Dims]:
    return [None] * num


@op("T -> T*", T=ALL, partly=_unpacked_partly)
def Unpack(xp: Any, value: Any, num: int, axis: int) -> Any:
    if value.shape[axis] != num:
        raise ValueError("the length differs from num")
    index = (slice(None),) * (axis % value.ndim)
    return [value[(*index, i, ...)] for i in range(num)]


def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = "unstack") -> list[Tensor]:
    """Splits a tensor along an axis and removes the axis.

    Args:
      value: a tensor with at least one axis.
      num: the length of the axis, required if it is unknown.
      axis: the axis, counted from the end if negative.

    Returns:
      A list of tensors with one axis less.

    Raises:
      InvalidArgumentError: if the axis does not have length `num`.
      ValueError: if the axis does not exist, or its length is unknown.

    >>> [t.numpy().tolist() for t in tf.unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    value = as_tensor(value)
    n = value.shape.rank
    if n is not None and not -n <= check_whole(axis, "axis") < n:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-n}, {n})")
    if num is None:
        num = None if n is None else value.shape[axis]
    if num is None:
        raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return Unpack(value, num=num, axis=axis, name=name)


@Unpack.infer
def _(value: Spec, num: int, axis: int) -> list[Spec]:
    axis %= len(value.shape)
    if value.shape[axis] not in (num, None):
        raise InvalidArgumentError(f"Input shape axis {axis} must equal {num}, got shape {bracketed(value.shape)}")
    return [Spec((*value.shape[:axis], *value.shape[axis + 1 :]), value.dtype)] * num


@Unpack.gradient_keeping("outputs")
def _(call: Call, *grads: Tensor | None) -> Gradients:
    return [stack(filled_up(call, grads), call.attrs["axis"])]


def filled_up(call: Call, grads: Sequence[Tensor | None]) -> list[Tensor]:
    """Returns the gradients of several results, with zeros for unused results."""
    return [
        broadcast_to(as_tensor(0, output._dtype), output.shape) if grad is None else grad
        for output, grad in zip(call.outputs, grads, strict=True)
    ]


def _parts_partly(value: Any, num_split: int, **attrs: Any) -> list[Dims]:
    return [None if value.shape is None else (None,) * len(value.shape)] * num_split


def _misfit_of_parts(value: Lengths, axis: int, num_split: int) -> str | None:
    if not -len(value) <= axis < len(value):
        return None
    return (
        f"Dimension size must be evenly divisible by {num_split} but is {value[axis]}\n"
        "\tNumber of ways to split should evenly divide the split dimension"
    )


@op(
    "T -> T*",
    T=ALL,
    host={"axis": of_integers("Tdim", as_int)},
    asked={"axis": int32},
    partly=_parts_partly,
    inputs={"axis": HostInput("split_dim", 0)},
    misfit=_misfit_of_parts,
)
def Split(xp: Any, value: Any, axis: int, num_split: int) -> Any:
    length, remainder = divmod(value.shape[axis], num_split)
    if remainder or not -value.ndim <= axis < value.ndim:
        raise ValueError("the parts would not be equal")
    return _cut(value, [length] * num_split, axis)


def _cut(value: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    index = (slice(None),) * (axis % value.ndim)
    pieces: list[Any] = []
    start = 0
    for length in sizes:
        pieces.append(value[(*index, slice(start, start + length))])
        start += length
    return pieces


def split(
    value: TensorLike, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str | None = "split"
) -> list[Tensor]:
    """Splits a tensor into parts along an axis.

    Args:
      value: a tensor with at least one axis.
      num_or_size_splits: the number of equal parts, or a list of lengths, one of which may be -1 for the rest.
      axis: the axis, counted from the end if negative.
      num: the number of lengths, required if it is unknown.

    Returns:
      A list of tensors of the same rank.

    Raises:
      InvalidArgumentError: if the parts do not add up to the axis's length, or the axis does not exist.
      ValueError: if `num_or_size_splits` is a scalar tensor, or a tensor of unknown length without `num`.

    >>> [t.numpy().tolist() for t in tf.split([1, 2, 3, 4, 5], [2, -1])]
    [[1, 2], [3, 4, 5]]
    """
    if isinstance(num_or_size_splits, int):
        if num_or_size_splits < 1:
            raise _no_parts(num_or_size_splits)
        return Split(value, axis=axis, num_split=num_or_size_splits, name=name)
    count = num or _count_of(num_or_size_splits)
    if not count:
        raise _no_parts(0)
    return SplitV(value, size_splits=num_or_size_splits, axis=axis, num_split=count, name=name)


def _no_parts(count: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"Value for attr 'num_split' of {count} must be at least minimum 1")


def _count_of(size_splits: Any) -> int:
    if isinstance(size_splits, list | tuple):
        return len(size_splits)  # pyright: ignore[reportUnknownArgumentType]
    shape = as_tensor(size_splits).shape
    if shape.rank == 0:
        text = "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
        raise ValueError(text + str(size_splits))
    if shape.rank is None or shape[0] is None:
        raise ValueError(f"Cannot infer argument `num` from shape {shape}.")
    return shape[0]


@Split.infer
def _(value: Spec, axis: int, num_split: int) -> list[Spec]:
    position = _split_axis(value, axis)
    length = value.shape[position]
    if length is not None and length % num_split:
        text = "Number of ways to split should evenly divide the split dimension, but got split_dim "
        raise InvalidArgumentError(f"{text}{position} (size = {length}) and num_split {num_split}")
    piece_length = None if length is None else length // num_split
    return [Spec((*value.shape[:position], piece_length, *value.shape[position + 1 :]), value.dtype)] * num_split


def _split_axis(value: Spec, axis: int) -> int:
    n = len(value.shape)
    if not -n <= axis < n:
        raise InvalidArgumentError(f"-input rank(-{n}) <= split_dim < input rank ({n}), but got {axis}")
    return axis % n


@op(
    "T -> T*",
    T=ALL,
    host={"size_splits": of_integers("Tlen", as_ints), "axis": of_integers("Tdim", as_int)},
    asked={"axis": int32},
    partly=_parts_partly,
    inputs={"size_splits": HostInput("Const"), "axis": HostInput("split_dim")},
    index_type="Tlen",
)
def SplitV(xp: Any, value: Any, size_splits: Sequence[int], axis: int, num_split: int) -> Any:
    if not -value.ndim <= axis < value.ndim:
        raise ValueError("no such axis")
    return _cut(value, _lengths(value.shape[axis], size_splits, num_split), axis)


def _lengths(total: int, sizes: Sequence[int], count: int) -> list[int]:
    """Returns the lengths of the parts, with -1 replaced by the remaining length."""
    if len(sizes) != count:
        text = "size of the split_tensor must be 1-D and have the same elements as outputs"
        raise InvalidArgumentError(f"{text} got 1 -D and {len(sizes)} elements")
    if list(sizes).count(-1) > 1:
        raise InvalidArgumentError("There can only be one -1 in the input.")
    fixed = sum(length for length in sizes if length != -1)
    if fixed > total or (fixed != total and -1 not in sizes):
        raise InvalidArgumentError(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            f"than the size of the input along split_dim if not fully specified.  Got: {fixed}"
        )
    for position, length in enumerate(sizes):
        if length < -1:
            raise InvalidArgumentError(f"Split size at index {position} must be >= 0. Got: {length}")
    return [total - fixed if length == -1 else length for length in sizes]


@SplitV.infer
def _(value: Spec, size_splits: Sequence[int], axis: int, num_split: int) -> list[Spec]:
    position = _split_axis(value, axis)
    total = value.shape[position]
    lengths: Sequence[int | None]
    if total is None:
        lengths = [None if length == -1 else length for length in size_splits]
    else:
        lengths = _lengths(total, size_splits, num_split)
    return [Spec((*value.shape[:position], n, *value.shape[position + 1 :]), value.dtype) for n in lengths]


@Split.gradient_keeping("outputs")
@SplitV.gradient_keeping("outputs")
def _(call: Call, *grads: Tensor | None) -> Gradients:
    return [concat(filled_up(call, grads), call.attrs["axis"])]
