"""Messages as bytes: the wire format of protocol buffers.

Source: Protocol Buffers Documentation, Encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtf._storage.messages.field_types import Bytes, FieldType, Number, Text, Truth, Whole
from nbtf._storage.wire import LENGTH, block, tag, varint

if TYPE_CHECKING:
    from nbtf._storage.messages.fields import Field


_FIXED = {1: "<Q", 5: "<I"}
"""The wire types of integers with a fixed number of bytes, each with its `struct` code."""

_LONGEST_SHIFT = 63
"""Allowed bits in the tenth and last byte of a number."""


class DecodeError(Exception):
    """Raised if bytes are not a message of the expected class."""


def encoded(fields: Iterable[tuple[Field, Any]]) -> bytes:
    """Returns the bytes of fields with their values."""
    return b"".join([_field(field, value) for field, value in fields])


def _field(field: Field, value: Any) -> bytes:
    if field.key is not None:
        entries = [_encode_field(1, field.key, key) + _entry_value(field, item) for key, item in sorted(value.items())]
        return b"".join([block(field.number, entry) for entry in entries])
    if field.of_messages:
        return b"".join(
            [block(field.number, item.SerializeToString()) for item in (value if field.repeated else (value,))]
        )
    if field.repeated and field.value_type.wire != 2:  # numbers are packed
        return block(field.number, b"".join([_value(field.value_type, item) for item in value]))
    return b"".join(
        [_encode_field(field.number, field.value_type, item) for item in (value if field.repeated else (value,))]
    )


def _entry_value(field: Field, value: Any) -> bytes:
    return block(2, value.SerializeToString()) if field.of_messages else _encode_field(2, field.value_type, value)


def _encode_field(number: int, field_type: FieldType, value: Any) -> bytes:
    return tag(number, field_type.wire) + _value(field_type, value)


def _value(field_type: FieldType, value: Any) -> bytes:
    if isinstance(field_type, Text):
        data = value.encode()
        return varint(len(data)) + data
    if isinstance(field_type, Bytes):
        return varint(len(value)) + value
    if isinstance(field_type, Number):
        return struct.pack(field_type.code, value)
    return struct.pack(_FIXED[field_type.wire], value) if field_type.wire in _FIXED else varint(int(value))


def decoded(data: memoryview, fields: Mapping[int, Field], name: str) -> Iterator[tuple[Field, Any]]:
    """Yields the fields in a buffer; unknown fields are skipped.

    Returns:
      Fields with values: a single value, a list of packed numbers, the bytes of a message, or an entry of a map.

    Raises:
      DecodeError: if the bytes end too early or are malformed.
    """
    reader = Reader(data)
    try:
        while reader.at < len(data):
            tag = reader.varint()
            raw = reader.raw(tag & 7)
            field = fields.get(tag >> 3)
            if field is not None and tag & 7 in _wire_types(field):
                yield field, _read(field, raw, tag & 7)
    except (IndexError, ValueError, struct.error):
        raise DecodeError(f"Error parsing message with type '{name}': Wire format was corrupt") from None


def _wire_types(field: Field) -> tuple[int, ...]:
    """Returns the accepted wire types of a field; a field of any other type counts as unknown."""
    if field.key is not None or field.of_messages:
        return (LENGTH,)
    return (field.value_type.wire, LENGTH) if field.repeated else (field.value_type.wire,)


class Reader:
    """A position in a buffer."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        """Returns a number in groups of seven bits.

        Raises:
          IndexError: if the buffer ends inside it.
          ValueError: if it has more than ten bytes.
        """
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
            if shift > _LONGEST_SHIFT:
                raise ValueError("a number of more than ten bytes")

    def raw(self, wire: int) -> Any:
        """Returns a number or bytes."""
        if wire == 0:
            return self.varint()
        count = {1: 8, 5: 4}.get(wire) or (self.varint() if wire == 2 else -1)
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(wire)
        self.at += count
        return self.data[self.at - count : self.at]


def _read(field: Field, raw: Any, wire: int) -> Any:
    if field.key is not None:
        return _entry(field, raw)
    if field.of_messages:
        return bytes(raw)
    if not field.repeated:
        return _scalar(field.value_type, raw)
    if field.value_type.wire == 2 or wire != 2:
        return [_scalar(field.value_type, raw)]
    reader, scalars = Reader(raw), list[Any]()
    while reader.at < len(raw):
        scalars.append(_scalar(field.value_type, reader.raw(field.value_type.wire)))
    return scalars


def _entry(field: Field, raw: Any) -> list[Any]:
    """Returns key and value of a map entry; a value that is a message is returned as bytes."""
    reader, entry = Reader(raw), [field.key.default if field.key else None, b""]
    if not field.of_messages:
        entry[1] = field.value_type.default
    while reader.at < len(raw):
        tag = reader.varint()
        content = reader.raw(tag & 7)
        if tag >> 3 == 1 and field.key is not None and tag & 7 == field.key.wire:
            entry[0] = _scalar(field.key, content)
        elif tag >> 3 == 2 and tag & 7 == (LENGTH if field.of_messages else field.value_type.wire):
            entry[1] = bytes(content) if field.of_messages else _scalar(field.value_type, content)
    return entry


def _scalar(field_type: FieldType, raw: Any) -> Any:
    if isinstance(field_type, Text):
        return bytes(raw).decode()
    if isinstance(field_type, Bytes):
        return bytes(raw)
    if isinstance(field_type, Number):
        return struct.unpack(field_type.code, raw)[0]
    if isinstance(field_type, Truth):
        return bool(raw)
    number: int = struct.unpack(_FIXED[field_type.wire], raw)[0] if field_type.wire in _FIXED else raw
    signed = not isinstance(field_type, Whole) or field_type.signed
    return number - (1 << 64) if signed and number >> 63 else number
