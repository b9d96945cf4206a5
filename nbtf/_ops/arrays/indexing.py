"""Indexing with `tensor[...]`: numbers, slices, `...` and new axes with StridedSlice, masks with Where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput, KnownInput, as_axis, as_shape, of_integers
from nbtf._ops.express import HANDED_OVER
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import UNKNOWN, Dims, as_asked, bracketed
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, NUMBERS, DType, TensorLike, int16, int32, int64
from nbtf.errors import InvalidArgumentError

_POSITIONS = of_integers("Index", as_axis)
_REST = (Ellipsis,)
_WHOLE = int16, int32, int64
"""Dtypes of tensors that a key may contain. Source: `_SUPPORTED_SLICE_DTYPES` in TensorFlow's array_ops.py."""
_SINGLE = frozenset({int, slice, type(None)})


def getitem(tensor: Any, key: Any) -> Tensor:
    """Returns a part of a tensor: implements `tensor[key]`.

    Args:
      tensor: any tensor.
      key: an integer, which removes its axis; a slice; `...`, which stands for all other axes; None or
        `tf.newaxis`, which adds an axis; an integer scalar tensor; or a tuple of these. A list means the same as a
        tuple: `t[[0, 1]]` is `t[0, 1]`. A bool tensor selects elements as a mask.

    Returns:
      The part, with the remaining axes.

    Raises:
      InvalidArgumentError: if an index is out of range, the key has more parts than the tensor has axes, or a step is
        0.
      TypeError: if a part of the key is none of the above.

    >>> t = tf.constant([[1, 2, 3], [4, 5, 6]])
    >>> t[0, 1].numpy(), t[:, ::2].numpy().tolist(), t[..., tf.newaxis].shape
    (np.int32(2), [[1, 3], [4, 6]], TensorShape([2, 3, 1]))
    """
    # The express lane of this op is written by hand. With a final `...`, which changes nothing, NumPy returns a view
    # for keys that TensorFlow slices, and a copy for keys that it treats as a list of numbers or a mask.
    try:
        if tensor.__class__ is Tensor:
            scope, device = SCOPE(), tensor._device
            if lane_at(scope) is device and (scope is None or scope.tape is None or tensor._watch is None):
                source = tensor._array
                if key.__class__ is tuple:
                    try:
                        array = source[key + _REST]
                    except IndexError:  # the key has its own ellipsis
                        array = source[key]
                elif key.__class__ in _SINGLE:
                    array = source[key, ...]
                elif key is Ellipsis:
                    array = source[key]
                else:
                    return _on_the_road(tensor, key)
                base = array.base
                if base is source or (base is not None and base is source.base):
                    result = Tensor()
                    result._array = array
                    result._dtype = tensor._dtype
                    result._device = device
                    result._watch = None
                    return result
    except HANDED_OVER:
        pass
    return _on_the_road(tensor, key)


def _on_the_road(tensor: Any, key: Any) -> Tensor:
    dtype = getattr(key, "dtype", None)
    if key.__class__ is bool or (dtype is not None and dtype == "bool" and hasattr(key, "__len__")):
        from nbtf._ops.arrays.gathering import boolean_mask  # imported late to keep `import nbtf` fast

        return boolean_mask(tensor, key)
    begin, end, strides, masks = slice_spec(key)
    return StridedSlice(tensor, begin=begin, end=end, strides=strides, masks=masks, name="strided_slice/")


setattr(getitem, "__wrapped__", _on_the_road)  # noqa: B010  # as in `express`; type checkers do not know the attribute


class Masks(NamedTuple):
    """The kinds of a key's parts: five bit masks with one bit per part."""

    begin: int = 0
    end: int = 0
    ellipsis: int = 0
    new_axis: int = 0
    shrink_axis: int = 0


def slice_spec(key: Any) -> tuple[list[Any], list[Any], list[Any], Masks]:
    """Returns the StridedSlice arguments for a key: begin, end, strides and masks.

    Args:
      key: one part or several: a number, a slice, `...`, None, or an integer tensor.

    Raises:
      TypeError: if a part has another type, with TensorFlow's text.
    """
    items: list[Any] = [*key] if isinstance(key, list | tuple) else [key]
    meanings = [_meaning(item) for item in items]
    masks = dict.fromkeys(Masks._fields, 0)
    for number, (_, _, _, names) in enumerate(meanings):
        for name in names:
            masks[name] |= 1 << number
    begin, end, strides = ([meaning[position] for meaning in meanings] for position in range(3))
    return begin, end, strides, Masks(**masks)


