"""Reads the tensors of a checkpoint, in the format of TensorFlow.

    ckpt-1.index                  a table: dtype, shape, offset and checksum of each tensor by name
    ckpt-1.data-00000-of-00001    the bytes of the tensors; TensorFlow may write several such files

Source: TensorFlow, `tensorflow/core/protobuf/tensor_bundle.proto` and `core/util/tensor_bundle/tensor_bundle.cc`.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np

from nbtf._storage.checksums import masked_checksum
from nbtf._storage.limits import ARRAYS, AXES, INDEX_BYTES
from nbtf._storage.messages.encoding import Reader
from nbtf._storage.messages.field_types import BYTES, FIXED32, INT32, INT64
from nbtf._storage.messages.message import Fields, Message
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing
from nbtf._storage.sorted_tables import parse_table
from nbtf._storage.tensor_messages import TensorShape, dtype_of, is_known, little_endian

_LONG = 1 << 32
"""Length from which a string's checksum covers eight bytes of its length, not four."""

PIECES = b"\0"
"""First byte of the names under which the pieces of a partitioned variable are stored."""


class _Header(Message):
    FIELDS: ClassVar[Fields] = {"num_shards": (1, INT32), "endianness": (2, INT32)}


class _Entry(Message):
    FIELDS: ClassVar[Fields] = {
        "dtype": (1, INT32),
        "shape": (2, TensorShape),
        "shard_id": (3, INT32),
        "offset": (4, INT64),
        "size": (5, INT64),
        "crc32c": (6, FIXED32),
        "slices": (7, [BYTES]),
    }


def length_bytes(lengths: Iterable[int]) -> bytes:
    """Returns the lengths of strings in the form that checksums cover."""
    return b"".join([struct.pack("<I" if length < _LONG else "<Q", length) for length in lengths])


class StoredTensor(NamedTuple):
    """The entry of a tensor in the index.

    Attributes:
      shape: the lengths of its axes.
      number: its dtype's number in `types.proto`.
      shard: the number of the file with its bytes.
      offset: where its bytes begin.
      nbytes: how many there are.
      checksum: their masked checksum.
      is_partitioned: whether it is stored in pieces instead.
    """

    shape: tuple[int, ...]
    number: int
    shard: int
    offset: int
    nbytes: int
    checksum: bytes
    is_partitioned: bool

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """NumPy's dtype; None if nbtf has none."""
        try:
            return dtype_of(self.number)
        except ValueError:
            return None


def index_of(prefix: str | os.PathLike[str]) -> Path:
    """Returns the index file of a checkpoint."""
    return Path(os.fspath(prefix) + ".index")


def files_of(prefix: str | os.PathLike[str]) -> list[Path]:
    """Returns the existing files of a checkpoint."""
    index = index_of(prefix)
    shards = index.parent.glob(f"{_as_pattern(index.stem)}.data-[0-9]*-of-[0-9]*")
    return [file for file in (index, *shards) if file.is_file()]


def _as_pattern(name: str) -> str:
    return "".join([f"[{character}]" if character in "*?[" else character for character in name])


def shard_of(prefix: str | os.PathLike[str], number: int, count: int) -> Path:
    """Returns one of the files with a checkpoint's tensors."""
    return Path(f"{os.fspath(prefix)}.data-{number:05d}-of-{count:05d}")


