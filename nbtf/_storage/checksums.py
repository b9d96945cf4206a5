"""CRC-32C checksums, as files of TensorFlow store them."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np

_CASTAGNOLI = 0x82F63B78
"""The polynomial of CRC-32C, its bits reversed. Source: RFC 3720, appendix B.4."""

_MASK_DELTA = 0xA282EAD8
"""The constant added to a checksum. Source: TensorFlow, `tensorflow/core/lib/hash/crc32c.h`."""

_LEAST = 1 << 10
"""Bytes from which rows are faster than a loop."""

_WIDTH_BITS = 6
_WIDTH = 1 << _WIDTH_BITS
"""Bytes in a row."""

_CHUNK = 1 << 22
"""Bytes that are copied at once."""

_DISTANCES = (6293, 6677, 6777)
"""How many words of eight bytes further on a word may be added instead, at all three places: the checksum is the same.

Modulo the polynomial, x to the power of 64 * 6777 is the sum of its powers of 64 * 484, 64 * 100 and 0.
"""

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_Numbers = np.ndarray[Any, np.dtype[np.uint32]]


def masked_checksum(data: bytes | memoryview) -> bytes:
    """Returns the masked checksum of data, as records store it."""
    checksum = crc32c(data)
    rotated = (checksum >> 15 | checksum << 17) & 0xFFFFFFFF
    return struct.pack("<I", (rotated + _MASK_DELTA) & 0xFFFFFFFF)


def crc32c(data: bytes | memoryview) -> int:
    """Returns the CRC-32C of data.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    remainder, view = 0xFFFFFFFF, memoryview(data)
    for start in range(0, len(view), _CHUNK):
        piece = view[start : start + _CHUNK]
        if len(piece) < _LEAST:
            remainder = _after_bytes(piece, remainder)
        else:
            content = np.frombuffer(piece, np.uint8).copy()
            content[:4] ^= np.frombuffer(struct.pack("<I", remainder), np.uint8)
            remainder = _after_rows(_shortened(content))
    return remainder ^ 0xFFFFFFFF


def _after_bytes(piece: memoryview, remainder: int) -> int:
    table = _of_each_byte()
    for byte in piece:
        remainder = table[(remainder ^ byte) & 0xFF] ^ remainder >> 8
    return remainder


def _shortened(content: _Bytes) -> _Bytes:
    """Returns the end of changed content, which has the remainder of all: the words before it were added further on."""
    words = content[: len(content) & ~7].view(np.uint64)
    count = max(0, len(words) - _DISTANCES[-1])
    for start in range(0, count, _DISTANCES[0]):
        moved = words[start : min(start + _DISTANCES[0], count)]
        for distance in _DISTANCES:
            words[start + distance :][: len(moved)] ^= moved
    return content[8 * count :]


def _after_rows(content: _Bytes) -> int:
    """Returns the remainder of many bytes: those of all rows are computed at once, then joined in pairs.

    Zeros before the data leave a remainder of 0 as it is, so they fill up the first row.
    """
    rows = 1 << ((len(content) - 1) >> _WIDTH_BITS).bit_length()
    padded = np.zeros(rows * _WIDTH, np.uint8)
    padded[len(padded) - len(content) :] = content
    table, remainders = _of_two_bytes(), np.zeros(rows, np.uint32)
    for column in np.ascontiguousarray(padded.view("<u2").reshape(rows, -1).T):
        remainders = np.bitwise_xor(table[(remainders ^ column) & 0xFFFF], remainders >> 16)
    bits = _WIDTH_BITS
    while len(remainders) > 1:
        remainders = _after_zeros(remainders[::2], bits) ^ remainders[1::2]
        bits += 1
    return int(remainders[0])


def _divided(numbers: _Numbers, bits: int) -> _Numbers:
    """Returns the remainders after a number of zero bits."""
    for _ in range(bits):
        numbers = (numbers >> 1 ^ (numbers & 1) * np.uint32(_CASTAGNOLI)).astype(np.uint32)
    return numbers


@cache
def _of_each_byte() -> list[int]:
    return _divided(np.arange(1 << 8, dtype=np.uint32), 8).tolist()


@cache
def _of_two_bytes() -> _Numbers:
    return _divided(np.arange(1 << 16, dtype=np.uint32), 16)


def _after_zeros(remainders: _Numbers, bits: int) -> _Numbers:
    """Returns the remainders after 2 to the power of `bits` zero bytes."""
    first, second, third, fourth = _of_zeros(bits)
    return (
        first[remainders & 0xFF]
        ^ second[remainders >> 8 & 0xFF]
        ^ third[remainders >> 16 & 0xFF]
        ^ fourth[remainders >> 24]
    )


@cache
def _of_zeros(bits: int) -> _Numbers:
    """Returns the remainders of each byte at each of four places after 2 to the power of `bits` zero bytes."""
    each = np.arange(1 << 8, dtype=np.uint32) << 8 * np.arange(4, dtype=np.uint32)[:, None]
    if bits:
        return _after_zeros(_of_zeros(bits - 1), bits - 1)
    return _divided(each, 8)
