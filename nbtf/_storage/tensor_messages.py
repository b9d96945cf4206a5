"""Conversion between arrays and the bytes of a `TensorProto`.

Source: TensorFlow, `tensorflow/core/framework/tensor.proto`, `tensor_shape.proto` and `types.proto`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nbtf._bfloat16 import advice, scalar_class
from nbtf._storage.messages.field_types import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, Whole
from nbtf._storage.messages.message import Fields, Message
from nbtf._storage.wire import block, whole_number

_UINT32, _UINT64 = Whole("uint32", 32, signed=False), Whole("uint64", 64, signed=False)


class _Dim(Message):
    FIELDS: ClassVar[Fields] = {"size": (1, INT64), "name": (2, STRING)}


class TensorShape(Message):
    """The lengths of a tensor's axes."""

    FIELDS: ClassVar[Fields] = {"dim": (2, [_Dim]), "unknown_rank": (3, BOOL)}


class _Tensor(Message):
    FIELDS: ClassVar[Fields] = {
        "dtype": (1, INT32),
        "tensor_shape": (2, TensorShape),
        "version_number": (3, INT32),
        "tensor_content": (4, BYTES),
        "float_val": (5, [FLOAT]),
        "double_val": (6, [DOUBLE]),
        "int_val": (7, [INT32]),
        "string_val": (8, [BYTES]),
        "scomplex_val": (9, [FLOAT]),
        "int64_val": (10, [INT64]),
        "bool_val": (11, [BOOL]),
        "dcomplex_val": (12, [DOUBLE]),
        "half_val": (13, [INT32]),
        "uint32_val": (16, [_UINT32]),
        "uint64_val": (17, [_UINT64]),
    }


class _Format(NamedTuple):
    """How the elements of a dtype are encoded in a message."""

    name: str
    """NumPy's name."""
    values: str
    """The field for values that are written one by one."""


_STRING, _BFLOAT16 = 7, 14
_FORMATS = {
    1: _Format("float32", "float_val"),
    2: _Format("float64", "double_val"),
    3: _Format("int32", "int_val"),
    4: _Format("uint8", "int_val"),
    5: _Format("int16", "int_val"),
    6: _Format("int8", "int_val"),
    8: _Format("complex64", "scomplex_val"),
    9: _Format("int64", "int64_val"),
    10: _Format("bool", "bool_val"),
    _BFLOAT16: _Format("bfloat16", "half_val"),
    17: _Format("uint16", "int_val"),
    18: _Format("complex128", "dcomplex_val"),
    19: _Format("float16", "half_val"),
    22: _Format("uint32", "uint32_val"),
    23: _Format("uint64", "uint64_val"),
}
_NUMBERS = {name: number for number, (name, _) in _FORMATS.items()}


def is_known(number: int) -> bool:
    """Returns whether nbtf has a dtype with a number in `types.proto`, maybe only with another package."""
    return number == _STRING or number in _FORMATS


def dtype_of(number: int) -> np.dtype[Any]:
    """Returns NumPy's dtype of a number in `types.proto`; objects for strings.

    Raises:
      ValueError: if nbtf has no such dtype.
    """
    if number == _STRING:
        return np.dtype(object)
    if number not in _FORMATS:
        raise ValueError(f"{number} is not the number of any dtype")
    scalar = scalar_class(_FORMATS[number].name) if number == _BFLOAT16 else _FORMATS[number].name
    if scalar is None:
        raise ValueError(f"it has bfloat16 numbers: {advice()}")
    return np.dtype(scalar)


def number_of(dtype: np.dtype[Any]) -> int | None:
    """Returns the number of NumPy's dtype in `types.proto`; None if it has none. Objects are strings."""
    return _STRING if dtype.kind == "O" else _NUMBERS.get(dtype.name)


def little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns a dtype with the low byte first, as messages and checkpoints store its numbers."""
    return dtype.newbyteorder("<") if dtype.kind in "fiuc" else dtype


def encoded(array: np.ndarray[Any, Any]) -> bytes:
    """Returns the message of an array; elements are one block of bytes, strings are separate values."""
    shape = b"".join([block(2, whole_number(1, length)) for length in array.shape])
    number = _STRING if array.dtype.kind == "O" else _NUMBERS[array.dtype.name]
    head = whole_number(1, number) + block(2, shape)
    if number == _STRING:
        return head + b"".join([block(8, text) for text in array.ravel().tolist()])
    ordered = np.ascontiguousarray(array)
    little = ordered.astype(little_endian(ordered.dtype), copy=False)
    return head + (block(4, little.tobytes()) if array.size else b"")


def decoded(data: bytes) -> tuple[int, np.ndarray[Any, Any]]:
    """Returns the dtype number and the array of a message.

    Raises:
      DecodeError: if the bytes are not a message.
      ValueError: if the message does not describe an array.
    """
    message = _Tensor.FromString(data)
    shape = tuple([dim.size for dim in message.tensor_shape.dim])
    count = math.prod(shape)
    if min(shape, default=0) < 0 or message.tensor_shape.unknown_rank:
        raise ValueError(f"the shape {list(shape)} is not fully known")
    if message.dtype == _STRING:
        return _STRING, _filled(np.array([*message.string_val, b""], object)[:-1], count, b"").reshape(shape)
    dtype, values = dtype_of(message.dtype), _FORMATS[message.dtype].values
    content = message.tensor_content
    if content:
        if len(content) != count * dtype.itemsize:
            raise ValueError(f"{len(content)} bytes do not fit the shape {list(shape)} of {dtype.name}")
        return message.dtype, np.frombuffer(content, dtype).reshape(shape).copy()
    return message.dtype, _filled(_of_values([*getattr(message, values)], dtype), count, 0).reshape(shape)


def _of_values(values: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns an array of values that were written one by one."""
    if dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16"):
        return np.array(values, "uint16").view(dtype)
    if dtype.kind == "c":
        return np.array(values[::2], dtype) + np.array(values[1::2], dtype) * 1j
    return np.array(values).astype(dtype)


def _filled(values: np.ndarray[Any, Any], count: int, empty: Any) -> np.ndarray[Any, Any]:
    """Returns `count` values; missing ones are copies of the last one."""
    if len(values) > count:
        raise ValueError(f"{len(values)} values do not fit into {count} elements")
    last = values[-1] if len(values) else empty
    result = np.empty(count, values.dtype)
    result[: len(values)], result[len(values) :] = values, last
    return result
