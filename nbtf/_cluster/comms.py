"""How do messages pass through a Dask connection, in the notebook and in a worker?

A connection (`comm`) reads and writes dictionaries; it raises `OSError` when it has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from nbtf._cluster.engine import Connection, Listener, Message, Session
from nbtf._cluster.loop_thread import LoopThread
from nbtf.errors import OpError

PING = "nbtf_ping"
"""Requests that a worker answers at once, even while its task is busy."""

SERVE = "nbtf_serve"
"""Requests of another task."""

_LOOK_AGAIN = 0.1
"""Seconds between checks whether an awaited task is lost."""

Frames = Callable[[Any], Any]
"""Marks an array to be written without conversion: Dask's `to_serialize`."""


def packed(message: Message, as_frame: Frames) -> dict[str, Any]:
    """Returns a message in the form that is written; frames are arrays, which Dask neither copies nor pickles."""
    frames = [as_frame(np.asarray(memoryview(frame).cast("B"))) for frame in message.frames]
    return {"head": bytes(message.head), "frames": frames}


def unpacked(message: Mapping[str, Any]) -> Message:
    """Returns the message that was written."""
    return Message(message["head"], [memoryview(frame) for frame in message["frames"]])


class Owner(Protocol):
    """The engine that a connection belongs to."""

    async def loss(self, reason: str) -> OpError:
        """Returns the error for a lost connection."""
        ...

    def forget(self, connection: Any) -> None:
        """Removes a connection that has ended."""
        ...


class CommConnection(Connection):
    """The connection to a task: one coroutine writes, another reads.

    Urgent messages use a second connection, because a large tensor would delay them on the first.
    """

    def __init__(
        self, engine: Owner, thread: LoopThread, comm: Any, pulse: Any, listener: Listener, as_frame: Frames
    ) -> None:
        """Starts both coroutines on the engine's loop.

        Args:
          engine: owner of the connection.
          thread: thread that runs the loop.
          comm: connection for batches and answers.
          pulse: connection for pings and urgent requests.
          listener: receives answers, signs of life and the loss.
          as_frame: conversion for `packed`.
        """
        self._engine, self._thread, self._comm, self._pulse, self._listener = engine, thread, comm, pulse, listener
        self._as_frame = as_frame
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._pinged = False
        self._ended = False
        self._tasks = [asyncio.ensure_future(work) for work in (self._write(), self._read(), self._beat())]

    def send(self, batch: Message) -> None:
        """Sends a batch; see `Connection`."""
        self._thread.call(self._outgoing.put_nowait, packed(batch, self._as_frame))

    def ping(self) -> None:
        """Asks for a sign of life; see `Connection`."""
        self._thread.call(self._ask_ping)

    def _ask_ping(self) -> None:
        if not self._pinged:  # only if the previous ping has been answered
            self._pinged = True
            self._requests.put_nowait({"op": PING})

    def urge(self, request: Message) -> None:
        """Makes the task answer a request before its queued batches; see `Connection`."""
        self._thread.call(self._requests.put_nowait, {"op": SERVE, **packed(request, self._as_frame)})

    def close(self) -> None:
        """Ends the session; see `Connection`."""
        self._thread.call(self.end)

    def end(self) -> None:
        """Closes the socket on the engine's loop, without notifying the listener."""
        if not self._ended:
            self._ended = True
            self._engine.forget(self)
            self._comm.abort()
            self._pulse.abort()
            for task in self._tasks:
                task.cancel()

    def fail(self, error: OpError) -> None:
        """Notifies the listener of the loss, on the engine's loop."""
        if not self._ended:
            self.end()
            self._listener.lost(error)

    async def _write(self) -> None:
        with suppress(OSError):  # the reader gets the same error, and handles it
            while True:
                await self._comm.write(await self._outgoing.get())

    async def _read(self) -> None:
        try:
            while True:
                self._listener.answered(unpacked(await self._comm.read()))
        except OSError:
            self.fail(await self._engine.loss("its process closed the connection: it has ended, or was killed"))

    async def _beat(self) -> None:
        with suppress(OSError):  # the reader handles a lost connection
            while True:
                request = await self._requests.get()
                await self._pulse.write(request)
                await self._pulse.read()
                if request["op"] == PING:
                    self._pinged = False
                self._listener.alive()


class Serving:
    """Handles the batches of one controller in order, on the session's thread."""

    def __init__(self, comm: Any, session: Session, thread: ThreadPoolExecutor, as_frame: Frames) -> None:
        """Stores the connection, and the thread on which the session works."""
        self._comm, self._session, self._thread, self._as_frame = comm, session, thread, as_frame
        self._batches: asyncio.Queue[Message] = asyncio.Queue()

    async def read(self) -> None:
        """Reads until the connection ends."""
        work = asyncio.ensure_future(self._work())
        try:
            while True:
                self._batches.put_nowait(unpacked(await self._comm.read()))
        except OSError:
            return
        finally:
            work.cancel()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while True:
                batch = await self._batches.get()
                answer = await loop.run_in_executor(self._thread, self._session.handle, batch)
                await self._comm.write(packed(answer, self._as_frame))


class PeerComms:
    """Connections to other tasks; see `engine.Peers`. Each serves one request at a time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        reach: Callable[[str, float], Coroutine[Any, Any, Any]],
        as_frame: Frames,
    ) -> None:
        """Creates it without connections.

        Args:
          loop: event loop of the worker.
          reach: function that opens a connection to an address within a number of seconds.
          as_frame: conversion for `packed`.
        """
        self._loop, self._reach, self._as_frame = loop, reach, as_frame
        self._idle: dict[str, list[Any]] = {}

    def fetch(self, location: str, request: Message, seconds: float, is_lost: Callable[[], bool]) -> Message:
        """Sends a request to another task, on the thread of a session; see `Peers`."""
        answer = asyncio.run_coroutine_threadsafe(self._fetch(location, request, seconds), self._loop)
        while not wait([answer], _LOOK_AGAIN).done:
            if is_lost():
                answer.cancel()
                raise ConnectionError(f"{location} is given up")
        return answer.result()

    async def _fetch(self, location: str, request: Message, seconds: float) -> Message:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._exchange(location, {"op": SERVE, **packed(request, self._as_frame)}, seconds)
        except TimeoutError:
            raise TimeoutError(f"{location} has not answered within {seconds:g} s") from None
        except OSError as error:
            raise ConnectionError(f"{location} is lost: {error}") from error
        if answer is None or "head" not in answer:
            raise ConnectionError(f"no task runs at {location}")
        return unpacked(answer)

    async def _exchange(self, location: str, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Returns the answer, over a connection that is used for nothing else meanwhile."""
        idle = [comm for comm in self._idle.pop(location, []) if not comm.closed()]
        comm = idle.pop() if idle else await self._reach(location, seconds)
        self._idle.setdefault(location, []).extend(idle)
        try:
            await comm.write(request)
            answer: dict[str, Any] | None = await comm.read()
        except BaseException:
            comm.abort()
            raise
        self._idle.setdefault(location, []).append(comm)
        return answer

    def close(self) -> None:
        """Closes the connections."""
        while self._idle:
            for comm in self._idle.popitem()[1]:
                comm.abort()
