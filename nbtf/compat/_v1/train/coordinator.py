"""Coordination of a program's threads, and a replacement for TensorFlow 1's queue runners."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from nbtf._locks import new_event
from nbtf._runtime.logger import get_logger
from nbtf.errors import OutOfRangeError

_GRACE = 120
"""Seconds that threads have to finish. Source: `Coordinator.join` of TensorFlow 2.21."""


class Coordinator:
    """Lets threads request each other to stop.

    Args:
      clean_stop_exception_types: errors that only mean that no work is left.

    >>> import nbtf.compat.v1 as tf1
    >>> coord = tf1.train.Coordinator()
    >>> coord.request_stop()
    >>> coord.should_stop()
    True
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        self._clean = clean_stop_exception_types or (OutOfRangeError,)
        self._asked = new_event()
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def should_stop(self) -> bool:
        """Returns whether a stop has been requested."""
        return self._asked.is_set()

    def request_stop(self, ex: BaseException | None = None) -> None:
        """Requests all threads to stop; `join` raises the error, unless it means that no work is left."""
        if ex is not None and self._error is None and not isinstance(ex, self._clean):
            self._error = ex
        self._asked.set()

    def clear_stop(self) -> None:
        """Clears the stop request."""
        self._asked.clear()
        self._error = None

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits up to `timeout` seconds for a stop request, and returns whether there was one."""
        return self._asked.wait(timeout)

    @contextmanager
    def stop_on_exception(self) -> Generator[None]:
        """Opens a block whose errors request a stop instead of being raised."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def register_thread(self, thread: threading.Thread) -> None:
        """Registers a thread for `join` to wait for."""
        self._threads.append(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = _GRACE,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended.

        Args:
          threads: threads in addition to the registered ones.
          stop_grace_period_secs: seconds that threads have to finish after a stop request.
          ignore_live_threads: whether threads may still be running afterwards.

        Raises:
          RuntimeError: if threads are still running.
          BaseException: the error with which the stop was requested.
        """
        waited = list(dict.fromkeys([*self._threads, *(threads or ())]))
        while any([thread.is_alive() for thread in waited]) and not self._asked.wait(0.01):
            pass
        for thread in waited:
            thread.join(stop_grace_period_secs)
        alive = [thread.name for thread in waited if thread.is_alive()]
        self._threads = []
        if self._error is not None:
            raise self._error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    @property
    def joined(self) -> bool:
        """Whether all threads have been joined."""
        return not self._threads


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = "queue_runners",
) -> list[Any]:
    """Returns an empty list, because nbtf has no queues.

    Args:
      sess: accepted and ignored.
      coord: accepted and ignored.
      daemon: accepted and ignored.
      start: accepted and ignored.
      collection: accepted and ignored.
    """
    get_logger().warning(
        "`tf.train.start_queue_runners()` was called when no queue runners were defined. "
        "You can safely remove the call to this deprecated function."
    )
    return []
