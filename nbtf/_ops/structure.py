"""Flattens and rebuilds nested lists, tuples and dictionaries: `tf.nest`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from typing import Any


def is_nested(seq: Any) -> bool:
    """Returns whether a value is nested: a list, a tuple, a dictionary or similar.

    Args:
      seq: any object.

    Returns:
      True for sequences, named tuples, mappings and their views; False for text, tensors, arrays and sets.

    >>> tf.nest.is_nested([1, 2]), tf.nest.is_nested("text"), tf.nest.is_nested(tf.constant([1]))
    (True, False, False)
    """
    return isinstance(seq, Sequence | Mapping | MappingView) and not isinstance(seq, str | bytes | bytearray)


def _is_mapping(structure: Any) -> bool:
    return isinstance(structure, Mapping)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the values in a structure as a flat list.

    Args:
      structure: nested lists, tuples and dictionaries; anything else is one value.
      expand_composites: accepted and ignored; each tensor counts as one value.

    Returns:
      The values in order; for a dictionary, in the order of its sorted keys.

    Raises:
      TypeError: if the keys of a dictionary cannot be sorted.

    >>> tf.nest.flatten([1, (2, {"b": 4, "a": 3})])
    [1, 2, 3, 4]
    """
    leaves: list[Any] = []
    _gather(structure, leaves)
    return leaves


def _gather(structure: Any, leaves: list[Any]) -> None:
    if not is_nested(structure):
        leaves.append(structure)
        return
    for item in _items(structure):
        _gather(item, leaves)


def _items(structure: Any) -> Iterable[Any]:
    if _is_mapping(structure):
        return [structure[key] for key in sorted(structure)]
    return structure


def flatten_with_tuple_paths(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Returns the values in a structure, each with the path of keys and indices that leads to it."""
    if not is_nested(structure):
        return [((), structure)]
    keys: Iterable[Any]
    if _is_mapping(structure):
        keys = sorted(structure)
    else:
        keys = getattr(structure, "_fields", range(len(structure)))
    return [
        ((key, *path), value)
        for key, item in zip(keys, _items(structure), strict=True)
        for path, value in flatten_with_tuple_paths(item)
    ]


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Applies a function to the values of one or several structures of the same form.

    Args:
      func: function that takes one value from each structure.
      *structure: one or more structures of the same form.
      **kwargs: `check_types`: whether lists and tuples count as different, True by default;
        `expand_composites`: accepted and ignored.

    Returns:
      The results, in a structure of the same form as the first.

    Raises:
      TypeError: if `func` is not callable, or the structures' types differ.
      ValueError: if no structure is given, the structures differ in form, or a keyword is unknown.

    >>> tf.nest.map_structure(lambda x, y: x + y, {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]})
    {'a': 11, 'b': [22, 33]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        text = "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
        raise ValueError(text + f"`{'`, `'.join(kwargs)}`")
    for sibling in structure[1:]:
        assert_same_structure(structure[0], sibling, check_types)
    results = [func(*values) for values in zip(*map(flatten, structure), strict=True)]
    return pack_sequence_as(structure[0], results)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns a structure of the same form with other values.

    Args:
      structure: the form of the result; its values are ignored.
      flat_sequence: the values, in the order of `flatten`.
      expand_composites: accepted and ignored.

    Returns:
      A structure of the same form with the values of `flat_sequence`.

    Raises:
      TypeError: if `flat_sequence` is not a sequence.
      ValueError: if `flat_sequence` has too few or too many values.

    >>> tf.nest.pack_sequence_as({"b": 0, "a": [0, 0]}, [1, 2, 3])
    {'b': 3, 'a': [1, 2]}
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence}\n"
            f"into a structure, but found incompatible type `{type(flat_sequence)}` instead."
        )
    values = list(flat_sequence)
    if not is_nested(structure):
        if len(values) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {structure}\n"
                f"However the input is a sequence ({type(flat_sequence)}) of length {len(values)}.\n"
                f"  {flat_sequence}\nnest cannot guarantee that it is safe to map one to the other."
            )
        return values[0]
    expected = len(flatten(structure))
    if expected != len(values):
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} atoms, but flat_sequence had {len(values)} items.  "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(values))


def _packed(structure: Any, values: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(values)
    if _is_mapping(structure):
        members = {key: _packed(structure[key], values) for key in sorted(structure)}
        return _like_mapping(structure, {key: members[key] for key in structure})
    return _like_sequence(structure, [_packed(item, values) for item in structure])


def _like_mapping(structure: Any, items: dict[Any, Any]) -> Any:
    mapping_type: Any = structure.__class__
    if mapping_type is dict:
        return items
    if hasattr(structure, "default_factory"):
        return mapping_type(structure.default_factory, items)
    return mapping_type(items)


def _like_sequence(structure: Any, items: list[Any]) -> Any:
    sequence_type: Any = structure.__class__
    if sequence_type is list:
        return items
    if sequence_type is tuple:
        return tuple(items)
    if hasattr(sequence_type, "_make"):
        return sequence_type._make(items)
    return (
        items if isinstance(structure, range | MappingView) else sequence_type(items)
    )  # these types cannot hold other values


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises an error unless two structures have the same form.

    Args:
      nest1: the first structure.
      nest2: the second structure.
      check_types: whether lists, tuples and named tuples count as different.
      expand_composites: accepted and ignored.

    Raises:
      TypeError: if the types of sequences differ.
      ValueError: if the structures differ in nesting, lengths or keys.

    >>> tf.nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    """
    try:
        _compare(nest1, nest2, check_types)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(nest1)}\n\nSecond structure: {_described(nest2)}\n\n"
            f"More specifically: {error}\n"
            f"Entire first structure:\n{_skeleton(nest1)}\nEntire second structure:\n{_skeleton(nest2)}"
        ) from None


