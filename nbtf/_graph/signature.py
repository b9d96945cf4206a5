"""Distinguishes the calls of a function by structure, dtypes and shapes of tensors, and Python values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast
from weakref import ref

from nbtf._devices.cpu import CPU
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.tensor_array import TensorArray
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import DType


class TensorType(NamedTuple):
    """A tensor, or an array that becomes one."""

    dtype: DType
    lengths: tuple[int | None, ...] | None


class VariableType(NamedTuple):
    """A variable; `number` identifies it among the call's variables, since the same one may occur twice."""

    dtype: DType
    lengths: tuple[int | None, ...] | None
    trainable: bool
    number: int


class ValueType(NamedTuple):
    """A Python value, compared by equality."""

    value: Any


class ObjectType(NamedTuple):
    """An object, which a signature does not keep alive."""

    reference: Any


class Identity:
    """An object compared by identity, regardless of its `==`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """Stores the object."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Returns whether both refer to the same object."""
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        """Hashes by identity."""
        return id(self.value)


class StructureType(NamedTuple):
    """A list, a tuple, a dictionary, or a tensor made of several."""

    build: Any
    """The class of the structure."""
    keys: tuple[Any, ...]
    """The keys of a dictionary; for a composite, its attributes that are not tensors."""
    items: tuple[Any, ...]


ArgumentType = TensorType | VariableType | ValueType | ObjectType | StructureType


def type_of(value: Any, leaves: list[Any]) -> ArgumentType:  # one case after the other
    """Returns the type of an argument, and adds the tensors and variables in it to `leaves`.

    Raises:
      TypeError: if the argument is not hashable and therefore cannot be compared; the text is TensorFlow's.
    """
    value_class = value.__class__
    if value_class is Tensor:
        leaves.append(value)
        return TensorType(value._dtype, value._array.shape)
    if value_class is GraphTensor:
        leaves.append(value)
        return TensorType(value._dtype, value._shape._dims)
    if isinstance(value, Variable):
        numbers = [number for number, leaf in enumerate(leaves) if leaf is value]
        number = numbers[0] if numbers else len(leaves)
        leaves.append(value)
        return VariableType(value._dtype, value.shape._dims, bool(value._trainable), number)
    if isinstance(value, CPU.xp.ndarray | CPU.xp.generic):
        tensor = as_tensor(value)
        return type_of(tensor, leaves)
    components = parts_of(value)
    if components is not None:
        build, keys, items = components
        return _with_open_rows(StructureType(build, keys, tuple([type_of(item, leaves) for item in items])))
    if hasattr(value, "__tf_variable__"):
        return ValueType(Identity(value))
    return _plain_type(value)


def _with_open_rows(structure: StructureType) -> StructureType:
    """Returns the type of a ragged or sparse tensor with an unspecified number of values."""
    if not hasattr(structure.build, "flat_values") and not hasattr(structure.build, "dense_shape"):
        return structure
    *inner, last = structure.items
    return structure._replace(items=(*[_with_open_length(component) for component in inner], last))


def _with_open_length(component: ArgumentType) -> ArgumentType:
    if isinstance(component, TensorType) and component.lengths:
        return component._replace(lengths=(None, *component.lengths[1:]))
    if isinstance(component, StructureType):
        return component._replace(items=tuple([_with_open_length(inner) for inner in component.items]))
    return component


def _plain_type(value: Any) -> ArgumentType:
    try:
        reference = ref(value)
    except TypeError:
        reference = None
    try:
        hash(value if reference is None else reference)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}.Please verify that it is immutable/hashable. "
            "Otherwise, consider implementing the Tracing Protocol for it."
        ) from None
    return ValueType(value) if reference is None else ObjectType(reference)


def parts_of(value: Any) -> tuple[Any, tuple[Any, ...], Sequence[Any]] | None:
    """Returns class, keys and items of a structure; None for other values."""
    value_class: Any = value.__class__
    if isinstance(value, list | tuple):
        items: Any = value  # pyright: ignore[reportUnknownVariableType]
        return value_class, (), items
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        keys = tuple(_sorted(entries))
        return value_class, keys, [entries[key] for key in keys]
    if hasattr(value_class, "_taken_apart"):
        spec, components = value._taken_apart()
        return value_class, (spec,), components
    if hasattr(value, "flat_values"):
        return value_class, (value.uniform_row_length,), (value.values, value.row_splits)
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        is_rows = isinstance(value, IndexedSlices)
        components = (value.values, value.indices) if is_rows else (value.indices, value.values)
        return value_class, (), (*components, value.dense_shape)
    if isinstance(value, TensorArray):
        return value_class, value._traits, (value._as_flow(),)
    if hasattr(value_class, "_values") and hasattr(value, "values") and not hasattr(value, "assign"):
        return value_class, (), value._values  # a value per replica of a strategy
    return None


