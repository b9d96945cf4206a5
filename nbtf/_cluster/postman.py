"""One thread for a whole cluster sends the queued records and notices silent tasks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

from nbtf._locks import new_event

_BEATS = 3
"""Number of pings per heartbeat."""


class Postman:
    """A thread that sends the batches of all channels and never waits for a task."""

    def __init__(self, heartbeat: float) -> None:
        """Creates a postman without channels."""
        self.channels: Sequence[Any] = ()
        self._beat = heartbeat / _BEATS
        self._awake = new_event()
        self._over = False
        self._thread = threading.Thread(target=self._work, name="nbtf postman", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def poke(self) -> None:
        """Wakes the thread; may be called on any thread."""
        self._awake.set()

    def stop(self) -> None:
        """Ends the thread."""
        self._over = True
        self._awake.set()

    def _work(self) -> None:
        watch_at = monotonic()
        while not self._over:
            now = monotonic()
            if now >= watch_at:
                if now - watch_at > self._beat:  # this process was asleep, so silence does not mean that a task is lost
                    for channel in self.channels:
                        channel.alive()
                for channel in self.channels:
                    channel.watch(now)
                overdue = [at for channel in self.channels if (at := channel.overdue_at) > now]
                watch_at = min([now + self._beat, *overdue])
            waits = [channel.due(now) for channel in self.channels]
            soonest = min([wait for wait in waits if wait is not None], default=watch_at - now)
            if soonest > 0:
                self._awake.wait(min(soonest, max(0.0, watch_at - now)))
                self._awake.clear()
            for channel in self.channels:
                if channel.due(monotonic()) == 0.0:
                    channel.post()