def _compare(a: Any, b: Any, check_types: bool) -> None:
    if is_nested(a) is not is_nested(b):
        deep, flat = (a, b) if is_nested(a) else (b, a)
        text = f'Substructure "{_described(deep)}" is a sequence, while substructure "{_described(flat)}" is not'
        raise ValueError(text)
    if not is_nested(a):
        return
    if check_types and not _same_kind(a, b):
        # TensorFlow's text says namedtuples whatever the types are.
        raise TypeError(
            "The two namedtuples don't have the same sequence type. "
            f"First structure {_described(a)} has type {type(a).__name__}, "
            f"while second structure {_described(b)} has type {type(b).__name__}"
        )
    if _is_mapping(a) and _is_mapping(b) and set(a) != set(b):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_described(list(a))}, while second structure has keys {_described(list(b))}"
        )
    if len(a) != len(b):
        raise ValueError(
            "The two structures don't have the same number of elements. "
            f"First structure: {_described(a)}. Second structure: {_described(b)}"
        )
    for item, partner in zip(_items(a), _items(b), strict=True):
        _compare(item, partner, check_types)


def _same_kind(a: Any, b: Any) -> bool:
    """Returns whether types match: any two dictionaries do, and named tuples of the same name and fields."""
    if _is_mapping(a) and _is_mapping(b):
        return True
    if hasattr(a, "_fields") and hasattr(b, "_fields"):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return type(a) is type(b)


def _described(structure: Any) -> str:
    return f"type={type(structure).__name__} str={structure}"


def _skeleton(structure: Any) -> str:
    """Returns a structure as text, with a dot for every value."""
    if not is_nested(structure):
        return "."
    if _is_mapping(structure):
        return "{" + ", ".join(f"{key!r}: {_skeleton(value)}" for key, value in structure.items()) + "}"
    inner = ", ".join(map(_skeleton, structure))
    if hasattr(structure, "_fields"):
        fields = zip(structure._fields, structure, strict=True)
        return f"{type(structure).__name__}({', '.join(f'{name}={_skeleton(value)}' for name, value in fields)})"
    return f"({inner})" if issubclass(type(structure), tuple) else f"[{inner}]"
