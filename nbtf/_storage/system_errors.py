"""Files read and written with TensorFlow's errors in place of the system's."""

from __future__ import annotations

import contextlib
import errno
import os
import stat as modes
from collections.abc import Callable, Generator
from typing import Any

from nbtf._storage import files
from nbtf._storage.reading import open_bytes, type_of
from nbtf.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
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
        raise _CLASSES.get(number, UnknownError)(f"{text_of(path)}; {os.strerror(number)}") from None


def text_of(path: Any) -> str:
    """Returns a path as a string."""
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
        raise FailedPreconditionError(f"{text_of(path)}; Is a directory")
    if not modes.S_ISREG(mode):
        raise FailedPreconditionError(f"{text_of(path)} is {type_of(mode)}. Expected a regular file.")


def read(path: Any) -> bytes:
    """Returns the content of a regular file; raises TensorFlow's errors."""
    path = text_of(path)
    check_regular(path)
    with named(path), open_bytes(path) as stream:
        return stream.read()


def write(path: Any, content: bytes) -> None:
    """Writes a file in one step, creating its parent folders; raises TensorFlow's errors."""
    path = text_of(path)
    with named(path):
        folder = os.path.dirname(path)
        if folder:
            files.make_folder(folder)
        files.write(path, content)
