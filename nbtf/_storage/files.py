"""How does a file get its content so that a full disk or a kill leaves the one from before, or the new one?

The content goes into a draft beside the file, which takes its name when all of it is on the disk.
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
    """Gives a file its content; one that was there is replaced in one step, or stays as it is.

    Args:
      path: the file. A link is followed; the mode of a file that is there is kept.
      content: bytes, or a text, which is written as UTF-8.

    Raises:
      OSError: it cannot be written.
    """
    encoded = content.encode() if isinstance(content, str) else content
    with open_draft(path) as stream:
        stream.write(encoded)


def create(path: StrPath, content: bytes) -> None:
    """Makes a file that is not there yet.

    Raises:
      FileExistsError: it is there, and stays as it is.
      OSError: it cannot be written.
    """
    with open_draft(path, exclusive=True) as stream:
        stream.write(content)


@contextlib.contextmanager
def open_draft(path: StrPath, exclusive: bool = False) -> Generator[IO[bytes]]:
    """Opens a draft of a file, which takes the file's place when the block ends without an error.

    A device or a pipe has no content to lose: it is written at once.

    Args:
      path: the file. A link is followed; the mode and, where allowed, the owner of a file that is there are kept.
      exclusive: whether a file that is there is an error.

    Raises:
      FileExistsError: it is there, for `exclusive`.
      OSError: it cannot be written.
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
    raw.close()  # only now: a draft without a lock may be swept away
    drafts.sync_folder(folder)


def append(path: StrPath, content: bytes | str) -> None:
    """Adds bytes or a text to the end of a file, made if need be; a disk that is full leaves the file as it was.

    There is no draft: what others add meanwhile stays, and a long log is not copied for each line.

    Raises:
      OSError: it cannot be written.
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
    """Gives a file the content of another one, in one step.

    Raises:
      OSError: the one cannot be read, or the other cannot be written.
    """
    with open_bytes(source) as content, open_draft(target) as stream:
        shutil.copyfileobj(content, stream)


def make_folder(path: StrPath) -> None:
    """Makes a folder and those above it; one that is there stays.

    Raises:
      OSError: it cannot be made.
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
        if not os.path.isdir(folder):  # another saver may have made it
            raise
    drafts.sync_folder(above)


def name_file(error: BaseException, path: StrPath, draft: str) -> None:
    """Has an error of the system name what was to be written, instead of nothing or of something in a draft."""
    if not isinstance(error, OSError) or error.errno is None:
        return
    if error.filename is None or str(error.filename).startswith(draft):
        error.filename = os.fspath(path)


def write_part(path: StrPath, content: bytes) -> None:
    """Writes a new file of a folder that nobody reads yet, and has it on the disk."""
    with io.FileIO(os.fspath(path), "xb", opener=_opener(0o666)) as file:
        write_all(file.fileno(), content)
        drafts.sync(file.fileno())


def write_all(descriptor: int, content: bytes) -> None:
    """Writes bytes into an open file, however many calls the system needs."""
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


class _Draft(io.FileIO):
    """A new file, readable by nobody who cannot read the target; written by `os.write`, which may take a part."""

    def __init__(self, path: str, target: os.stat_result | None) -> None:
        mode = 0o666 if target is None else stat.S_IMODE(target.st_mode) & 0o777
        super().__init__(path, "xb", opener=_opener(mode))

    def write(self, content: Any, /) -> int:
        return os.write(self.fileno(), content)


def _take_over(raw: io.FileIO, target: os.stat_result) -> None:
    """Gives a draft the mode and the owner of the file that it replaces, where the file system and the user may."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            os.fchown(raw.fileno(), target.st_uid, target.st_gid)
        with contextlib.suppress(OSError):
            os.fchmod(raw.fileno(), stat.S_IMODE(target.st_mode) & 0o777)


def _opener(mode: int) -> Callable[[str, int], int]:
    """Returns what opens a file that gets a mode if it is new."""
    return lambda name, flags: os.open(name, flags, mode)


def _publish(raw: io.FileIO, draft: str, target: str, exclusive: bool) -> None:
    """Gives a draft its final name."""
    if os.name == "nt":
        raw.close()  # Windows renames no open file
    if not exclusive:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.replace(draft, target)
    else:
        os.unlink(draft)


def _status(path: StrPath) -> os.stat_result | None:
    """Returns what the system says of a file; None if it is not there.

    Raises:
      OSError: it is a folder, or must not be written.
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
