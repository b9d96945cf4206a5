"""Starts and ends the processes of a cluster on this machine.

The settings of a process go through its standard input, which no other process can read. The process ends when its
standard input closes or the notebook's process ends, so no process outlives the notebook.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

from nbtf._devices.sites import warn
from nbtf.errors import DeadlineExceededError, UnavailableError

_PROGRAM = (
    "import json, sys; settings = json.loads(sys.stdin.readline()); sys.path[:] = settings['path']; "
    "from nbtf._cluster.dask_process import serve; serve(settings)"
)

_FORGOTTEN = ("TF_CONFIG", "NBTF_SIMULATE")
"""Variables of the notebook that do not concern a task."""

_PATIENCE = 2.0
"""Seconds that a process may take to end before it is killed."""


_STARTED: WeakSet[ChildProcess] = WeakSet()
_WARNINGS: set[str] = set()
"""Warnings already shown: several processes meet the same fault, and one warning is enough."""


class ChildProcess:
    """A process of a cluster."""

    def __init__(self, name: str, settings: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        """Starts the process.

        Args:
          name: name in messages.
          settings: settings for the process; may contain secrets.
          environ: environment variables in addition to those of this process.
        """
        self.name = name
        inherited = {name: value for name, value in os.environ.items() if name not in _FORGOTTEN}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=inherited | dict(environ),
            text=True,
            start_new_session=True,  # an interrupt of the notebook must not reach the cluster
        )
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, name=f"nbtf: listens to {name}", daemon=True)
        self._listener.start()
        _STARTED.add(self)
        self.tell(dict(settings) | {"path": sys.path, "parent": os.getpid()})

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def tell(self, message: Mapping[str, Any]) -> None:
        """Sends the process a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            return  # the process has ended, and `answer` reports it

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                if "warning" in message:
                    _warn_once(message["warning"])
                else:
                    self._answers.put(message)
        self._answers.put({"error": "it ended during its start"})

    def answer(self, deadline: float) -> dict[str, Any]:
        """Returns the next line that the process writes.

        Args:
          deadline: latest time, by `time.monotonic`.

        Raises:
          UnavailableError: if the process failed; the text names the cause.
          DeadlineExceededError: if it wrote nothing in time.
        """
        try:
            answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise DeadlineExceededError(f"The process of {self.name} did not start in time.") from None
        if "error" in answer:
            raise UnavailableError(f"The process of {self.name} did not start: {answer['error']}.")
        return answer

    def kill(self) -> None:
        """Ends the process at once, even when it is stopped."""
        self._process.kill()
        self._close()

    def end(self) -> None:
        """Asks the process to end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            return

    def wait(self) -> None:
        """Waits until the process has ended, and kills it after a while."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def _close(self) -> None:
        self.end()
        self._process.wait()
        self._listener.join(_PATIENCE)

    def let_go(self) -> None:
        """Replaces this end of the process's standard input, so that only its parent keeps it open."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._process.stdin.fileno(), inheritable=False)
            os.close(nothing)


def _warn_once(sentence: str) -> None:
    if sentence not in _WARNINGS:
        _WARNINGS.add(sentence)
        warn(sentence)


def _begin_child() -> None:
    """Called in a forked process: a cluster belongs to the process that started it."""
    for process in tuple(_STARTED):
        process.let_go()
    _STARTED.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_begin_child)
