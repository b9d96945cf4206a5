"""`tf.io.gfile.GFile`: a file that is opened on first use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from nbtf._storage.reading import open_bytes
from nbtf._storage.system_errors import check_regular, named
from nbtf.errors import InvalidArgumentError, OpError, OutOfRangeError, PermissionDeniedError


class GFile:
    """A file that is opened on first read or write.

    Written content can be read after `flush`. In mode `w`, the first write empties an existing file; to replace a file
    in one step, use `tf.io.write_file`.

    Args:
      name: path of the file.
      mode: `r`, `w`, `a`, `r+`, `w+` or `a+`; with `b`, `read` returns bytes.

    Raises:
      InvalidArgumentError: if `mode` is any other string.

    >>> with tf.io.gfile.GFile(getfixture("tmp_path") / "a.txt", "w") as file:
    ...     file.write("one")
    >>> tf.io.gfile.GFile(file.name).read()
    'one'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        path: Any = os.fspath(name)  # pyright: ignore[reportUnknownVariableType]
        self._name: Any = path
        self._mode = mode
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._is_binary = "b" in mode
        self._reads = "r" in mode or "+" in mode
        self._writes = "r" not in mode or "+" in mode
        self._reader: Any = None
        self._writer: Any = None

    @property
    def name(self) -> Any:
        """Path of the file."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode in which the file was opened."""
        return self._mode

    def _open_reader(self) -> Any:
        if self._reader is None:
            if not self._reads:
                raise PermissionDeniedError("File isn't open for reading")
            check_regular(self._name)
            with named(self._name):
                self._reader = open_bytes(self._name)
        return self._reader

    def _open_writer(self) -> Any:
        if self._writer is None:
            if not self._writes:
                raise PermissionDeniedError("File isn't open for writing")
            with named(self._name):
                self._writer = open(self._name, "wb" if "w" in self._mode else "ab")
        return self._writer

    def _as_read(self, data: bytes) -> Any:
        return data if self._is_binary else data.decode()

    def size(self) -> int:
        """Returns the number of bytes in the file."""
        with named(self._name):
            return os.stat(self._name).st_size

    def write(self, file_content: Any) -> None:
        """Appends a string or bytes.

        Raises:
          TypeError: if `file_content` is neither.
          PermissionDeniedError: if the mode does not allow writing.
        """
        if not isinstance(file_content, str | bytes):
            raise TypeError(f"Expected binary or unicode string, got {file_content!r}")
        writer = self._open_writer()
        with named(self._name):
            writer.write(file_content.encode() if isinstance(file_content, str) else file_content)

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes or ASCII characters; all remaining ones by default."""
        reader = self._open_reader()
        with named(self._name):
            return self._as_read(reader.read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to another position.

        Args:
          offset: distance in bytes.
          whence: reference point: 0 for the beginning, 1 for the current position, 2 for the end.
          position: the older name of `offset`.

        Raises:
          InvalidArgumentError: if the position is before the beginning, or `whence` is not 0, 1 or 2.
          OutOfRangeError: if the position is after the end.
        """
        reader = self._open_reader()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        starts: dict[int, int] = {0: 0, 1: reader.tell(), 2: self.size()}
        if whence not in starts:
            raise InvalidArgumentError(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        target = starts[whence] + ((position if offset is None else offset) or 0)
        if target < 0:
            raise InvalidArgumentError(f"Seeking to a negative position: {target}")
        if target > self.size():
            raise OutOfRangeError("reached end of file")
        reader.seek(target)

    def readline(self) -> Any:
        """Returns the next line with its line ending; an empty value at the end of the file."""
        return self._as_read(self._open_reader().readline())

    def readlines(self) -> list[Any]:
        """Returns all remaining lines."""
        return [self._as_read(line) for line in self._open_reader().readlines()]

    def tell(self) -> int:
        """Returns the position in bytes."""
        return self._open_reader().tell() if self._reads else self._open_writer().tell()

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def __iter__(self) -> Iterator[Any]:
        """Yields the remaining lines."""
        return self

    def __next__(self) -> Any:
        """Returns the next line."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """Returns the next line."""
        return self.__next__()

    def flush(self) -> None:
        """Passes written content to the system."""
        if self._writer is not None:
            with named(self._name):
                self._writer.flush()

    def close(self) -> None:
        """Closes the file; reading or writing opens it again."""
        streams = self._reader, self._writer
        self._reader = self._writer = None
        with named(self._name):
            for stream in streams:
                if stream is not None:
                    stream.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the file."""
        self.close()

    def __del__(self) -> None:
        """Closes the file."""
        with contextlib.suppress(OpError, AttributeError):
            self.close()