class TensorBundle:
    """A checkpoint. The index is read immediately, each tensor when it is requested.

    Args:
      prefix: the path of the checkpoint, without `.index`.

    Raises:
      FileNotFoundError: if it has no index.
      RefusedFileError: if the index is damaged, or has too many bytes.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        """Reads the index."""
        self._prefix, self._index = os.fspath(prefix), index_of(prefix)
        with open_bytes(self._index) as file, _refusing(self._index):
            size = os.fstat(file.fileno()).st_size
            INDEX_BYTES.check(size)
            table = parse_table(file.read(size))
            self._shards = _shard_count(table.pop(b"", None))
            ARRAYS.check(len(table))
            self.tensors: dict[str, StoredTensor] = {
                name.decode(): self._stored(name, message)
                for name, message in table.items()
                if not name.startswith(PIECES)
            }

    def _stored(self, name: bytes, message: bytes) -> StoredTensor:
        entry = _Entry.FromString(message)
        shape = tuple([dim.size for dim in entry.shape.dim])
        AXES.check(len(shape))
        if min(shape, default=0) < 0 or entry.shape.unknown_rank:
            raise ValueError(f"the shape {list(shape)} of {name!r:.200} is not fully known")
        if not 0 <= entry.shard_id < self._shards:
            raise ValueError(f"{name!r:.200} is in file {entry.shard_id}, but there are {self._shards} files")
        if entry.offset < 0 or entry.size < 0:
            raise ValueError(f"{name!r:.200} has {entry.size} bytes at {entry.offset}; expected positive numbers")
        checksum = struct.pack("<I", entry.crc32c)
        is_partitioned = bool(entry.slices)
        return StoredTensor(shape, entry.dtype, entry.shard_id, entry.offset, entry.size, checksum, is_partitioned)

    def read_all(self) -> dict[str, np.ndarray[Any, Any]]:
        """Returns all tensors by name, except those of dtypes that nbtf lacks.

        If a writer replaces the checkpoint meanwhile, the new one is returned.

        Raises:
          RefusedFileError: if a file is damaged or missing, or a tensor is stored in pieces or needs another package.
        """
        chosen = {name: tensor for name, tensor in self.tensors.items() if is_known(tensor.number)}
        self._check_total(chosen.values())
        try:
            return {name: self.read(name) for name in chosen}
        except RefusedFileError:
            current = TensorBundle(self._prefix)
            if (current._shards, current.tensors) == (self._shards, self.tensors):
                raise
            return current.read_all()

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Returns a tensor; strings as objects.

        Raises:
          KeyError: if there is none of this name.
          RefusedFileError: if a file is damaged or missing, or the tensor is stored in pieces or has another dtype.
        """
        tensor, path = self.tensors[name], shard_of(self._prefix, self.tensors[name].shard, self._shards)
        if tensor.is_partitioned:
            raise RefusedFileError(
                f"{self._index} stores {name!r:.200} in pieces, because it was a partitioned variable; expected whole "
                "variables. Save it without a partitioner."
            )
        with refusing(self._index, f"has a value {name!r:.200} that nbtf cannot read"):
            dtype = dtype_of(tensor.number)
        try:
            with open_bytes(path) as file, _refusing(path):
                return _read_strings(file, name, tensor) if dtype.kind == "O" else _read_numbers(file, name, tensor)
        except FileNotFoundError:
            raise RefusedFileError(
                f"{path} is missing, but {self._index} needs it. Copy it to the same folder."
            ) from None

    def _check_total(self, tensors: Iterable[StoredTensor]) -> None:
        """Checks that tensors do not share bytes: a small file could otherwise fill the memory."""
        ranges = sorted((tensor.shard, tensor.offset, tensor.nbytes) for tensor in tensors if tensor.nbytes)
        with _refusing(self._index):
            for (shard, offset, nbytes), (next_shard, next_offset, _) in pairwise(ranges):
                if shard == next_shard and offset + nbytes > next_offset:
                    raise ValueError(f"two tensors share the bytes at {next_offset:,} of file {shard}")


@contextmanager
def _refusing(path: Path) -> Generator[None]:
    with refusing(path, "is damaged, or is not a file of a TensorFlow checkpoint; copy or save it again"):
        yield


def _shard_count(message: bytes | None) -> int:
    if message is None:
        raise ValueError("it has no header with the number of files")
    header = _Header.FromString(message)
    if header.endianness:
        raise ValueError("its numbers start with the high byte; expected those of a little-endian machine")
    if header.num_shards < 1:
        raise ValueError(f"it declares {header.num_shards} files of tensors; expected at least one")
    return header.num_shards


def _check_range(file: BinaryIO, name: str, tensor: StoredTensor) -> None:
    size = os.fstat(file.fileno()).st_size
    if tensor.offset + tensor.nbytes > size:
        raise ValueError(f"it has {size:,} bytes, but {name!r:.200} ends at {tensor.offset + tensor.nbytes:,}")
    file.seek(tensor.offset)


def _read_numbers(file: Any, name: str, tensor: StoredTensor) -> np.ndarray[Any, Any]:
    dtype = dtype_of(tensor.number)
    if math.prod(tensor.shape) * dtype.itemsize != tensor.nbytes:
        raise ValueError(f"the {tensor.nbytes:,} bytes of {name!r:.200} do not fit its shape {list(tensor.shape)}")
    _check_range(file, name, tensor)
    raw = np.empty(tensor.nbytes, np.uint8)
    if file.readinto(raw.data) != tensor.nbytes:
        raise ValueError(f"it ends inside {name!r:.200}")
    _check_checksum(raw.data, name, tensor)
    if dtype.kind == "b" and raw.size and raw.max() > 1:
        raise ValueError(f"{name!r:.200} has a truth value that is neither 0 nor 1")
    return raw.view(little_endian(dtype)).reshape(tensor.shape).astype(dtype, copy=False)


def _read_strings(file: BinaryIO, name: str, tensor: StoredTensor) -> np.ndarray[Any, Any]:
    count = math.prod(tensor.shape)
    if count > tensor.nbytes:
        raise ValueError(f"the {tensor.nbytes:,} bytes of {name!r:.200} cannot hold {count:,} strings")
    _check_range(file, name, tensor)
    content = file.read(tensor.nbytes)
    reader = Reader(memoryview(content))
    lengths = [reader.varint() for _ in range(count)]
    checksum, start = content[reader.at : reader.at + 4], reader.at + 4
    covered = length_bytes(lengths)
    if sum(lengths) != len(content) - start:
        raise ValueError(
            f"the strings of {name!r:.200} have {sum(lengths):,} bytes, but {len(content) - start:,} exist"
        )
    if checksum != masked_checksum(covered):
        raise ValueError(f"the checksum of the string lengths of {name!r:.200} does not match them")
    _check_checksum(covered + content[reader.at :], name, tensor)
    strings = np.empty(count, object)
    for number, length in enumerate(lengths):
        strings[number] = content[start : start + length]
        start += length
    return strings.reshape(tensor.shape)


def _check_checksum(content: bytes | memoryview, name: str, tensor: StoredTensor) -> None:
    if masked_checksum(content) != tensor.checksum:
        raise ValueError(f"the checksum of {name!r:.200} does not match its bytes")
