"""Simulates errors while something is saved, at a chosen system call, for tests of what survives them."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator
from typing import Any, Literal
from unittest.mock import patch

CALLS = (
    "open",
    "write",
    "fsync",
    "replace",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "fchmod",
    "fchown",
    "ftruncate",
)
"""All functions of `os` that change a disk, and `open`, which may."""

Fault = Literal["error", "interrupt", "short write", "kill"]
"""`error`: the disk is full and reports it, or fails while content is flushed to it."""


class DiskFault:
    """Makes the nth call of this thread fail; counts the calls, and records their names."""

    def __init__(self, fault: Fault, nth: int) -> None:
        self.fault, self.nth = fault, nth
        self.names: list[str] = []

    @property
    def happened(self) -> bool:
        return len(self.names) >= self.nth

    @contextlib.contextmanager
    def installed(self) -> Generator[DiskFault]:
        with contextlib.ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(patch.object(os, name, self._instead_of(name, getattr(os, name))))
            yield self

    def _instead_of(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        thread = threading.get_ident()

        def instead(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread or (self.fault == "short write" and name != "write"):
                return call(*args, **kwargs)
            self.names.append(name)
            if len(self.names) == self.nth:
                args = self._go_wrong(args)
            return call(*args, **kwargs)

        return instead

    def _go_wrong(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.fault == "short write":
            descriptor, content = args
            return descriptor, content[: (len(content) + 1) // 2]
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "interrupt":
            raise KeyboardInterrupt
        number = errno.EIO if self.names[-1] == "fsync" else errno.ENOSPC
        raise OSError(number, os.strerror(number))


def survives_in_child(action: Callable[[], object], fault: DiskFault) -> bool:
    """Runs a function in a child process, which the fault may kill; returns whether it ran to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pytest-xdist has threads; the child uses none of them
        child = os.fork()
    if child == 0:
        status = 1
        try:
            with fault.installed():
                action()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"the child ended with status {status}"
    return True