def _meaning(item: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Returns begin, end and stride of one part of a key, and the masks whose bit it sets."""
    if item is None:
        return 0, 0, 1, ("new_axis",)
    if item is Ellipsis:
        return 0, 0, 1, ("ellipsis",)
    if item.__class__ is slice:
        start, stop, step = (None if bound is None else _index(bound) for bound in (item.start, item.stop, item.step))
        open_ends = tuple(name for name, bound in (("begin", start), ("end", stop)) if bound is None)
        return 0 if start is None else start, 0 if stop is None else stop, 1 if step is None else step, open_ends
    position = _index(item)
    return position, position + 1 if position.__class__ is int else position, 1, ("shrink_axis",)


def _index(item: Any) -> Any:
    """Returns a part as a number; a tensor unchanged, since its value may not be known yet."""
    dtype = getattr(item, "dtype", None)
    if dtype.__class__ is DType:
        if dtype in _WHOLE and len(item.shape) == 0:
            return item
    elif hasattr(item, "__index__") and dtype != "bool":
        try:
            return item.__index__()
        except TypeError:
            pass  # not an array with a single integer
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        f"valid indices, got {item!r}"
    )


def _strided_partly(input_: Any, begin: Any, end: Any, strides: Any, masks: Masks) -> Dims:
    if input_.shape is None or begin is UNKNOWN:
        return None
    lengths: list[int | None] = []
    remaining = list(input_.shape)
    single = len(begin) - masks.new_axis.bit_count() - masks.ellipsis.bit_count()
    for number in range(len(begin)):
        bit = 1 << number
        if masks.ellipsis & bit:
            skipped = len(input_.shape) - single
            lengths += remaining[:skipped]
            del remaining[:skipped]
        elif masks.new_axis & bit:
            lengths.append(1)
        else:
            length = remaining.pop(0)
            if not masks.shrink_axis & bit:
                is_whole = masks.begin & masks.end & bit and strides is not UNKNOWN and strides[number] in (1, -1)
                lengths.append(length if is_whole else None)
    return (*lengths, *remaining)


def _cut_values(input_: KnownInput, begin: Any, end: Any, strides: Any, masks: Masks) -> Any:
    lengths = input_.value
    if lengths is None or masks.new_axis or masks.ellipsis or len(begin) != 1:
        return None
    if masks.shrink_axis:
        return lengths[begin[0]] if -len(lengths) <= begin[0] < len(lengths) else None
    return lengths[None if masks.begin else begin[0] : None if masks.end else end[0] : strides[0]]


@op(
    "T -> T",
    T=ALL,
    host={"begin": _POSITIONS, "end": _POSITIONS, "strides": _POSITIONS},
    partly=_strided_partly,
    inputs={"begin": HostInput("stack"), "end": HostInput("stack_1"), "strides": HostInput("stack_2")},
    index_type="Index",
    static=_cut_values,
)
def StridedSlice(xp: Any, input_: Any, begin: Any, end: Any, strides: Any, masks: Masks) -> Any:
    return input_[numpy_key(begin, end, strides, masks)]


def numpy_key(begin: Sequence[int], end: Sequence[int], strides: Sequence[int], masks: Masks) -> tuple[Any, ...]:
    """Returns the equivalent NumPy key; it always contains an ellipsis, so that a scalar stays an array."""
    key: list[Any] = []
    for number, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << number
        if masks.ellipsis & bit:
            key.append(Ellipsis)
        elif masks.new_axis & bit:
            key.append(None)
        elif masks.shrink_axis & bit:
            key.append(start)
        else:
            key.append(slice(None if masks.begin & bit else start, None if masks.end & bit else stop, step))
    return tuple(key) if masks.ellipsis else (*key, Ellipsis)


def strided_slice(
    input_: TensorLike,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a strided part of a tensor; prefer `tensor[...]`, which does the same.

    Args:
      input_: any tensor.
      begin: the first index along each axis.
      end: the index to stop before along each axis.
      strides: the step along each axis; 1 by default.
      begin_mask: bits of the entries for which `begin` is ignored; 0 by default.
      end_mask: bits of the entries for which `end` is ignored; 0 by default.
      ellipsis_mask: bit of the entry that stands for all other axes; 0 by default.
      new_axis_mask: bits of the entries that add an axis of length 1; 0 by default.
      shrink_axis_mask: bits of the entries that select one element and remove their axis; 0 by default.
      var: accepted and ignored.

    Returns:
      The part.

    Raises:
      InvalidArgumentError: if an index is out of range, a step is 0, or there are more entries than axes.

    >>> tf.strided_slice([1, 2, 3, 4, 5], [0], [5], [2]).numpy()
    array([1, 3, 5], dtype=int32)
    """
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    steps = [1] * len(begin) if strides is None and hasattr(begin, "__len__") else strides
    return StridedSlice(input_, begin=begin, end=end, strides=1 if steps is None else steps, masks=masks, name=name)


@StridedSlice.infer
def _(input_: Spec, begin: Any, end: Any, strides: Any, masks: Masks) -> Spec:
    counts = [(len(numbers),) if numbers.__class__ is tuple else () for numbers in (begin, end, strides)]
    if not counts[0] == counts[1] == counts[2] or not counts[0]:
        shapes = "{}, {}, and {}".format(*map(bracketed, counts))
        text = f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes {shapes} instead."
        raise InvalidArgumentError(text)
    if masks.ellipsis.bit_count() > 1:
        raise InvalidArgumentError("Multiple ellipses in slice spec not allowed")
    lengths: list[int | None] = []
    for number, axis in _axes(len(input_.shape), len(begin), masks):
        length = 1 if axis is None else input_.shape[axis]
        if number is None or axis is None:
            lengths.append(length)
        elif masks.shrink_axis >> number & 1:
            _check_position(begin[number], length, axis)
        else:
            bounds = slice(
                None if masks.begin >> number & 1 else begin[number],
                None if masks.end >> number & 1 else end[number],
                strides[number],
            )
            lengths.append(_length(bounds, length, axis))
    return Spec(tuple(lengths), input_.dtype)


def _axes(rank: int, count: int, masks: Masks) -> list[tuple[int | None, int | None]]:
    """Pairs key entries with axes as `(place, axis)`; None for the place of other axes and the axis of new ones."""
    consumed = sum(1 for bit in range(count) if not (masks.ellipsis | masks.new_axis) >> bit & 1)
    pairs: list[tuple[int | None, int | None]] = []
    axis = 0
    for bit in range(count):
        if masks.ellipsis >> bit & 1:
            pairs.extend((None, axis + i) for i in range(rank - consumed))
            axis += max(rank - consumed, 0)
        elif masks.new_axis >> bit & 1:
            pairs.append((bit, None))
        elif axis < rank:
            pairs.append((bit, axis))
            axis += 1
        elif rank == 0:
            raise InvalidArgumentError("Attempting to slice scalar input.")
        else:
            raise InvalidArgumentError(f"Index out of range using input dim {axis}; input has only {rank} dims")
    return [*pairs, *((None, remaining) for remaining in range(axis, rank))]


def _check_position(position: int, length: int | None, axis: int) -> None:
    if length is None or -length <= position < length:
        return
    from_start = position + length if position < 0 else position
    raise InvalidArgumentError(f"slice index {from_start} of dimension {axis} out of bounds.")


def _length(bounds: slice, length: int | None, axis: int) -> int | None:
    if bounds.step == 0:
        raise InvalidArgumentError(f"strides[{axis}] must be non-zero")
    return None if length is None else len(range(*bounds.indices(length)))


@StridedSlice.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [StridedSliceGrad(grad, shape=call.inputs[0].shape, **call.attrs)]


@op(
    "T -> T",
    T=NUMBERS,
    host={"shape": of_integers("Index", as_shape), "begin": _POSITIONS, "end": _POSITIONS, "strides": _POSITIONS},
    partly=as_asked("shape"),
)
def StridedSliceGrad(xp: Any, dy: Any, shape: Any, begin: Any, end: Any, strides: Any, masks: Masks) -> Any:
    result = xp.zeros(shape, dy.dtype)
    result[numpy_key(begin, end, strides, masks)] = dy
    return result


@StridedSliceGrad.infer
def _(dy: Spec, shape: tuple[int, ...], begin: Any, end: Any, strides: Any, masks: Masks) -> Spec:
    return Spec(shape, dy.dtype)


@StridedSliceGrad.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    attrs = {name: value for name, value in call.attrs.items() if name != "shape"}
    return [StridedSlice(grad, **attrs)]
