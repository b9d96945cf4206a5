"""Converts attributes: the shapes, axes and other numbers that a kernel needs on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from nbtf._runtime.conversion import host_array
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, as_dtype, int32, int64
from nbtf.errors import InvalidArgumentError

R = TypeVar("R")


class HostInput(NamedTuple):
    """The name and place of an attribute that is an input of a graph node."""

    name: str
    place: int | None = None
    """The place among the inputs; None for the end."""
    default: Any = None
    """The value if the caller gives none; a function is called with the rank of the first input."""
    of_result: bool = False
    """Whether the input has the dtype of the result."""


class KnownInput(NamedTuple):
    """A graph's knowledge of an input. Lengths and elements that are known only at run time are None."""

    shape: Any
    value: Any


def passed_on(first: KnownInput, **attrs: Any) -> Any:
    """Returns the first input's value: the rule for ops that pass lengths through."""
    return first.value


class NodeForm(NamedTuple):
    """How an op appears as a graph node, as far as its rule does not determine it."""

    inputs: Mapping[str, HostInput] = {}  # never modified
    """The attributes that are inputs of the node."""
    index_type: str | None = None
    """TensorFlow's name for the dtype of shapes, axes and the like."""
    fields: Mapping[str, Any] = {}
    """TensorFlow's attribute names, and the values of attributes that no caller passes."""
    static: Any = False
    """Whether the value is known when those of the inputs are. A rule can also return a partly known value."""
    node_name: str | None = None
    """The name of a node if the caller gives none; by default its type."""
    misfit: Callable[..., str | None] | None = None
    """Returns TensorFlow's text for inputs that do not fit, given their shapes, lists of lengths and the attributes."""
    definition: str | None = None
    """TensorFlow's definition (inputs and attributes), which ends the error text for an unsupported dtype."""

    def host_input(self, attr: str) -> HostInput:
        """Returns an attribute's `HostInput`; by default the last input, under the attribute's own name."""
        return self.inputs.get(attr) or HostInput(attr)


AXES: Mapping[str, HostInput] = {"axis": HostInput("reduction_indices", default=range)}
"""The axes of a reduction."""

Axis = Any
"""None, a number, a list of numbers, or an integer tensor."""


def as_int(value: Any) -> int:
    """Returns a value as an integer; for a tensor, the tensor's value.

    Raises:
      TypeError: if `value` is not an integer.
    """
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(f"expected an integer, got {value!r}") from None


def as_ints(value: Any) -> tuple[int, ...]:
    """Returns integers as a tuple; a single integer becomes a tuple of one.

    Raises:
      TypeError: if an element is not an integer, or `value` is a string.
    """
    plain: Any = value.numpy() if isinstance(value, Tensor) or _has_value(value) else value
    if hasattr(plain, "__index__") and not getattr(plain, "shape", ()):
        return (plain.__index__(),)
    if isinstance(plain, str | bytes) or not hasattr(plain, "__iter__"):
        raise TypeError(f"expected integers, got {plain!r}")
    return tuple([_as_element(item) for item in plain])


def _as_element(item: Any) -> int:
    """Returns an element of a list as an integer; as in TensorFlow, a tensor in a list is cast to the list's dtype."""
    return int(item) if item.__class__ is Tensor and item.dtype.is_floating and not item._array.shape else as_int(item)


def _has_value(value: Any) -> bool:
    """Returns whether an object has a tensor's value, as a variable does. A sparse tensor does not."""
    return hasattr(value, "__tf_tensor__") and hasattr(value, "numpy")


def as_shape(value: Any) -> tuple[int, ...]:
    """Returns a shape as a tuple of lengths, from a number, a list (may contain tensors), a TensorShape or a tensor.

    Raises:
      TypeError: if a length is unknown or not an integer.
    """
    try:
        return as_ints(value)
    except (AttributeError, TypeError):
        raise TypeError(f"Expected a shape made of integers, got {value!r}") from None


def as_axis(value: Axis) -> int | tuple[int, ...] | None:
    """Returns an axis or a tuple of them; None stays None."""
    if value is None:
        return None
    axes = as_ints(value)
    is_sequence = (
        isinstance(value, list | tuple) or len(getattr(value, "shape", ())) > 0
    )  # `bool` of a scalar tensor's shape is also True
    return axes if is_sequence or not axes else axes[0]


def as_axes(axis: Any) -> tuple[int, ...]:
    """Returns axes as a tuple, as NumPy needs them: given a bare 0, NumPy also accepts a scalar, which has no axis."""
    if axis.__class__ is tuple:
        return axis
    return tuple(axis) if axis.__class__ is list else (axis.__index__(),)


def positive_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Returns axes as non-negative numbers; for None, all axes.

    Raises:
      InvalidArgumentError: if an axis is outside `[-rank, rank)` or repeated, with TensorFlow's text.
    """
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for axis_number in axes:
        if not -rank <= axis_number < rank:
            raise InvalidArgumentError(f"Invalid reduction dimension ({axis_number} for input with {rank} dimension(s)")
    positive = tuple(axis_number % rank for axis_number in axes)
    for axis_number in positive:
        if positive.count(axis_number) > 1:
            raise InvalidArgumentError(f"Invalid reduction arguments: Axes contains duplicate dimension: {axis_number}")
    return positive


def of_integers(attr: str, read: Callable[[Any], R]) -> Callable[[Any], R]:
    """Returns a converter that rejects non-integers with TensorFlow's error, which names the op's attr.

    >>> of_integers("Tperm", as_axis)([1, 0])
    (1, 0)
    """

    def reader(value: Any) -> R:
        try:
            return read(value)
        except (AttributeError, TypeError):
            array, dtype = host_array(value)
            if dtype.is_integer:
                raise InvalidArgumentError(f"'{attr}' has shape {list(array.shape)}") from None
            raise not_allowed(attr, dtype) from None

    return reader


as_reduced = of_integers("Tidx", as_axis)
"""Converts the axes of a reduction."""


def not_allowed(attr: str, dtype: DType) -> InvalidArgumentError:
    """Returns TensorFlow's error for an index or length of the wrong dtype."""
    text = f"Value for attr '{attr}' of {dtype.c_name} is not in the list of allowed values: int32, int64"
    return InvalidArgumentError(text)


def as_index_dtype(value: Any) -> DType:
    """Returns the dtype of lengths or positions; int32 for None."""
    dtype = int32 if value is None else as_dtype(value)
    if dtype is not int32 and dtype is not int64:
        raise not_allowed("out_type", dtype)
    return dtype
