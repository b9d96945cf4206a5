"""Atomic file writes: after a full disk or a kill, a file has either its old or its new content.

The content is written to a draft beside the file. The draft is renamed to the file once it is completely on disk.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
from collections.abc import Callable, Generator
from typing import IO, Any

from nbtf._storage import drafts
from nbtf._storage.reading import open_bytes

StrPath = str | os.PathLike[str]


def write(path: StrPath, content: bytes | str) -> None:
    """Writes a file; an existing one is replaced in one step, or stays unchanged after an error.

    Args:
      path: the file. A link is followed; the mode of an existing file is kept.
      content: bytes, or a string, which is written as UTF-8.

    Raises:
      OSError: if it cannot be written.
    """
    encoded = content.encode() if isinstance(content, str) else content
    with open_draft(path) as stream:
        stream.write(encoded)


def create(path: StrPath, content: bytes) -> None:
    """Creates a file that does not exist yet.

    Raises:
      FileExistsError: if it exists; it stays unchanged.
      OSError: if it cannot be written.
    """
    with open_draft(path, exclusive=True) as stream:
        stream.write(content)


@contextlib.contextmanager
def open_draft(path: StrPath, exclusive: bool = False) -> Generator[IO[bytes]]:
    """Opens a draft of a file, which replaces the file when the block ends without an error.

    A device or a pipe has no content to lose and is written directly.

    Args:
      path: the file. A link is followed; an existing file's mode and, if permitted, its owner are kept.
      exclusive: whether an existing file is an error.

    Raises:
      FileExistsError: if the file exists and `exclusive` is true.
      OSError: if it cannot be written.
    """
    status = _status(path)
    if exclusive and status is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        with open(path, "wb") as stream:
            yield stream
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    drafts.sweep(folder)
    draft, raw = "", None
    try:
        while raw is None:
            draft = os.path.join(folder, drafts.new_name())
            raw = _Draft(draft, status)
            if not drafts.claim(raw.fileno(), draft):
                raw.close()
                raw = None
        if status is not None:
            _take_over(raw, status)
        stream = io.BufferedWriter(raw)
        yield stream
        stream.flush()
        drafts.sync(raw.fileno())
        _publish(raw, draft, target, exclusive)
    except BaseException as error:
        name_file(error, path, draft)
        if raw is not None:
            raw.close()
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    raw.close()  # not earlier: without its lock, a draft may be removed as abandoned
    drafts.sync_folder(folder)


def append(path: StrPath, content: bytes | str) -> None:
    """Appends bytes or a string to a file, creating it if necessary; a full disk leaves the file as it was.

    This uses no draft, so concurrent appends are kept, and a long log is not copied for each line.

    Raises:
      OSError: if it cannot be written.
    """
    encoded = content.encode() if isinstance(content, str) else content
    with io.FileIO(os.fspath(path), "ab", opener=_opener(0o666)) as file:
        drafts.wait_for(file.fileno())
        length = os.fstat(file.fileno()).st_size
        try:
            write_all(file.fileno(), encoded)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(file.fileno(), length)
            raise


def copy(source: StrPath, target: StrPath) -> None:
    """Copies a file's content to another file in one step.

    Raises:
      OSError: if the source cannot be read, or the target cannot be written.
    """
    with open_bytes(source) as content, open_draft(target) as stream:
        shutil.copyfileobj(content, stream)


def make_folder(path: StrPath) -> None:
    """Creates a folder and its parents; an existing folder is kept.

    Raises:
      OSError: if it cannot be created.
    """
    folder = os.path.abspath(path)
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above != folder:
        make_folder(above)
    try:
        os.mkdir(folder)
    except FileExistsError:
        if not os.path.isdir(folder):  # another process may have created it meanwhile
            raise
    drafts.sync_folder(above)


def name_file(error: BaseException, path: StrPath, draft: str) -> None:
    """Makes an OSError name the target file, instead of no file or one in a draft."""
    if not isinstance(error, OSError) or error.errno is None:
        return
    if error.filename is None or str(error.filename).startswith(draft):
        error.filename = os.fspath(path)


def write_part(path: StrPath, content: bytes) -> None:
    """Writes a new file into a folder that is not in use yet, and syncs it to disk."""
    with io.FileIO(os.fspath(path), "xb", opener=_opener(0o666)) as file:
        write_all(file.fileno(), content)
        drafts.sync(file.fileno())


def write_all(descriptor: int, content: bytes) -> None:
    """Writes all bytes to an open file, with as many system calls as necessary."""
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


class _Draft(io.FileIO):
    """A new file, unreadable for users who cannot read the target; `os.write` may write only a part at a time."""

    def __init__(self, path: str, target: os.stat_result | None) -> None:
        mode = 0o666 if target is None else stat.S_IMODE(target.st_mode) & 0o777
        super().__init__(path, "xb", opener=_opener(mode))

    def write(self, content: Any, /) -> int:
        return os.write(self.fileno(), content)


def _take_over(raw: io.FileIO, target: os.stat_result) -> None:
    """Gives a draft the mode and owner of the file it replaces, as far as the system permits."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            os.fchown(raw.fileno(), target.st_uid, target.st_gid)
        with contextlib.suppress(OSError):
            os.fchmod(raw.fileno(), stat.S_IMODE(target.st_mode) & 0o777)


def _opener(mode: int) -> Callable[[str, int], int]:
    """Returns an opener that gives a new file a mode."""
    return lambda name, flags: os.open(name, flags, mode)


def _publish(raw: io.FileIO, draft: str, target: str, exclusive: bool) -> None:
    """Renames a draft to its final name."""
    if os.name == "nt":
        raw.close()  # Windows cannot rename an open file
    if not exclusive:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.replace(draft, target)
    else:
        os.unlink(draft)


def _status(path: StrPath) -> os.stat_result | None:
    """Returns the system's status of a file; None if it does not exist.

    Raises:
      OSError: if it is a folder, or must not be written.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = None
    if not os.path.basename(path) or (status is not None and stat.S_ISDIR(status.st_mode)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if status is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    return status
