"""Elements of datasets, structures of tensors on the CPU: creating, joining and passing them to functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from nbtf._devices.base import Device
from nbtf._graph.trial import is_silent
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.structure import _like_mapping, flatten, pack_sequence_as
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.copying import copied_to
from nbtf._runtime.lanes import lane_at, lane_of
from nbtf._runtime.placement import DATASET
from nbtf._runtime.scopes import SCOPE, Scope, merged, set_scope
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError, OpError

_ON_HOST = merged("/CPU:0", None, DATASET)


class _AtOnce(Scope):
    """A scope in which all ops run eagerly, including those of `tf.compat.v1`."""

    __slots__ = ()
    at_once = True

    def with_(self, **changes: Any) -> Scope:
        """Returns a copy with some fields changed."""
        names = ("request", "tapes", "strategy", "replica", "graph", "creators", "names")
        return _AtOnce(**({name: getattr(self, name) for name in names} | changes))


BARE_HOST = _AtOnce(_ON_HOST)
"""The scope in which functions are tried out."""


class HostScope:
    """The scope for a pipeline's functions: on CPU:0, outside tapes and strategies, as in TensorFlow."""

    __slots__ = ("_lane", "_scope")

    def __init__(self) -> None:
        """Starts with a closed lane."""
        self._lane, self._scope = None, BARE_HOST

    def __call__(self) -> Scope:
        """Returns the scope, or a new one if the CPU's express lane has opened or closed since."""
        lane = lane_at(None)
        if lane is not self._lane:
            self._lane, self._scope = lane, _AtOnce(_ON_HOST, lane=lane_of(_ON_HOST))
        return self._scope


host_scope: HostScope = HostScope()


def host_device() -> Device:
    """Returns CPU:0, the device of all elements."""
    machine = CURRENT.context.machine
    return CURRENT.context.host if machine is None else machine.host


def on_host(function: Callable[..., Any], *args: Any) -> Any:
    """Calls the user's function in the scope that TensorFlow uses for dataset functions."""
    scope = SCOPE()
    try:
        set_scope(host_scope() if not is_silent() else scope)
        return function(*args)
    finally:
        set_scope(scope)


def called(function: Callable[..., Any], element: Any) -> Any:
    """Calls a function with an element; a tuple is passed as separate arguments."""
    return function(*element) if isinstance(element, tuple) else function(element)


def mapped(function: Callable[..., Any], element: Any) -> Any:
    """Calls the user's function with an element, and returns the result as an element."""
    scope = SCOPE()
    try:
        set_scope(host_scope() if not is_silent() else scope)
        result = function(*element) if isinstance(element, tuple) else function(element)
        return result if result.__class__ is Tensor and result._device is host_device() else _convert_result(result)
    finally:
        set_scope(scope)


