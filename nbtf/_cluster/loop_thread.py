"""Where do coroutines run that a notebook waits for? On an event loop with its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_CLOSING = 2.0
"""Seconds that the thread may take to end."""


class LoopThread:
    """An event loop on its own thread; a notebook's kernel already runs one on the user's thread."""

    def __init__(self) -> None:
        """Starts."""
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="nbtf: talks to Dask", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for a coroutine and returns its result; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Calls a function on the thread; does nothing after `close`."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *arguments)

    def close(self) -> None:
        """Ends the thread."""
        self.call(self.loop.stop)
        self._thread.join(_CLOSING)
        if not self._thread.is_alive():
            self.loop.close()
