"""Detects forbidden events while a file is read, with an audit hook, and limits memory and time."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import nbtf

SECONDS = 20
"""Seconds after which a read counts as hanging."""

MEMORY = 2**29
"""Maximum growth of the process's address space over all reads, in bytes."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NEVER = (
    *("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.kill", "os.putenv", "pty."),
    *("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "ssl."),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink"),
    *("os.truncate", "os.utime", "shutil.", "tempfile.", "ctypes.", "pickle.", "marshal.", "code.__new__"),
    *("function.__new__", "sys.setprofile", "sys.settrace", "builtins.input", "mmap.", "gc."),
)
_IMPORTED = ("nbtf", "encodings")
"""Packages whose modules may be imported late: nbtf, and the text encodings of zip archives."""

_LANES = "<express lane of "
"""The beginning of the file name of code that an nbtf op compiles at its first use."""

_COMPILERS = "fastjsonschema"
"""The package that compiles nbformat's schemas, which contain nothing from the notebook."""


class HangError(BaseException):
    """A read takes too long. Not an `Exception`, because readers turn those into errors about the file."""


class Watch:
    """Records the forbidden events of a block."""

    def __init__(self) -> None:
        """Installs the audit hook, which stays until the process ends."""
        self.events: list[str] = []
        self._thread: int | None = None
        self._folder = ""
        self._ours = str(Path(nbtf.__file__).parent)
        sys.addaudithook(self._hear)
        signal.signal(signal.SIGALRM, self._ring)

    @contextmanager
    def over(self, folder: Path) -> Generator[None]:
        """Watches a block that reads files of a folder."""
        self._folder, self._thread = str(folder), threading.get_ident()
        signal.alarm(SECONDS)
        try:
            yield
        finally:
            signal.alarm(0)
            self._thread = None

    def _ring(self, number: int, frame: FrameType | None) -> None:
        raise HangError

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self._thread != threading.get_ident():
            return
        if self._is_forbidden(event, args):
            self.events.append(f"{event} {args!r:.200}")

    def _is_forbidden(self, event: str, args: tuple[Any, ...]) -> bool:
        if event == "import":
            return str(args[0]).partition(".")[0] not in _IMPORTED
        if event in ("compile", "exec"):
            file = str(args[1] if event == "compile" else getattr(args[0], "co_filename", ""))
            return not file.startswith((self._ours, "<frozen", _LANES)) and not _called_by(_COMPILERS)
        if event == "open":
            path, _, flags = args
            is_source = str(path).startswith((self._ours, sys.prefix, sys.base_prefix))
            return bool(flags & _WRITING) or not (
                isinstance(path, int) or is_source or str(path).startswith(self._folder)
            )
        return event.startswith(_NEVER)


def _called_by(package: str) -> bool:
    """Returns whether code of a package is running."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def limit_memory() -> None:
    """Limits the address space, so that an allocation beyond the permitted growth fails."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def peak() -> int:
    """Returns the largest resident size of the process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
