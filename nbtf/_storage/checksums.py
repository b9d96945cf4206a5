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

_LEAST = 1 << 14
"""Bytes from which rows are faster than a loop."""

_WIDTH_BITS = 10
_WIDTH = 1 << _WIDTH_BITS
"""Bytes in a row."""

_CHUNK = 4096 * _WIDTH
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
        remainder = _after_bytes(piece, remainder) if len(piece) < _LEAST else _after_rows(piece, remainder)
    return remainder ^ 0xFFFFFFFF


def _after_bytes(piece: memoryview, remainder: int) -> int:
    table = _of_each_byte()
    for byte in piece:
        remainder = table[(remainder ^ byte) & 0xFF] ^ remainder >> 8
    return remainder


def _after_rows(piece: memoryview, remainder: int) -> int:
    """Returns the remainder after many bytes: those of all rows are computed at once, then joined in pairs.

    Zeros before the data leave a remainder of 0 as it is, so they fill up the first row.
    """
    rows = 1 << ((len(piece) - 1) >> _WIDTH_BITS).bit_length()
    padded = np.zeros(rows * _WIDTH, np.uint8)
    content = padded[len(padded) - len(piece) :]
    content[:] = np.frombuffer(piece, np.uint8)
    content[:4] ^= np.frombuffer(struct.pack("<I", remainder), np.uint8)
    table, remainders = _of_two_bytes(), np.zeros(rows, np.uint32)
    for column in np.ascontiguousarray(padded.view("<u2").reshape(rows, -1).T):
        remainders = np.bitwise_xor(table[(remainders ^ column) & 0xFFFF], remainders >> 16)
    zeros = _after_zeros()
    while len(remainders) > 1:
        remainders = _applied(zeros, remainders[::2]) ^ remainders[1::2]
        zeros = _applied(zeros, zeros)
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


@cache
def _after_zeros() -> _Numbers:
    """Returns what a row of zeros makes of each bit of a remainder."""
    matrix: _Numbers = _divided((1 << np.arange(32, dtype=np.int64)).astype(np.uint32), 8)
    for _ in range(_WIDTH_BITS):
        matrix = _applied(matrix, matrix)
    return matrix


def _applied(matrix: _Numbers, numbers: _Numbers) -> _Numbers:
    """Returns the product of a matrix of bits with numbers, modulo 2."""
    product = np.zeros_like(numbers)
    for bit, image in enumerate(matrix):
        product ^= (numbers >> bit & 1) * image
    return product