def _convert_result(value: Any) -> Any:
    try:
        element = as_element(tuple(value) if value.__class__ is list else value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Unsupported return value from function passed to Dataset.map(): {value}.") from error
    if element is None:
        raise TypeError("A function passed to Dataset.map() must return something; it returned None.")
    return element


def is_tuple(value: Any) -> bool:
    """Returns whether a value is a tuple, without narrowing its type for type checkers."""
    return isinstance(value, tuple)


def is_mapping(value: Any) -> bool:
    """Returns whether a value is a mapping, without narrowing its type for type checkers."""
    return isinstance(value, Mapping)


def is_sequence(value: Any) -> bool:
    """Returns whether a value is a tuple or a list, without narrowing its type for type checkers."""
    return isinstance(value, tuple | list)


def as_element(value: Any) -> Any:
    """Returns a value as an element: tuples and dictionaries are kept, their values become tensors on the CPU."""
    if value.__class__ is Tensor:
        host = CURRENT.context.host
        return value if value._device is host else copied_to(value, host)
    if is_tuple(value):
        elements = [as_element(item) for item in value]
        fields = getattr(value, "_make", None)
        return tuple(elements) if fields is None else fields(elements)
    if is_mapping(value):
        items: dict[Any, Any] = {key: as_element(item) for key, item in value.items()}
        return items if value.__class__ is dict else _like_mapping(value, items)
    if value is None or is_whole(value):
        return value
    tensor = as_tensor(value)
    if tensor is value:  # a graph's tensor
        if is_silent():
            return tensor
        raise TypeError(
            f"{value!r} has no value before a session runs. Create the dataset from arrays, and feed its elements."
        )
    return as_element(tensor)


def is_whole(value: Any) -> bool:
    """Returns whether a non-tensor is a single value of an element: ragged, sparse, a dataset or an optional."""
    return isinstance(value, RaggedTensor | SparseTensor) or hasattr(value, "_type_spec")


def leaves(element: Any) -> Sequence[Any]:
    """Returns the values of an element; those of a dictionary sorted by key."""
    if element.__class__ is Tensor:
        return (element,)
    if element.__class__ is tuple and all([item.__class__ is Tensor for item in element]):
        return element
    return flatten(element)


def packer(structure: Any) -> Callable[[Sequence[Any]], Any]:
    """Returns a function that packs values like a structure."""
    if structure.__class__ is tuple and all(not isinstance(item, tuple | list | Mapping) for item in structure):
        return tuple
    if not isinstance(structure, tuple | list | Mapping):
        return _alone
    return lambda values: pack_sequence_as(structure, values)


def _alone(values: Sequence[Any]) -> Any:
    return values[0]


def tensor_on_host(array: np.ndarray[Any, Any], dtype: DType) -> Tensor:
    """Returns a tensor on the CPU that shares an array, which must not be changed."""
    tensor = Tensor()
    tensor._array = array
    tensor._dtype = dtype
    tensor._device = host_device()
    tensor._watch = None
    return tensor


def host_array_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Returns the array of a tensor on the CPU, without copying."""
    array: Any = tensor._array
    return array


def join_elements(elements: Sequence[Any]) -> Any:
    """Returns a batch of elements.

    Raises:
      InvalidArgumentError: if their shapes differ.
    """
    first = elements[0]
    if first.__class__ is Tensor:
        return stack_tensors(elements)
    columns = zip(*map(leaves, elements), strict=True)
    return packer(first)([stack_tensors(column) for column in columns])


def stack_tensors(values: Sequence[Any]) -> Any:
    """Returns tensors stacked along a new first axis."""
    first = values[0]
    if isinstance(first, RaggedTensor):
        return on_host(first._gathered, list(values))
    if first.__class__ is not Tensor:
        raise InvalidArgumentError(f"Values of type {type(first).__name__} cannot be batched.")
    array = first._array
    shape = array.shape
    batch = np.empty((len(values), *shape), array.dtype)
    for row, value in enumerate(values):
        if value._array.shape != shape:
            text = "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: "
            raise at_next(
                InvalidArgumentError, f"{text}{_bracket_shape(value._array.shape)}, [batch]: {_bracket_shape(shape)}"
            )
        batch[row, ...] = value._array  # the ellipsis keeps an array of one string from becoming an element itself
    return tensor_on_host(batch, first._dtype)


def _bracket_shape(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def wrap_message(op: str, text: str) -> str:
    """Returns an error text in TensorFlow's wrapping."""
    device_name = CURRENT.context.host.name
    return f"{{{{function_node __wrapped__{op}_device_{device_name}}}}} {text} [Op:{op.partition('_')[0]}] name: "


def at_next(error_class: type[OpError], text: str) -> OpError:
    """Returns the error for an element that cannot be created."""
    return error_class(None, None, wrap_message("IteratorGetNext_output_types_1", text))


_OPS: dict[tuple[str, int], Op] = {}


def announce(op: str, constants: int = 0) -> None:
    """Reports to listeners that a dataset op ran on the CPU.

    Args:
      op: TensorFlow's name of the op.
      constants: number of its inputs that are Python values.
    """
    if not CURRENT.context.watched:
        return
    record = _OPS.get((op, constants)) or _OPS.setdefault((op, constants), _pipeline_op(op, constants))
    inputs = dict.fromkeys(record.attrs)
    scope = SCOPE()
    if scope is None or (scope.request is None and scope.replica is None):
        record(**inputs)
    else:  # an explicit device applies to ops on elements, not to the pipeline itself
        on_host(partial(record, **inputs))


def _pipeline_op(type: str, constants: int) -> Op:
    """Returns an op without a computation, which represents a pipeline step in the log."""
    names = [f"input_{number}" for number in range(constants)]
    return Op(type, _nothing, "->", names, host=dict.fromkeys(names, as_it_is), cpu_only=True, sets={})


def _nothing(xp: Any, **inputs: Any) -> list[Any]:
    return []


def as_it_is(element: Any) -> Any:
    """Returns the element unchanged."""
    return element
