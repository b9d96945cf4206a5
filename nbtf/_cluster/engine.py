"""What must carry a cluster's messages? An engine: it knows the tasks, and opens one ordered connection to each.

    controller (the notebook)                          process of a task
    Engine.connect(address, listener) ── batch ──▶     Host.open() -> Session; Session.handle(batch) -> answer
    Listener.answered            ◀── answer ───────        │ Peers.fetch, from process to process
    Connection.ping ─▶ Listener.alive                      ▼
    Connection.urge              ── request ──────▶    Host.serve(request) of another task -> answer

An engine moves messages and never looks into them. It starts processes, or finds them; it tells when one is lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from nbtf.errors import OpError

Frame: TypeAlias = "bytes | bytearray | memoryview"
"""Bytes of a large tensor; a `memoryview` is contiguous and of format `B`."""


class Message(NamedTuple):
    """What is sent either way: small things in one piece, large tensors as they are, so that nobody copies them."""

    head: bytes
    frames: Sequence[Frame] = ()


class Address(NamedTuple):
    """A task as its engine finds it.

    `location` is the engine's own text, such as `tls://127.0.0.1:40123`: all tasks can reach one another by it. Another
    process at the same place has another `incarnation`.
    """

    job: str
    number: int
    location: str
    incarnation: str


class Listener(Protocol):
    """What a connection tells its controller, on any thread, one call at a time; no call may wait for the task."""

    def answered(self, answer: Message) -> None:
        """Takes the answer to the oldest batch that has none yet."""
        ...

    def alive(self) -> None:
        """Hears that the process has answered a ping."""
        ...

    def lost(self, error: OpError) -> None:
        """Hears that nothing will come any more, once at most; not after `close`.

        Args:
          error: its class says what happened: `UnavailableError` when the process or its scheduler is gone (the text
            says which), `UnauthenticatedError` for certificates. Who and what was waiting is added by the listener.
        """
        ...


class Connection(ABC):
    """The one way to a task: what is sent first is handled first, and each batch has one answer."""

    @abstractmethod
    def send(self, batch: Message) -> None:
        """Sends a batch; returns before it has arrived. On a connection that is lost it does nothing.

        The caller does not change the frames before the answer is there.
        """

    @abstractmethod
    def ping(self) -> None:
        """Asks for a sign of life, which the process gives whatever its task is busy with; never waits."""

    @abstractmethod
    def urge(self, request: Message) -> None:
        """Has the process `serve` a request at once, past the batches that wait there; its answer is told nobody.

        Never waits. On a connection that is lost it does nothing.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session; the process closes what it has for it. Never waits long, may be called twice."""


class Engine(ABC):
    """Processes that are tasks of a cluster."""

    name: str
    """What users are told carries the cluster, such as `Dask` or `in process`."""
    heartbeat: float = 5.0
    """A task that has given no sign of life for so many seconds is lost; whoever connects pings and counts."""
    deadline: float = 3600.0
    """An answer that has not come in so many seconds, though the task lives, will not be waited for."""

    @abstractmethod
    def addresses(self) -> Sequence[Address]:
        """Returns the tasks that are there now, in the order of jobs and numbers.

        Raises:
          UnavailableError: whoever knows them (a scheduler) is gone; the text names it, and no task.
        """

    @abstractmethod
    def connect(self, address: Address, listener: Listener) -> Connection:
        """Opens a session with a task.

        Raises:
          UnavailableError: it cannot be reached, or is another incarnation.
          UnauthenticatedError: a certificate was refused.
          DeadlineExceededError: it did not answer in time.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes all connections, and ends the processes that this engine started."""


# In the process of a task


class Peers(Protocol):
    """How a task reaches other tasks: never through the controller."""

    def fetch(self, location: str, request: Message, seconds: float, is_lost: Callable[[], bool]) -> Message:
        """Returns what the `Host.serve` of another task answers; waits, on the thread of a session.

        Args:
          location: of its `Address`.
          request: goes there as it is.
          seconds: how long to wait for the answer; `serve` answers sooner, if only that it is not ready.
          is_lost: is asked now and then whether the controller has given the other task up.

        Raises:
          ConnectionError: it is lost, or was lost while it worked; the text says what happened.
          TimeoutError: it has not answered in time, or could not be reached.
        """
        ...


class Session(Protocol):
    """What a task has for one controller. One thread at a time calls it, in the order of the batches."""

    def handle(self, batch: Message) -> Message:
        """Does what a batch says, and returns the answer; errors of ops stand in the answer, and it raises none."""
        ...

    def close(self) -> None:
        """Gives up whatever the controller has there: its connection is gone. On any thread, also while it works."""
        ...


class Host(Protocol):
    """The task that a process is; `_cluster.task.Task` is one: `Task(job, number, peers)`."""

    incarnation: str
    """For its `Address`."""

    def open(self) -> Session:
        """Begins a session for a controller that has connected."""
        ...

    def serve(self, request: Message) -> Message:
        """Answers another task, or a controller that urges; waits for what is not ready: each call needs a thread.

        Never called on the thread of a session.
        """
        ...

    def close(self) -> None:
        """Closes all sessions and devices."""
        ...
