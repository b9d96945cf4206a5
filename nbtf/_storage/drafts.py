"""Which drafts has nobody finished? A writer locks its draft; what a dead writer left is swept away."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

_NAME = re.compile(r"\.[0-9a-f]{16}\.nbtf-draft")
_ABANDONED_SECONDS = 3600
"""Where nothing can be locked, a draft that nobody has touched for so long counts as left behind."""

_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
"""What file systems answer that have no way to write through (some of networks and of FUSE)."""


def new_name() -> str:
    """Returns the name of a draft: hidden, and nobody else's."""
    return f".{os.urandom(8).hex()}.nbtf-draft"


def _remove_tree(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def claim(descriptor: int, path: str) -> bool:
    """Locks a draft that was just made; False if a sweep took it for an abandoned one before."""
    return _lock(descriptor) is not False and os.path.exists(path)


@contextlib.contextmanager
def seize(path: str) -> Generator[bool]:
    """Locks a draft, or a folder that was begun, and tells whether nobody writes it any more."""
    locked = None
    descriptor = None
    try:
        if fcntl is not None:
            descriptor = os.open(path, os.O_RDONLY)
            locked = _lock(descriptor)
        yield time.time() - os.stat(path).st_mtime > _ABANDONED_SECONDS if locked is None else locked
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def make_folder(
    parent: str, new_name: Callable[[], str] = new_name, remove: Callable[[str], None] = _remove_tree
) -> Generator[str]:
    """Makes a folder that is locked as long as it is written.

    Args:
      parent: where.
      new_name: gives it a name that nothing has.
      remove: takes it away when the block ends with an error.
    """
    while True:
        path = os.path.join(parent, new_name())
        descriptor = None
        try:
            os.mkdir(path)
            if os.name != "nt":  # Windows opens no folders
                with contextlib.suppress(FileNotFoundError):  # it was swept
                    descriptor = os.open(path, os.O_RDONLY)
                if descriptor is None or not claim(descriptor, path):
                    continue
            yield path
        except BaseException:
            remove(path)
            raise
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return


@lru_cache
def sweep(folder: str) -> None:
    """Removes the drafts that killed writers left in a folder; once in a process, since each leaves at most a few."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir()
            if _NAME.fullmatch(entry.name) and not entry.is_symlink() and (is_folder or entry.is_file()):
                with contextlib.suppress(OSError), seize(entry.path) as abandoned:
                    if abandoned:
                        _remove_tree(entry.path) if is_folder else os.unlink(entry.path)


def sync_folder(folder: str) -> None:
    """Has the names in a folder on the disk when it returns, where the system has a way to ask for that."""
    if os.name == "nt":  # Windows opens no folders; its file systems keep a journal of names
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it may be written into, but not read
        return
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Has a file or folder on the disk when it returns; on macOS with the drive, which may not have written it yet."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def wait_for(descriptor: int) -> None:
    """Waits until no other writer has an open file locked, and locks it until it is closed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def _lock(descriptor: int) -> bool | None:
    """Locks an open file until it is closed, and tells whether it could; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
