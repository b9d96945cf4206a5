"""Reads and writes tables of sorted keys with their values, the format of a TensorFlow checkpoint's index.

A table is a row of blocks and a footer. The footer has the handle (offset and size) of the block of blocks, whose
values are the handles of the others. In a block, a key stores only its difference from the start of the key before it.

Source: LevelDB, `doc/table_format.md`, and TensorFlow, `tensorflow/core/lib/io/format.cc` and `block.cc`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from nbtf._storage.checksums import masked_checksum
from nbtf._storage.limits import ARRAYS, NAME_BYTES, SWELLING
from nbtf._storage.messages.encoding import Reader
from nbtf._storage.wire import varint

_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_FOOTER = 48
"""Bytes of the footer: two handles, zeros, and the magic number."""

_TRAILER = 5
"""Bytes after a block: the number of its compression, and a checksum."""

_BLOCK_ENTRIES = 4096
"""Entries that nbtf writes into a block."""

_RESTART = 16
"""Entries of a block from one whole key to the next."""

_COMPRESSIONS = {1: "snappy", 2: "zstd"}
_ALLOWANCE = 2**20
"""Bytes that the keys of even a small table may have."""


def parse_table(content: bytes) -> dict[bytes, bytes]:
    """Returns the values of a table by key.

    Raises:
      ValueError: if the table is damaged, compressed, or its keys are too long.
      IndexError: if a number is cut off.
    """
    if content[-len(_MAGIC) :] != _MAGIC or len(content) < _FOOTER:
        raise ValueError("it does not end like a table of keys; expected a whole file that ends with its magic number")
    footer = Reader(memoryview(content)[-_FOOTER:])
    for_filters, for_blocks = _handle(footer), _handle(footer)
    if any(footer.data[footer.at : -len(_MAGIC)]):
        raise ValueError("its footer has bytes other than zeros after the two handles")
    _block(content, *for_filters)
    table: dict[bytes, bytes] = {}
    last, end, nbytes = None, 0, 0
    for _, handle in _entries(_block(content, *for_blocks)):
        offset, size = _handle(Reader(memoryview(handle)))
        if offset < end:
            raise ValueError(f"its block at {offset:,} begins before the end of the one before it, {end:,}")
        end = offset + size
        for key, value in _entries(_block(content, offset, size)):
            if last is not None and key <= last:
                raise ValueError(f"its key {key!r:.200} comes after {last!r:.200}, but keys are unique and sorted")
            last, table[key] = key, value
            ARRAYS.check(len(table) - 1)  # one entry is a header
            nbytes += len(key)
            if nbytes > SWELLING.maximum * len(content) + _ALLOWANCE:
                raise ValueError(f"its {len(content):,} bytes expand to keys of more than {nbytes:,} bytes")
    return table


def _handle(reader: Reader) -> tuple[int, int]:
    """Returns the offset and the size of a block."""
    return reader.varint(), reader.varint()


def _block(content: bytes, offset: int, size: int) -> memoryview:
    """Returns the bytes of a block, after checking its checksum."""
    end = offset + size
    if end + _TRAILER > len(content) - _FOOTER:
        raise ValueError(f"a block of {size:,} bytes at {offset:,} reaches beyond its {len(content):,} bytes")
    view = memoryview(content)
    if content[end + 1 : end + _TRAILER] != masked_checksum(view[offset : end + 1]):
        raise ValueError(f"the checksum of its block at {offset:,} does not match its bytes")
    if content[end]:
        name = _COMPRESSIONS.get(content[end], f"method {content[end]}")
        raise ValueError(f"its block at {offset:,} is compressed with {name}; expected one that is not compressed")
    return view[offset:end]


def _entries(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a block; the points where a search can start come last, and their number."""
    starts = struct.unpack("<I", block[-4:])[0] if len(block) >= 4 else -1
    if not 0 <= starts <= len(block) // 4 - 1:
        raise ValueError(f"a block of {len(block):,} bytes has no room for its {starts:,} restart points")
    reader = Reader(block[: len(block) - 4 * (starts + 1)])
    key = b""
    while reader.at < len(reader.data):
        shared, added, size = reader.varint(), reader.varint(), reader.varint()
        if shared > len(key) or reader.at + added + size > len(reader.data):
            raise ValueError("a key or a value reaches beyond its block")
        NAME_BYTES.check(shared + added)
        middle = reader.at + added
        key = key[:shared] + bytes(reader.data[reader.at : middle])
        reader.at = middle + size
        yield key, bytes(reader.data[middle : reader.at])


def as_table(table: Mapping[bytes, bytes]) -> bytes:
    """Returns the table of keys and values that `parse_table` reads."""
    content, handles = bytearray(), list[tuple[bytes, bytes]]()
    ordered = sorted(table.items())
    for start in range(0, len(ordered), _BLOCK_ENTRIES):
        entries = ordered[start : start + _BLOCK_ENTRIES]
        handles.append((entries[-1][0], _append_block(content, entries)))
    footer = _append_block(content, []) + _append_block(content, handles)
    return bytes(content + footer.ljust(_FOOTER - len(_MAGIC), b"\0") + _MAGIC)


def _append_block(content: bytearray, entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Appends a block of sorted entries, and returns its handle."""
    offset, starts, last = len(content), list[int](), b""
    for number, (key, value) in enumerate(entries):
        if number % _RESTART == 0:
            starts.append(len(content) - offset)
            last = b""
        shortest = min(len(last), len(key))
        shared = next((at for at in range(shortest) if last[at] != key[at]), shortest)
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    starts = starts or [0]
    content += struct.pack(f"<{len(starts) + 1}I", *starts, len(starts))
    size = len(content) - offset
    content += b"\0"  # not compressed
    content += masked_checksum(bytes(content[offset:]))
    return varint(offset) + varint(size)
