"""Which user owns a process on a card, and which notebook runs in it? For other users, only the name is read.

Nothing in this file ends a process, queries a server, or reads a token.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

PROC = "/proc"

SESSION = b"JPY_SESSION_NAME="
"""Variable in which Jupyter Server gives a kernel the path of its notebook."""


class ProcessOwner(NamedTuple):
    """The owner of a process; fields are None if they are not visible.

    For the user's own processes, it also has the `command`, the `notebook` in which the process runs or was started,
    whether it is a `kernel`, and for how many seconds a kernel's main thread has been `idle`.

    >>> tf.runtime.ProcessOwner(4711, "ada", True, "python3", "~/train.ipynb", True, 750.0).text
    'your kernel of ~/train.ipynb (process 4711), idle for 12 min'
    """

    pid: int
    user: str | None = None
    is_self: bool = False
    command: str | None = None
    notebook: str | None = None
    kernel: bool = False
    idle: float | None = None

    @property
    def text(self) -> str:
        """The process in a few words.

        >>> tf.runtime.ProcessOwner(4711, "bob").text
        'process 4711 of bob'
        """
        if self.pid == os.getpid():
            return "this process"
        if not self.is_self:
            return f"process {self.pid}" + (f" of {self.user}" if self.user else ", owner not visible")
        location = "" if self.notebook is None else self.notebook
        if self.kernel:
            idle = "" if self.idle is None else f", idle for {duration(self.idle)}"
            return f"your kernel {f'of {location} ' if location else ''}(process {self.pid}){idle}"
        command = f" ({self.command})" if self.command else ""
        return f"your process {self.pid}{command}{f', started in {location}' if location else ''}"


def process_owner(pid: int, proc: str | os.PathLike[str] = PROC) -> ProcessOwner:
    """Returns the owner of a process, and the notebook that runs in it.

    Args:
      pid: process number, as in `CardProcess`.
      proc: folder in which the system describes processes.

    >>> import os
    >>> tf.runtime.process_owner(os.getpid()).text
    'this process'
    """
    folder = os.path.join(proc, str(pid))
    try:
        uid = os.stat(folder).st_uid
    except OSError:  # the process has ended, or runs in another container
        return ProcessOwner(pid)
    if uid != os.getuid():
        return ProcessOwner(pid, _user(uid))
    command = _read(folder, "comm").decode(errors="replace").strip() or None
    kernel = b"ipykernel" in _read(folder, "cmdline")
    idle = _idle(folder, proc) if kernel else None
    return ProcessOwner(pid, _user(uid), True, command, _notebook(folder), kernel, idle)


def duration(seconds: float) -> str:
    """Formats a duration in one unit.

    >>> duration(42), duration(750), duration(3 * 3600 + 1), duration(200_000)
    ('42 s', '12 min', '3 h', '2 days')
    """
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= length * (2 if unit == "days" else 1):
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"


def _user(uid: int) -> str:
    from pwd import getpwuid  # imported late: Windows has no such module, and no /proc

    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _notebook(folder: str) -> str | None:
    """Returns the notebook's path from the environment; other variables may be secret and are not kept."""
    for entry in _read(folder, "environ").split(b"\0"):
        if entry.startswith(SESSION) and entry != SESSION:
            path = entry.removeprefix(SESSION).decode(errors="replace")
            home = os.path.expanduser("~") + os.sep
            return f"~{os.sep}{path.removeprefix(home)}" if path.startswith(home) else path
    return None


def _idle(folder: str, proc: str | os.PathLike[str]) -> float | None:
    """Returns how many seconds a process's main thread has been idle, from the scheduler; this process runs now."""
    now, then = _last_run(os.path.join(proc, "self")), _last_run(folder)
    return None if now is None or then is None else max(0.0, now - then)


def _last_run(folder: str) -> float | None:
    match = re.search(rb"se\.exec_start\s*:\s*([0-9.]+)", _read(folder, "sched"))
    return None if match is None else float(match[1]) / 1000  # the file contains milliseconds


def _read(folder: str, name: str) -> bytes:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except OSError:  # the process has just ended, or this kernel has no such file
        return b""
