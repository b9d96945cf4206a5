"""How do the parts of a message become bytes? The wire format of protocol buffers, as far as it is written here.

Source: Protocol Buffers Documentation, Encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types: what follows a field's number."""

_LARGEST = (1 << 64) - 1


def varint(number: int) -> bytes:
    """Returns a whole number in groups of seven bits, the lowest first; a negative number as one of 64 bits."""
    number &= _LARGEST
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def tag(field: int, wire_type: int) -> bytes:
    """Returns what stands before a field's value."""
    return varint(field << 3 | wire_type)


def block(field: int, content: bytes | str) -> bytes:
    """Returns a field that is a text, bytes, or another message."""
    data = content.encode() if isinstance(content, str) else content
    return tag(field, LENGTH) + varint(len(data)) + data


def whole_number(field: int, number: int) -> bytes:
    """Returns a field that is a whole number."""
    return tag(field, VARINT) + varint(number)


def single(field: int, number: float) -> bytes:
    """Returns a field that is a number of 32 bits."""
    return tag(field, FIXED32) + struct.pack("<f", number)


def double(field: int, number: float) -> bytes:
    """Returns a field that is a number of 64 bits."""
    return tag(field, FIXED64) + struct.pack("<d", number)


def doubles(field: int, numbers: Iterable[float]) -> bytes:
    """Returns a field that is a list of numbers of 64 bits."""
    return block(field, b"".join(struct.pack("<d", number) for number in numbers))
