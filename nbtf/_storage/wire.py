"""Encodes the parts of a message in the wire format of protocol buffers, as far as nbtf writes it.

Source: Protocol Buffers Documentation, Encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types: the form of the data after a field's number."""

_LARGEST = (1 << 64) - 1


def varint(number: int) -> bytes:
    """Returns an integer in groups of seven bits, lowest first; negative numbers as 64 bits."""
    number &= _LARGEST
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def tag(field: int, wire_type: int) -> bytes:
    """Returns the bytes that precede a field's value."""
    return varint(field << 3 | wire_type)


def block(field: int, content: bytes | str) -> bytes:
    """Returns a field that holds a string, bytes, or a nested message."""
    data = content.encode() if isinstance(content, str) else content
    return tag(field, LENGTH) + varint(len(data)) + data


def whole_number(field: int, number: int) -> bytes:
    """Returns a field that holds an integer."""
    return tag(field, VARINT) + varint(number)


def single(field: int, number: float) -> bytes:
    """Returns a field that holds a 32-bit float."""
    return tag(field, FIXED32) + struct.pack("<f", number)


def double(field: int, number: float) -> bytes:
    """Returns a field that holds a 64-bit float."""
    return tag(field, FIXED64) + struct.pack("<d", number)


def doubles(field: int, numbers: Iterable[float]) -> bytes:
    """Returns a field that holds a list of 64-bit floats."""
    return block(field, b"".join(struct.pack("<d", number) for number in numbers))
