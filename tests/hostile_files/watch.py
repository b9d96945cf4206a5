"""What must not happen while a file is read? Noted by an audit hook; memory and time have limits, too."""

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
"""A read that takes longer hangs."""

MEMORY = 2**29
"""Bytes that all reads together may add to the address space of the process."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NEVER = (
    *("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.kill", "os.putenv", "pty."),
    *("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "ssl."),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink"),
    *("os.truncate", "os.utime", "shutil.", "tempfile.", "ctypes.", "pickle.", "marshal.", "code.__new__"),
    *("function.__new__", "sys.setprofile", "sys.settrace", "builtins.input", "mmap.", "gc."),
)
_IMPORTED = ("nbtf", "encodings")
"""Packages of which a module may be imported late: our own, and that of the text encodings of zip archives."""

_LANES = "<express lane of "
"""What an op of ours compiles at its first use."""

_COMPILERS = "fastjsonschema"
"""With it nbformat compiles its schemas, in which nothing is from the notebook."""


class HangError(BaseException):
    """A read takes too long; no `Exception`, because readers turn these into refusals."""


class Watch:
    """Notes the forbidden events of a block."""

    def __init__(self) -> None:
        """Puts the hook in, which stays until the process ends."""
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
    """Tells whether code of a package is at work."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def limit_memory() -> None:
    """Has an allocation fail that takes the process further than it may grow."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def peak() -> int:
    """Returns the largest resident size of the process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
