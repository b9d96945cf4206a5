"""Writes small checkpoints in the format of TensorFlow, and damaged ones with valid checksums."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.wire import FIXED32, block, tag, varint, whole_number
from tests.storage.events import masked

MAGIC = 0xDB4775248B80FB57
GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
HEADER = whole_number(1, 1) + block(3, whole_number(1, 1))
NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "object": 7, "int64": 9, "bool": 10}


def checksum(content: bytes) -> bytes:
    """Returns a masked checksum."""
    return struct.pack("<I", masked(content))


def _shared(first: bytes, second: bytes) -> int:
    """Returns the number of bytes with which both begin."""
    both = min(len(first), len(second))
    return next((place for place in range(both) if first[place] != second[place]), both)


def table_block(entries: Iterable[tuple[bytes, bytes]], every: int = 16) -> bytes:
    """Returns a block of a table; `every` so many entries, one stores its whole key."""
    content, starts, last = b"", [0], b""
    for number, (key, value) in enumerate(entries):
        shared = _shared(last, key) if number % every else 0
        if number and not shared and number % every == 0:
            starts.append(len(content))
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return content + b"".join([struct.pack("<I", start) for start in [*starts, len(starts)]])


def table(entries: Iterable[tuple[bytes, bytes]], size: int = 4, compression: int = 0, every: int = 16) -> bytes:
    """Returns a table whose blocks have `size` entries."""
    pairs, content, places = [*entries], b"", list[tuple[bytes, bytes]]()

    def added(block_content: bytes) -> bytes:
        nonlocal content
        place = varint(len(content)) + varint(len(block_content))
        kind = bytes([compression])
        content += block_content + kind + checksum(block_content + kind)
        return place

    for start in range(0, len(pairs), size):
        few = pairs[start : start + size]
        places.append((few[-1][0], added(table_block(few, every))))
    footer = added(table_block([])) + added(table_block(places, 1))
    return content + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def stored(array: np.ndarray[Any, Any]) -> tuple[bytes, bytes]:
    """Returns the bytes of an array in a shard, and its checksum."""
    if array.dtype.kind != "O":
        return array.tobytes(), checksum(array.tobytes())
    texts: list[bytes] = array.ravel().tolist()
    covered = b"".join([struct.pack("<I", len(text)) for text in texts])
    rest = checksum(covered) + b"".join(texts)
    return b"".join([varint(len(text)) for text in texts]) + rest, checksum(covered + rest)


def entry(array: np.ndarray[Any, Any], offset: int, **changed: Any) -> bytes:
    """Returns the entry of an array in the index, with changed fields."""
    content, check = stored(array)
    fields: dict[str, Any] = {"dtype": NUMBERS[array.dtype.name], "shape": array.shape, "shard": 0, "offset": offset}
    fields |= {"size": len(content), "checksum": check, **changed}
    shape = b"".join([block(2, whole_number(1, length)) for length in fields["shape"]])
    numbers = whole_number(3, fields["shard"]) + whole_number(4, fields["offset"]) + whole_number(5, fields["size"])
    return whole_number(1, fields["dtype"]) + block(2, shape) + numbers + tag(6, FIXED32) + fields["checksum"]


def graph(nodes: Iterable[tuple[Mapping[str, int], str | None]]) -> bytes:
    """Returns an object graph: the parts of each object, and the key of its value."""
    return b"".join(
        [
            block(
                1,
                b"".join([block(1, whole_number(1, number) + block(2, name)) for name, number in parts.items()])
                + (b"" if key is None else block(2, block(1, "VARIABLE_VALUE") + block(2, "v") + block(3, key))),
            )
            for parts, key in nodes
        ]
    )


def entries_of(arrays: Mapping[str, Any]) -> tuple[dict[bytes, bytes], bytes]:
    """Returns the entries of an index, and the content of the one shard."""
    entries, content = {b"": HEADER}, b""
    for name in sorted(arrays):
        array = np.array(arrays[name], object if isinstance(arrays[name], bytes) else None)
        entries[name.encode()] = entry(array, len(content))
        content += stored(array)[0]
    return entries, content


def write(prefix: Path, index: bytes, content: bytes) -> str:
    """Writes the two files of a checkpoint, and returns its prefix."""
    Path(f"{prefix}.index").write_bytes(index)
    Path(f"{prefix}.data-00000-of-00001").write_bytes(content)
    return str(prefix)
