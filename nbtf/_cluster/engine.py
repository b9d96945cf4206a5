"""The engine of a cluster knows the tasks, opens one ordered connection to each, and carries the messages.

    controller (the notebook)                          process of a task
    Engine.connect(address, listener) ── batch ──▶     Host.open() -> Session; Session.handle(batch) -> answer
    Listener.answered            ◀── answer ───────        │ Peers.fetch, from process to process
    Connection.ping ─▶ Listener.alive                      ▼
    Connection.urge              ── request ──────▶    Host.serve(request) of another task -> answer

An engine moves messages without reading them. It starts or finds processes, and reports when one is lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from nbtf.errors import OpError

Frame: TypeAlias = "bytes | bytearray | memoryview"
"""Bytes of a large tensor; a `memoryview` is contiguous and has format `B`."""


class Message(NamedTuple):
    """A message in either direction: small values in one piece, large tensors as frames that are not copied."""

    head: bytes
    frames: Sequence[Frame] = ()


class Address(NamedTuple):
    """The address of a task.

    `location` is a string that the engine chooses, such as `tls://127.0.0.1:40123`, at which all tasks can reach it. A
    restarted process at the same location has another `incarnation`.
    """

    job: str
    number: int
    location: str
    incarnation: str


class Listener(Protocol):
    """Receives the messages of a connection, on any thread, one call at a time; no call may wait for the task."""

    def answered(self, answer: Message) -> None:
        """Receives the answer to the oldest unanswered batch."""
        ...

    def alive(self) -> None:
        """Called when the process has answered a ping."""
        ...

    def lost(self, error: OpError) -> None:
        """Called at most once, when nothing more will arrive; never after `close`.

        Args:
          error: what happened: `UnavailableError` if the process or its scheduler is gone (the text names which),
            `UnauthenticatedError` for certificates. The listener adds the task and the waiting requests.
        """
        ...


class Connection(ABC):
    """An ordered connection to a task: each batch has one answer."""

    @abstractmethod
    def send(self, batch: Message) -> None:
        """Sends a batch and returns before it has arrived. Does nothing on a lost connection.

        The caller must not change the frames until the answer is there.
        """

    @abstractmethod
    def ping(self) -> None:
        """Asks for a sign of life, which the process gives even while its task is busy; never waits."""

    @abstractmethod
    def urge(self, request: Message) -> None:
        """Makes the process `serve` a request at once, before its queued batches; the answer is discarded.

        Never waits. Does nothing on a lost connection.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session and frees what the process keeps for it. Returns soon; may be called twice."""


class Engine(ABC):
    """The processes that are the tasks of a cluster."""

    name: str
    """The name that users see, such as `Dask` or `in process`."""
    heartbeat: float = 5.0
    """Seconds without a sign of life after which a task is lost; the controller sends the pings."""
    deadline: float = 3600.0
    """Seconds to wait for an answer from a task that is alive."""

    @abstractmethod
    def addresses(self) -> Sequence[Address]:
        """Returns the running tasks, in the order of jobs and numbers.

        Raises:
          UnavailableError: if the scheduler is gone; the text names it, and no task.
        """

    @abstractmethod
    def connect(self, address: Address, listener: Listener) -> Connection:
        """Opens a session with a task.

        Raises:
          UnavailableError: if the task cannot be reached, or has another incarnation.
          UnauthenticatedError: if a certificate was rejected.
          DeadlineExceededError: if the task did not answer in time.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes all connections and ends the processes that this engine started."""


# In the process of a task


class Peers(Protocol):
    """Reaches other tasks directly, never through the controller."""

    def fetch(self, location: str, request: Message, seconds: float, is_lost: Callable[[], bool]) -> Message:
        """Returns the answer of another task's `Host.serve`; waits, on the thread of a session.

        Args:
          location: location in the task's `Address`.
          request: message, sent unchanged.
          seconds: time to wait for the answer; `serve` answers sooner, possibly that the result is not ready.
          is_lost: function that returns whether the controller has given up the other task; called repeatedly.

        Raises:
          ConnectionError: if the task is lost; the text names the cause.
          TimeoutError: if the task did not answer in time or could not be reached.
        """
        ...


class Session(Protocol):
    """The state of a task for one controller. One thread at a time calls it, in the order of the batches."""

    def handle(self, batch: Message) -> Message:
        """Runs a batch and returns the answer, which contains the errors of ops; raises none."""
        ...

    def close(self) -> None:
        """Frees everything the controller has on the task. May be called on any thread, even during `handle`."""
        ...


class Host(Protocol):
    """The task of a process; `_cluster.task.Task` is an implementation: `Task(job, number, peers)`."""

    incarnation: str
    """Incarnation for the task's `Address`."""

    def open(self) -> Session:
        """Opens a session for a controller that has connected."""
        ...

    def serve(self, request: Message) -> Message:
        """Answers another task, or an urgent request; waits for unfinished results, so each call needs a thread.

        Never called on the thread of a session.
        """
        ...

    def close(self) -> None:
        """Closes all sessions and devices."""
        ...