def _sorted(entries: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(entries)
    except TypeError:
        return list(entries)


def tensors_taken(value: Any, tensors: list[Any]) -> Callable[[Iterator[Any]], Any]:
    """Adds the tensors in a structure to `tensors`; returns a function that replaces them, in the same order."""
    if value.__class__ is Tensor or value.__class__ is GraphTensor:
        tensors.append(value)
        return next
    components = parts_of(value)
    if components is None:
        return lambda iterator: value
    build, keys, items = components
    takers = [tensors_taken(item, tensors) for item in items]
    return lambda iterator: packed(build, keys, [take(iterator) for take in takers])


def packed(build: Any, keys: tuple[Any, ...], items: Sequence[Any]) -> Any:
    """Returns the structure that `parts_of` took apart."""
    if hasattr(build, "_fields"):
        return build(*items)
    if issubclass(build, tuple | list):
        return cast("Any", build)(items)
    if issubclass(build, Mapping):
        pairs = dict(zip(keys, items, strict=True))
        if issubclass(build, defaultdict):
            return cast("Any", build)(None, pairs)
        return pairs if build is dict else cast("Any", build)(pairs)
    if hasattr(build, "_taken_apart"):
        return keys[0]._put_together(items)
    if hasattr(build, "flat_values"):
        return build(*items, *keys)
    if issubclass(build, TensorArray):
        return build._of_traits(*keys, *items)
    return build(*items) if hasattr(build, "dense_shape") else build(items)


def rebuilt(argument: ArgumentType, leaves: Iterator[Any]) -> Any:
    """Returns an argument of a type, with other values for its tensors and variables."""
    if isinstance(argument, TensorType | VariableType):
        return next(leaves)
    if isinstance(argument, StructureType):
        items = [rebuilt(component, leaves) for component in argument.items]
        return packed(argument.build, argument.keys, items)
    if isinstance(argument, ObjectType):
        return argument.reference()
    return argument.value.value if isinstance(argument.value, Identity) else argument.value


def are_alike(first: Any, second: Any) -> bool:
    """Returns whether two structures are built alike from the same objects."""
    components, second_components = parts_of(first), parts_of(second)
    if components is None or second_components is None:
        return first is second
    if components[:2] != second_components[:2] or len(components[2]) != len(second_components[2]):
        return False
    return all([are_alike(a, b) for a, b in zip(components[2], second_components[2], strict=True)])


def leaf_types(argument: ArgumentType, name: str) -> list[tuple[str, TensorType | VariableType]]:
    """Returns the names and types of the tensors and variables in an argument."""
    if isinstance(argument, TensorType | VariableType):
        return [(name, argument)]
    if isinstance(argument, StructureType):
        keys: Sequence[Any] = argument.keys if issubclass(argument.build, Mapping) else range(len(argument.items))
        leaves = [leaf_types(component, f"{name}_{key}") for key, component in zip(keys, argument.items, strict=True)]
        return list(chain.from_iterable(leaves))
    return []


def accepts(general: ArgumentType, argument: ArgumentType) -> bool:
    """Returns whether a function traced for one type can be called with another."""
    return generalized(general, argument) == general


def generalized(first: ArgumentType, second: ArgumentType) -> ArgumentType | None:
    """Returns a type that accepts both types; None if there is none."""
    if isinstance(first, TensorType) and isinstance(second, TensorType):
        return first._replace(lengths=_common(first.lengths, second.lengths)) if first.dtype is second.dtype else None
    if isinstance(first, VariableType) and isinstance(second, VariableType):
        is_wider = first._replace(lengths=None) == second._replace(lengths=None) and (
            first.lengths == _common(first.lengths, second.lengths)
        )
        return first if is_wider else None
    if isinstance(first, StructureType) and isinstance(second, StructureType):
        if (first.build, first.keys, len(first.items)) != (second.build, second.keys, len(second.items)):
            return None
        components = [generalized(a, b) for a, b in zip(first.items, second.items, strict=True)]
        return None if None in components else first._replace(items=tuple(components))
    return first if first == second else None


def _common(
    first: tuple[int | None, ...] | None, second: tuple[int | None, ...] | None
) -> tuple[int | None, ...] | None:
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple([a if a == b else None for a, b in zip(first, second, strict=True)])


def check_values(value: Any, argument: ArgumentType) -> None:
    """Checks that the Python values in an argument are those of a type.

    Raises:
      TypeError: if they differ; the text is TensorFlow's.
    """
    if isinstance(argument, StructureType):
        components = parts_of(value)
        if components is None or len(components[2]) != len(argument.items):
            raise TypeError(f"Can not cast {value!r} to {type_text(argument)}")
        for item, component in zip(components[2], argument.items, strict=True):
            check_values(item, component)
    elif isinstance(argument, ValueType | ObjectType) and type_of(value, []) != argument:
        raise TypeError(f"Can not cast {value!r} to {type_text(argument)}")


def type_text(argument: ArgumentType) -> str:
    """Returns a type as TensorFlow writes it."""
    if isinstance(argument, TensorType):
        return str(TensorSpec(TensorShape(argument.lengths), argument.dtype))
    if isinstance(argument, VariableType):
        shape = TensorShape(argument.lengths)
        return (
            f"VariableSpec(shape={shape}, dtype={argument.dtype!r}, trainable={argument.trainable}, "
            f"alias_id={argument.number})"
        )
    if isinstance(argument, StructureType):
        components = [type_text(component) for component in argument.items]
        if issubclass(argument.build, Mapping):
            entries = ", ".join([f"{key!r}: {text}" for key, text in zip(argument.keys, components, strict=True)])
            return f"Dict[{{{entries}}}]"
        if hasattr(argument.build, "_taken_apart"):
            return repr(argument.keys[0])
        return f"{argument.build.__name__.capitalize()}[{', '.join(components)}]"
    if isinstance(argument, ValueType):
        return f"Literal[{argument.value!r}]"
    return f"WeakrefType[{argument.reference!r}]"
