"""Reads and writes files of records, such as examples of a data set; each has its length and checksums.

Source: TensorFlow, `tensorflow/core/lib/io/record_writer.h` and `record_reader.cc`.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, Protocol

from nbtf._storage import files
from nbtf._storage.checksums import masked_checksum
from nbtf._storage.event_files import record
from nbtf._storage.reading import open_bytes
from nbtf._storage.system_errors import check_regular, named
from nbtf.errors import DataLossError, FailedPreconditionError

COMPRESSIONS = ("", "ZLIB", "GZIP")
"""The supported compressions of record files."""

_HEAD = 12
"""Bytes before a record's data: its length and the length's checksum."""

_CHUNK = 1 << 20
_WINDOW_OF_GZIP = 16
"""Added to the window size, this selects the gzip format."""


class RecordWriter:
    """A file of records, which replaces an existing file when it is closed."""

    def __init__(self, path: Any, compression: str, level: int) -> None:
        """Opens a draft of the file.

        Args:
          path: the file; an existing one is replaced when the writer is closed.
          compression: one of `COMPRESSIONS`.
          level: compression level, 0 to 9; -1 for the default.
        """
        self._opened: ExitStack | None = ExitStack()
        self._path = path
        with named(path):
            self._stream: Any = self._opened.enter_context(files.open_draft(path))
        window = zlib.MAX_WBITS + (_WINDOW_OF_GZIP if compression == "GZIP" else 0)
        self._compressor = zlib.compressobj(level, zlib.DEFLATED, window) if compression else None

    def write(self, data: bytes) -> None:
        """Appends a record."""
        if self._opened is None:
            raise FailedPreconditionError("Writer is closed.")
        framed = record(data)
        with named(self._path):
            self._stream.write(framed if self._compressor is None else self._compressor.compress(framed))

    def flush(self) -> None:
        """Passes the records to the system; the file appears under its name when the writer is closed."""
        if self._opened is None:
            raise FailedPreconditionError("Writer is closed.")
        with named(self._path):
            self._stream.flush()

    def close(self) -> None:
        """Moves the file into place; later calls do nothing."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        with named(self._path), opened:
            if self._compressor is not None:
                self._stream.write(self._compressor.flush())


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Inflated:
    """The decompressed content of a zlib or gzip file, read in pieces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._inflate, self._rest = stream, zlib.decompressobj(), b""

    def read(self, size: int, /) -> bytes:
        while len(self._rest) < size:
            raw = self._inflate.unconsumed_tail or self._stream.read(_CHUNK)
            if not raw:
                break
            self._rest += self._inflate.decompress(raw, _CHUNK)
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def read(path: Any, compression: str = "") -> Iterator[bytes]:
    """Yields the records of a file.

    Args:
      path: a regular file.
      compression: one of `COMPRESSIONS`.

    Raises:
      NotFoundError: if the file does not exist.
      FailedPreconditionError: if it is a folder, a device or a pipe.
      DataLossError: if a checksum does not match, or the file ends inside a record.
    """
    check_regular(path)
    with named(path), open_bytes(path) as raw:
        stream: _Readable = raw
        if compression == "GZIP":
            stream = gzip.GzipFile(fileobj=raw)
        elif compression == "ZLIB":
            stream = _Inflated(raw)
        offset = 0
        while (data := _next(stream, offset)) is not None:
            offset += _HEAD + len(data) + 4
            yield data


def _next(stream: _Readable, offset: int) -> bytes | None:
    """Returns the next record; None at the end of the file."""
    try:
        head = stream.read(_HEAD)
        if not head:
            return None
        if len(head) < _HEAD:
            raise DataLossError(f"truncated record at {offset}")
        if head[8:] != masked_checksum(head[:8]):
            hint = " (Is this even a TFRecord file?)" if offset == 0 else ""
            raise DataLossError(f"corrupted record at {offset}{hint}")
        (length,) = struct.unpack("<Q", head[:8])
        data, checksum = _read_bytes(stream, length), stream.read(4)
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise DataLossError(f"corrupted compressed record at {offset}: {error}") from None
    if len(data) < length or len(checksum) < 4:
        raise DataLossError(f"truncated record at {offset}' failed with Read less bytes than requested")
    if checksum != masked_checksum(data):
        raise DataLossError(f"corrupted record at {offset + _HEAD}")
    return data


def _read_bytes(stream: _Readable, length: int) -> bytes:
    """Returns up to `length` bytes, fewer at the end of the file, so that a wrong length allocates no memory."""
    pieces: list[bytes] = []
    while length > 0 and (piece := stream.read(min(length, _CHUNK))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
