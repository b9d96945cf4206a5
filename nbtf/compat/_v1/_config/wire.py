"""Messages as bytes: the wire format of protocol buffers.

Source: Protocol Buffers Documentation, Encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtf._storage.wire import block, tag, varint
from nbtf.compat._v1._config.field_types import Kind, Number, Text, Truth, Whole

if TYPE_CHECKING:
    from nbtf.compat._v1._config.fields import Field


class DecodeError(Exception):
    """Bytes that are no message of this class."""


def encoded(fields: Iterable[tuple[Field, Any]]) -> bytes:
    """Returns the bytes of fields with their values."""
    return b"".join([_field(field, value) for field, value in fields])


def _field(field: Field, value: Any) -> bytes:
    if field.key is not None:
        entries = [_one(1, field.key, key) + _one(2, field.kind, item) for key, item in value.items()]
        return b"".join([block(field.number, entry) for entry in entries])
    if field.of_messages:
        return b"".join([block(field.number, one.SerializeToString()) for one in (value if field.many else (value,))])
    if field.many and field.kind.wire != 2:  # numbers stand side by side
        return block(field.number, b"".join([_value(field.kind, one) for one in value]))
    return b"".join([_one(field.number, field.kind, one) for one in (value if field.many else (value,))])


def _one(number: int, kind: Kind, value: Any) -> bytes:
    return tag(number, kind.wire) + _value(kind, value)


def _value(kind: Kind, value: Any) -> bytes:
    if isinstance(kind, Text):
        data = value.encode()
        return varint(len(data)) + data
    if isinstance(kind, Number):
        return struct.pack(kind.code, value)
    return struct.pack("<Q", value) if kind.wire == 1 else varint(int(value))


def decoded(data: memoryview, fields: Mapping[int, Field], name: str) -> Iterator[tuple[Field, Any]]:
    """Goes through the fields in some bytes; those that are not known are left out.

    Returns:
      Fields with values: one value, a list of numbers that stand side by side, bytes of a message, an entry of a map.

    Raises:
      DecodeError: the bytes end too early, or are none.
    """
    reader = _Reader(data)
    try:
        while reader.at < len(data):
            tag = reader.varint()
            raw = reader.raw(tag & 7)
            field = fields.get(tag >> 3)
            if field is not None:
                yield field, _read(field, raw, tag & 7)
    except (IndexError, ValueError, struct.error):
        raise DecodeError(f"Error parsing message with type '{name}': Wire format was corrupt") from None


class _Reader:
    """A place in some bytes."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def raw(self, wire: int) -> Any:
        """Returns a number, or bytes."""
        if wire == 0:
            return self.varint()
        count = {1: 8, 5: 4}.get(wire) or (self.varint() if wire == 2 else -1)
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(wire)
        self.at += count
        return self.data[self.at - count : self.at]


def _read(field: Field, raw: Any, wire: int) -> Any:
    if field.key is not None:
        reader, entry = _Reader(raw), [field.key.default, field.kind.default]
        while reader.at < len(raw):
            tag = reader.varint()
            entry[(tag >> 3) - 1] = _scalar((field.key, field.kind)[(tag >> 3) - 1], reader.raw(tag & 7))
        return entry
    if field.of_messages:
        return bytes(raw)
    if not field.many:
        return _scalar(field.kind, raw)
    if field.kind.wire == 2 or wire != 2:
        return [_scalar(field.kind, raw)]
    reader, found = _Reader(raw), list[Any]()
    while reader.at < len(raw):
        found.append(_scalar(field.kind, reader.raw(field.kind.wire)))
    return found


def _scalar(kind: Kind, raw: Any) -> Any:
    if isinstance(kind, Text):
        return bytes(raw).decode()
    if isinstance(kind, Number):
        return struct.unpack(kind.code, raw)[0]
    if isinstance(kind, Truth):
        return bool(raw)
    number: int = struct.unpack("<Q", raw)[0] if kind.wire == 1 else raw
    signed = not isinstance(kind, Whole) or kind.signed
    return number - (1 << 64) if signed and number >> 63 else number
