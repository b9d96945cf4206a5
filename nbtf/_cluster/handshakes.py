"""How much may a connection use before it has shown a certificate? A few seconds and a few descriptors.

Every program on this machine can connect to the port of a task. Without a limit, connections that never start or finish
the TLS handshake would use up the descriptors of the process.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

try:
    import resource
except ImportError:  # on Windows, sockets are not file descriptors
    resource: Any = None

HANDSHAKE_SECONDS = 10.0
"""Longest duration of a handshake, in seconds."""

MOST_HANDSHAKES = 64
"""Maximum number of connections in their handshake at the same time."""

_PART = 4
"""Handshakes use at most one of this many descriptors."""

_PAUSE = 0.05
"""Seconds for which no connections are accepted after the descriptors have run out."""

NO_DESCRIPTOR_LEFT = (
    "A process of the cluster on this machine has used all its file descriptors. It closes connections that have not "
    "shown a certificate, and accepts new ones as descriptors become free."
)


class Handshakes:
    """The connections of a server that are in their TLS handshake, oldest first."""

    def __init__(self, tcp_server: Any) -> None:
        """Handles the server's new connections before the server does.

        Args:
          tcp_server: a `tornado.tcpserver.TCPServer` with TLS.
        """
        self._admit: Callable[[Any, Any], Awaitable[None]] = tcp_server.handle_stream
        self._limits: dict[Any, asyncio.TimerHandle] = {}
        self._most = _most_handshakes()
        tcp_server.handle_stream = self._begin

    def close_all(self) -> None:
        """Closes the connections."""
        for stream in tuple(self._limits):
            stream.close()

    def _begin(self, stream: Any, address: Any) -> Awaitable[None]:
        """Called when a connection is accepted, so that never more than the limit are open."""
        if len(self._limits) >= self._most:
            oldest = next(iter(self._limits))
            self._limits.pop(oldest).cancel()
            oldest.close()
        self._limits[stream] = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, stream.close)
        return self._finish(stream, address)

    async def _finish(self, stream: Any, address: Any) -> None:
        try:
            await stream.wait_for_handshake()
        except OSError:  # the connection was closed by either side, or is not TLS
            return
        finally:
            limit = self._limits.pop(stream, None)
            if limit is not None:
                limit.cancel()
        await self._admit(stream, address)


def _most_handshakes() -> int:
    if resource is None:
        return MOST_HANDSHAKES
    return max(1, min(MOST_HANDSHAKES, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _PART))


def limit_handshakes(server: Any, notify: Callable[[str], object]) -> None:
    """Limits the cost of connections without a certificate, for a running Dask scheduler or worker.

    Args:
      server: server that listens with TLS. It stops listening with HTTP, which nbtf does not need.
      notify: function called once with a sentence for each kind of fault.
    """
    server.http_server.stop()
    handshakes = [Handshakes(listener.tcp_server) for listener in server.listeners]
    asyncio.get_running_loop().set_exception_handler(_Quiet(handshakes, notify))


class _Quiet:
    """Reports an exception in a callback of the event loop as one sentence instead of repeated tracebacks."""

    def __init__(self, handshakes: list[Handshakes], notify: Callable[[str], object]) -> None:
        self._handshakes, self._notify = handshakes, notify
        self._sentences: set[str] = set()

    def __call__(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            sentence = NO_DESCRIPTOR_LEFT
            for handshakes in self._handshakes:
                handshakes.close_all()
            time.sleep(_PAUSE)  # otherwise the loop calls this again at once while a connection waits
        else:
            sentence = f"A process of the cluster reports: {context['message']}: {error!r}"
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            with suppress(OSError):
                self._notify(sentence)
