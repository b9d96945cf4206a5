"""How are attributes of ops sent to another process? As plain data: no code is sent, none is run."""

from __future__ import annotations

import json
from base64 import b85decode, b85encode
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from nbtf._shapes import TensorShape
from nbtf._types import DType, as_dtype

_HOME = "nbtf."
"""Classes of attributes are looked up by name only in this package."""


def text_of(attrs: Any) -> str:
    """Returns attributes as text.

    Raises:
      TypeError: if an attribute is not plain data, such as a function, a file or a stream.

    >>> value_of(text_of({"axis": (0, 1), "dtype": tf.float32, "rate": float("inf")}))
    {'axis': (0, 1), 'dtype': tf.float32, 'rate': inf}
    """
    return json.dumps(_tagged(attrs), separators=(",", ":"))


def value_of(text: str) -> Any:
    """Returns the attributes that `text_of` wrote."""
    return _untagged(json.loads(text))


def _tagged(value: Any) -> Any:
    """Returns JSON values unchanged, and others as an object with one key that names their type."""
    value_class: Any = value.__class__
    if value is None or value_class in (bool, int, float, str):
        return value
    if value_class is list:
        return [_tagged(element) for element in value]
    if value_class in _WRITERS:
        return _WRITERS[value_class](value)
    if issubclass(value_class, np.ndarray | np.generic) and value.dtype != object:
        is_scalar = not issubclass(value_class, np.ndarray)
        return {"array": [str(value.dtype), list(value.shape), b85encode(value.tobytes()).decode(), is_scalar]}
    if issubclass(value_class, np.dtype):
        return {"dtype": str(value)}
    if value_class.__module__.startswith(_HOME) and _is_attribute(value_class):
        fields = value.value if issubclass(value_class, Enum) else list(value)
        return {"own": [value_class.__module__, value_class.__qualname__, _tagged(fields)]}
    raise TypeError(f"{value_class.__module__}.{value_class.__qualname__} is not plain data")


def _untagged(data: Any) -> Any:
    if data.__class__ is list:
        return [_untagged(element) for element in data]
    if data.__class__ is dict:
        ((tag, content),) = data.items()
        return _READERS[tag](content)
    return data


def _array(content: Any) -> Any:
    dtype, shape, text, is_scalar = content
    array = np.frombuffer(b85decode(text), dtype).reshape(shape)
    return array[()] if is_scalar else array


def _attribute_of(content: Any) -> Any:
    module, name, fields = content
    value_class: Any = getattr(import_module(module), name) if module.startswith(_HOME) else None
    if not _is_class(value_class) or not _is_attribute(value_class):
        raise ValueError(f"{module}.{name} is not a class whose objects can be attributes")
    value: Any = _untagged(fields)
    make: Any = value_class
    return make(*value) if issubclass(value_class, tuple) else make(value)


def _is_class(value: object) -> bool:
    return isinstance(value, type)


def _is_attribute(value_class: Any) -> bool:
    """Returns whether a class is an enumeration or a named tuple."""
    return issubclass(value_class, Enum) or getattr(value_class, "_fields", None) is not None


_WRITERS: dict[type[Any], Callable[[Any], Any]] = {
    tuple: lambda value: {"tuple": [_tagged(element) for element in value]},
    dict: lambda value: {"dict": [[_tagged(key), _tagged(element)] for key, element in value.items()]},
    DType: lambda value: {"DType": value.name},
    bytes: lambda value: {"bytes": b85encode(value).decode()},
    complex: lambda value: {"complex": [value.real, value.imag]},
    TensorShape: lambda value: {"TensorShape": None if value.rank is None else value.as_list()},
    slice: lambda value: {"slice": [_tagged(value.start), _tagged(value.stop), _tagged(value.step)]},
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda content: tuple(map(_untagged, content)),
    "dict": lambda content: {_untagged(key): _untagged(element) for key, element in content},
    "DType": as_dtype,
    "TensorShape": TensorShape,
    "bytes": b85decode,
    "complex": lambda content: complex(*content),
    "slice": lambda content: slice(*map(_untagged, content)),
    "array": _array,
    "dtype": np.dtype,
    "own": _attribute_of,
}
