"""Drafts of files: a writer locks its draft, and a later writer removes those that dead writers left."""

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
"""On file systems without locks, a draft that has not been modified for this long counts as abandoned."""

_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
"""Error numbers of file systems that cannot sync to disk (some network and FUSE ones)."""


def new_name() -> str:
    """Returns a unique, hidden name for a draft."""
    return f".{os.urandom(8).hex()}.nbtf-draft"


def _remove_tree(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def claim(descriptor: int, path: str) -> bool:
    """Locks a newly created draft; returns False if a sweep has already removed it as abandoned."""
    return _lock(descriptor) is not False and os.path.exists(path)


@contextlib.contextmanager
def seize(path: str) -> Generator[bool]:
    """Locks a draft or an unfinished folder, and yields whether no other process is writing it."""
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
    """Creates a folder that stays locked while it is written.

    Args:
      parent: the folder that contains it.
      new_name: returns an unused name.
      remove: deletes the folder if the block raises an error.
    """
    while True:
        path = os.path.join(parent, new_name())
        descriptor = None
        try:
            os.mkdir(path)
            if os.name != "nt":  # Windows cannot open folders
                with contextlib.suppress(FileNotFoundError):  # a sweep may have removed the folder
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
    """Removes the drafts that killed writers left in a folder, once per process because each leaves only a few."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir()
            if _NAME.fullmatch(entry.name) and not entry.is_symlink() and (is_folder or entry.is_file()):
                with contextlib.suppress(OSError), seize(entry.path) as abandoned:
                    if abandoned:
                        _remove_tree(entry.path) if is_folder else os.unlink(entry.path)


def sync_folder(folder: str) -> None:
    """Syncs a folder's names to disk, if the system supports it."""
    if os.name == "nt":  # Windows cannot open folders; its file systems keep a journal of names
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # the folder may be writable but not readable
        return
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Syncs a file or folder to disk. On macOS the drive may still hold the data in its cache."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def wait_for(descriptor: int) -> None:
    """Waits until no other writer has locked an open file, and locks it until it is closed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def alone_in(folder: str | os.PathLike[str]) -> Generator[None]:
    """Waits until no other writer is in a block for this folder, if the system can lock folders."""
    if fcntl is None:
        yield
        return
    descriptor = None
    try:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for a fork, which has a copy of the descriptor
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Locks an open file until it is closed; returns whether it succeeded, or None if locks are not supported."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
