"""How attributes are read: shapes, axes and other numbers that a kernel needs on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from nbtf._runtime.conversion import host_array
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, as_dtype, int32, int64
from nbtf.errors import InvalidArgumentError

R = TypeVar("R")


class HostInput(NamedTuple):
    """How an attribute that is an input of a node is called in a graph, and where it stands among the inputs."""

    name: str
    place: int | None = None
    """None at the end."""
    default: Any = None
    """What stands for an attribute that nobody gave; a function gets the rank of the first input."""
    of_result: bool = False
    """Whether it has the dtype of the result."""


class KnownInput(NamedTuple):
    """What a graph knows of an input: lengths, and an array or a list with None for elements that only a run tells."""

    shape: Any
    value: Any


def passed_on(first: KnownInput, **attrs: Any) -> Any:
    """The rule for values of ops that hand lengths on."""
    return first.value


class NodeForm(NamedTuple):
    """How an op looks as a node of a graph, where that does not follow from its rule."""

    inputs: Mapping[str, HostInput] = {}  # never changed
    """Attributes that are inputs."""
    index_type: str | None = None
    """TensorFlow's name for the dtype of shapes, axes and the like."""
    fields: Mapping[str, Any] = {}
    """TensorFlow's names of attributes; and values of those that nobody gives."""
    static: Any = False
    """Whether the value is known where those of the inputs are; a rule also tells a part of it."""
    node_name: str | None = None
    """What a node is called that nobody named; its type by default."""
    misfit: Callable[..., str | None] | None = None
    """Says in TensorFlow's words why inputs do not fit, from their shapes, lists of lengths, and the attributes."""
    definition: str | None = None
    """TensorFlow's definition, inputs and attributes, with which it ends when it refuses a dtype."""

    def host_input(self, attr: str) -> HostInput:
        """Returns how an attribute is an input: under its own name, at the end, where nothing else is said."""
        return self.inputs.get(attr) or HostInput(attr)


AXES: Mapping[str, HostInput] = {"axis": HostInput("reduction_indices", default=range)}
"""The axes of a reduction."""

Axis = Any
"""None, a number, a list of numbers, or an integer tensor."""


def as_int(value: Any) -> int:
    """Returns one integer; from a tensor, its value.

    Raises:
      TypeError: if it is none.
    """
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(f"expected an integer, got {value!r}") from None


def as_ints(value: Any) -> tuple[int, ...]:
    """Returns integers as a tuple; one integer counts as a list of one.

    Raises:
      TypeError: if some are none, or it is a text, whose letters are none either.
    """
    plain: Any = value.numpy() if isinstance(value, Tensor) or _has_value(value) else value
    if hasattr(plain, "__index__") and not getattr(plain, "shape", ()):
        return (plain.__index__(),)
    if isinstance(plain, str | bytes) or not hasattr(plain, "__iter__"):
        raise TypeError(f"expected integers, got {plain!r}")
    return tuple([as_int(item) for item in plain])


def _has_value(value: Any) -> bool:
    """Returns whether something is a variable or the like; a sparse tensor becomes one, too, but has no value."""
    return hasattr(value, "__tf_tensor__") and hasattr(value, "numpy")


def as_shape(value: Any) -> tuple[int, ...]:
    """Returns the lengths of a shape: of a number, a list (tensors may stand in it), a TensorShape or a tensor.

    Raises:
      TypeError: if a length is not an integer, or not known.
    """
    try:
        return as_ints(value)
    except (AttributeError, TypeError):
        raise TypeError(f"a shape is made of integers, got {value!r}") from None


def as_axis(value: Axis) -> int | tuple[int, ...] | None:
    """Returns an axis or a tuple of them; None stays None."""
    if value is None:
        return None
    axes = as_ints(value)
    is_sequence = (
        isinstance(value, list | tuple) or len(getattr(value, "shape", ())) > 0
    )  # a scalar's shape is true, too
    return axes if is_sequence or not axes else axes[0]


def as_axes(axis: Any) -> tuple[int, ...]:
    """Returns axes as NumPy wants them, in a tuple: a bare 0 it takes for a scalar, too, which has no axis."""
    if axis.__class__ is tuple:
        return axis
    return tuple(axis) if axis.__class__ is list else (axis.__index__(),)


def positive_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Returns axes counted from the front; all of them for None.

    Raises:
      InvalidArgumentError: if an axis is outside `[-rank, rank)` or comes twice, in TensorFlow's words.
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
    """Returns a reader that refuses values of other kinds as TensorFlow does, by the name of the op's attr.

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
"""Reads the axes of a reduction."""


def not_allowed(attr: str, dtype: DType) -> InvalidArgumentError:
    """Returns TensorFlow's error for an index or a length of the wrong kind."""
    text = f"Value for attr '{attr}' of {dtype.c_name} is not in the list of allowed values: int32, int64"
    return InvalidArgumentError(text)


def as_index_dtype(value: Any) -> DType:
    """Returns the dtype of results that are lengths or positions; int32 for None."""
    dtype = int32 if value is None else as_dtype(value)
    if dtype is not int32 and dtype is not int64:
        raise not_allowed("out_type", dtype)
    return dtype
