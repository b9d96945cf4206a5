"""Writes the tensors of a checkpoint, in the format of TensorFlow: see `tensor_bundle`.

The index is replaced last and in one step, so a checkpoint always has either its old or its new values. The tensors of
a replaced checkpoint are written beside the earlier ones, under the name of one of several files: the index says that
it needs only that one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from itertools import accumulate, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbtf._storage import drafts, files
from nbtf._storage.checksums import masked_checksum
from nbtf._storage.limits import ARRAYS, AXES, INDEX_BYTES, NAME_BYTES, TEXT_BYTES, UnsavableError, saving
from nbtf._storage.reading import read_bytes
from nbtf._storage.sorted_tables import as_table
from nbtf._storage.tensor_bundle import PIECES, files_of, index_of, length_bytes, shard_of
from nbtf._storage.tensor_messages import little_endian, number_of
from nbtf._storage.wire import FIXED32, block, tag, varint, whole_number

_HEADER_VERSION = block(3, whole_number(1, 1))
"""The field of an index's header for the version of the format: 1."""


class _Stored(NamedTuple):
    """A tensor as it is stored: its bytes with their checksum, and the first fields of its entry in the index."""

    content: bytes | memoryview
    checksum: bytes
    fields: bytes

    def entry(self, offset: int) -> bytes:
        """Returns the entry of a tensor whose bytes begin at `offset`."""
        byte_range = whole_number(4, offset) + whole_number(5, len(self.content))
        return self.fields + byte_range + tag(6, FIXED32) + self.checksum


def write_bundle(prefix: str | os.PathLike[str], values: Mapping[str, Any]) -> None:
    """Writes a checkpoint; an earlier one of the same name is replaced in one step, or stays after an error.

    Args:
      prefix: the path of the checkpoint, without `.index`.
      values: numbers, strings, and arrays of these, by name.

    Raises:
      UnsavableError: if a name or a value cannot be stored, or a limit for reading is exceeded.
      OSError: if a file cannot be written.
    """
    index = index_of(prefix)
    with saving(index):
        ARRAYS.check(len(values))
        tensors = [(_encoded_name(name), _stored(name, value)) for name, value in sorted(values.items())]
        offsets = accumulate([len(tensor.content) for _, tensor in tensors], initial=0)
        entries = {name: tensor.entry(offset) for (name, tensor), offset in zip(tensors, offsets, strict=False)}
    files.make_folder(index.parent)
    with drafts.alone_in(index.parent):
        earlier = [file for file in files_of(prefix) if file != index]
        existing = earlier if index.exists() else []
        number = next(number for number in count(1) if shard_of(prefix, 0, number) not in existing)
        shard = shard_of(prefix, 0, number)
        with saving(index):
            table = as_table({b"": whole_number(1, number) + _HEADER_VERSION} | entries)
            INDEX_BYTES.check(len(table))
        try:
            with files.open_draft(shard) as stream:
                for _, tensor in tensors:
                    stream.write(tensor.content)
            files.write(index, table)
        except BaseException:
            _remove_unused(shard, index, table)
            raise
        for file in earlier:
            if file != shard:
                with contextlib.suppress(OSError):
                    os.unlink(file)


def _remove_unused(shard: Path, index: Path, table: bytes) -> None:
    """Removes the tensors of a failed save, unless the index has been replaced already."""
    with contextlib.suppress(OSError):
        if not index.exists() or read_bytes(index) != table:
            os.unlink(shard)


def _encoded_name(name: str) -> bytes:
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise UnsavableError(f"the name {name!r:.200} has a character that UTF-8 cannot write.") from None
    NAME_BYTES.check(len(encoded))
    if not encoded or encoded.startswith(PIECES):
        raise UnsavableError(f"the name {name!r:.200} is empty or starts with a NUL character.", "Choose another one.")
    return encoded


def _stored(name: str, value: Any) -> _Stored:
    array = np.asarray(value, object if isinstance(value, bytes | str) else None)
    number = number_of(array.dtype)
    AXES.check(array.ndim)
    if number is None:
        raise UnsavableError(f"the value {name!r:.200} has the type {array.dtype}, which checkpoints cannot store.")
    if array.dtype.kind == "O":
        content, checksum = _strings(name, array)
    else:
        little = np.ascontiguousarray(array).astype(little_endian(array.dtype), copy=False)
        content = little.reshape(-1).view(np.uint8).data if array.size else b""
        checksum = masked_checksum(content)
    shape = b"".join([block(2, whole_number(1, length)) for length in array.shape])
    return _Stored(content, checksum, whole_number(1, number) + block(2, shape))


def _strings(name: str, array: np.ndarray[Any, Any]) -> tuple[bytes, bytes]:
    """Returns the bytes of an array of strings, and the checksum."""
    strings: list[Any] = [text.encode() if isinstance(text, str) else text for text in array.ravel().tolist()]
    for string in strings:
        if not isinstance(string, bytes):
            raise UnsavableError(f"the value {name!r:.200} has {string!r:.60}, which is neither a number nor text.")
        TEXT_BYTES.check(len(string))
    lengths = [len(string) for string in strings]
    covered = length_bytes(lengths)
    following = b"".join([masked_checksum(covered), *strings])
    return b"".join([varint(length) for length in lengths]) + following, masked_checksum(covered + following)
