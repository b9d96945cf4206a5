"""Reads event files independently of the code that writes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Message = dict[int, Any]
"""The fields of a message by number: each is a number or bytes, the last one if a field is repeated."""


def records_in(data: bytes) -> Iterator[bytes]:
    """Yields the records of a file; their checksums must be right."""
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        content = data[12 : 12 + length]
        assert struct.pack("<I", masked(data[:8])) == data[8:12]
        assert struct.pack("<I", masked(content)) == data[12 + length : 16 + length]
        yield content
        data = data[16 + length :]


def masked(data: bytes) -> int:
    """Returns the CRC-32C of some bytes, computed bit by bit, and masked as TensorFlow does."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    checksum = remainder ^ 0xFFFFFFFF
    return ((checksum >> 15) + (checksum << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def fields_in(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the fields of a message with their numbers."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(wire) or varint()
        content = data[at : at + size]
        at += size
        yield tag >> 3, struct.unpack({1: "<d", 5: "<f"}[wire], content)[0] if wire in (1, 5) else content


def events_in(path: Path) -> list[Message]:
    """Returns the messages of a file."""
    return [dict(fields_in(content)) for content in records_in(path.read_bytes())]


def values_in(folder: Path) -> list[tuple[int, str, Any]]:
    """Returns step, name and value of every summary in the only event file of a folder."""
    (path,) = folder.iterdir()
    return values_of(path)


def values_of(path: Path) -> list[tuple[int, str, Any]]:
    """Returns step, name and value of every summary in an event file."""
    return [
        (event.get(2, 0), summary[1].decode(), _value(summary))
        for event in events_in(path)
        for _, content in fields_in(event.get(5, b""))
        for summary in [dict(fields_in(content))]
    ]


def _value(summary: Message) -> Any:
    """Returns numbers unchanged, histograms as their figures, and tensors as lists (scalars as numbers)."""
    if 2 in summary:
        return summary[2]
    if 5 in summary:
        return dict(fields_in(summary[5]))
    fields = list(fields_in(summary[8]))
    if dict(fields)[1] == 7:
        return [text for number, text in fields if number == 8]
    tensor = dict(fields)
    code = {1: "f", 2: "d"}[tensor[1]]
    numbers = [number for (number,) in struct.iter_unpack(f"<{code}", tensor[4])]
    return numbers if tensor[2] else numbers[0]
