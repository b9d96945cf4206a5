"""Files and folders for `tf.io.gfile`: TensorFlow's names and errors on this computer's file system."""

from __future__ import annotations

import contextlib
import errno
import glob as patterns
import os
import shutil
import stat as modes
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from nbtf._storage import files
from nbtf._storage.files import StrPath
from nbtf._storage.reading import open_bytes, type_of
from nbtf.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

_CLASSES: dict[int, Callable[[str], OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.ENOSPC: ResourceExhaustedError,
}
"""TensorFlow's errors by error number. Source: TensorFlow, `tensorflow/core/platform/error.cc`."""


@contextlib.contextmanager
def named(path: Any) -> Generator[None]:
    """Converts system errors in the block to TensorFlow's errors."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        raise _CLASSES.get(number, UnknownError)(f"{_text(path)}; {os.strerror(number)}") from None


def _text(path: Any) -> str:
    return os.fsdecode(path)


def check_regular(path: Any) -> None:
    """Checks that a path leads to a regular file, which has an end.

    Raises:
      NotFoundError: if the file does not exist.
      FailedPreconditionError: if it is a folder, a device or a pipe.
    """
    with named(path):
        mode = os.stat(path).st_mode
    if modes.S_ISDIR(mode):
        raise FailedPreconditionError(f"{_text(path)}; Is a directory")
    if not modes.S_ISREG(mode):
        raise FailedPreconditionError(f"{_text(path)} is {type_of(mode)}. Expected a regular file.")


def read(path: Any) -> bytes:
    """Returns the content of a regular file; raises TensorFlow's errors."""
    path = _text(path)
    check_regular(path)
    with named(path), open_bytes(path) as stream:
        return stream.read()


def write(path: Any, content: bytes) -> None:
    """Writes a file in one step, creating its parent folders; raises TensorFlow's errors."""
    path = _text(path)
    with named(path):
        folder = os.path.dirname(path)
        if folder:
            files.make_folder(folder)
        files.write(path, content)


@dataclass(frozen=True)
class FileStatistics:
    """Length of a file, time of its last change, and whether it is a folder."""

    length: int
    """Length in bytes."""
    mtime_nsec: int
    """Time of the last change, in nanoseconds since 1970."""
    is_directory: bool
    """Whether it is a folder."""


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
        return stat(self._name).length

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


def exists(path: Any) -> bool:
    """Returns whether a file or folder has this path.

    >>> tf.io.gfile.exists(getfixture("tmp_path"))
    True
    """
    return os.path.exists(path)


def isdir(path: Any) -> bool:
    """Returns whether a folder has this path.

    >>> tf.io.gfile.isdir(getfixture("tmp_path"))
    True
    """
    return os.path.isdir(path)


def listdir(path: Any) -> list[str]:
    """Returns the names in a folder.

    Raises:
      NotFoundError: if the folder does not exist.

    >>> tf.io.gfile.listdir(getfixture("tmp_path"))
    []
    """
    if not os.path.isdir(path):
        raise NotFoundError(f"Could not find directory {_text(path)}")
    with named(path):
        return os.listdir(_text(path))


def makedirs(path: Any) -> None:
    """Creates a folder and its parents; an existing folder is kept.

    >>> folder = getfixture("tmp_path") / "a" / "b"
    >>> tf.io.gfile.makedirs(folder)
    >>> folder.is_dir()
    True

    Raises:
      FailedPreconditionError: if a parent is a file.
    """
    above = _text(path)
    while above and not os.path.lexists(above):
        above = os.path.dirname(above)
    if above and not os.path.isdir(above):
        raise FailedPreconditionError(f"{above} is not a directory")
    with named(path):
        files.make_folder(_text(path))


def mkdir(path: Any) -> None:
    """Creates a folder; its parent must exist. An existing folder is kept.

    Raises:
      NotFoundError: if the parent does not exist.

    >>> tf.io.gfile.mkdir(getfixture("tmp_path") / "a")
    """
    with named(path):
        if not os.path.isdir(path):
            os.mkdir(path)


def remove(path: Any) -> None:
    """Deletes a file.

    Raises:
      NotFoundError: if it does not exist.
      FailedPreconditionError: if it is a folder.

    >>> path = getfixture("tmp_path") / "a.txt"
    >>> tf.io.write_file(str(path), "text")
    >>> tf.io.gfile.remove(path)
    """
    with named(path):
        os.remove(path)


def rmtree(path: Any) -> None:
    """Deletes a folder with everything in it, or a file.

    Raises:
      NotFoundError: if it does not exist.

    >>> folder = getfixture("tmp_path") / "a"
    >>> tf.io.gfile.makedirs(folder)
    >>> tf.io.gfile.rmtree(folder)
    """
    if not os.path.lexists(path):
        raise NotFoundError(f"{_text(path)} not found")
    with named(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file.

    Args:
      src: the file.
      dst: the path of the copy.
      overwrite: whether to replace an existing file; False by default.

    Raises:
      AlreadyExistsError: if `dst` exists and `overwrite` is False.
      NotFoundError: if `src` does not exist.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a"), "text")
    >>> tf.io.gfile.copy(folder / "a", folder / "b")
    """
    check_regular(src)
    if os.path.exists(dst) and not overwrite:
        raise AlreadyExistsError("file already exists")
    with named(dst):
        files.copy(src, dst)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Renames or moves a file or folder.

    Args:
      src: the current path.
      dst: the new path.
      overwrite: whether to replace an existing file; False by default.

    Raises:
      AlreadyExistsError: if `dst` exists and `overwrite` is False.
      NotFoundError: if `src` does not exist.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a"), "text")
    >>> tf.io.gfile.rename(folder / "a", folder / "b")
    """
    if os.path.exists(dst) and not overwrite:
        raise AlreadyExistsError("file already exists")
    with named(src):
        os.replace(src, dst)


def glob(pattern: Any) -> list[str]:
    """Returns the paths that match a pattern such as `*.txt`, or any pattern of a list.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a.txt"), "text")
    >>> len(tf.io.gfile.glob(folder / "*.txt"))
    1
    """
    listed: Any = pattern if isinstance(pattern, list | tuple) else [pattern]  # pyright: ignore[reportUnknownVariableType]
    return [path for text in listed for path in matching(_text(text))]


def matching(pattern: str) -> list[str]:
    """Returns the paths that match a pattern, sorted, with the prefix `./` for those in the current folder."""
    paths = sorted(patterns.glob(pattern, include_hidden=True))
    return [path if os.path.dirname(path) or path == pattern else os.path.join(".", path) for path in paths]


def join(path: StrPath, *paths: StrPath) -> str:
    """Returns path parts joined into one path.

    >>> tf.io.gfile.join("a", "b.txt")
    'a/b.txt'
    """
    return os.path.join(*[_text(segment) for segment in (path, *paths)])


def stat(path: Any) -> FileStatistics:
    """Returns length, time of the last change, and whether the path is a folder.

    Raises:
      NotFoundError: if the path does not exist.

    >>> tf.io.gfile.stat(getfixture("tmp_path")).is_directory
    True
    """
    with named(path):
        status = os.stat(path)
    return FileStatistics(status.st_size, status.st_mtime_ns, modes.S_ISDIR(status.st_mode))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Any], None] | None = None
) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Yields each folder at or below `top`: its path, its subfolders and its files.

    Args:
      top: the folder to start with.
      topdown: whether a folder comes before its subfolders; True by default.
      onerror: called with the error of each folder that cannot be listed; by default errors are ignored.

    >>> [files for _, _, files in tf.io.gfile.walk(getfixture("tmp_path"))]
    [[]]
    """
    return os.walk(top, topdown=topdown, onerror=onerror)


def get_registered_schemes() -> list[str]:
    """Returns the supported schemes of paths: files on this computer.

    >>> tf.io.gfile.get_registered_schemes()
    ['file', '']
    """
    return ["file", ""]
