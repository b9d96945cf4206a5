"""How do records reach a task? They wait in a queue until a batch of them is sent; answers come in order.

A thread that runs ops only appends to the queue. Another thread, the postman (`postman.py`), sends the batches: when
enough records wait, when the oldest has waited a millisecond, or at once if a caller waits for an answer. An interrupt
therefore never leaves half a batch. At most four batches are unanswered; a program that is further ahead waits.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from threading import Condition  # noqa: TID251  # built on a lock from `_locks`
from time import monotonic, strftime
from typing import Any, Protocol

from nbtf._cluster import sending
from nbtf._cluster.engine import Address, Connection, Message
from nbtf._cluster.records import Copy, Free, Put, Record, Run, Writer
from nbtf._cluster.tables import Failure
from nbtf._cluster.wording import INTERRUPTED, error_of_op, overdue, text_of_loss
from nbtf._counts import counted
from nbtf._devices.names import task_name
from nbtf._devices.remote import RemoteDevice
from nbtf._locks import new_lock
from nbtf.errors import DeadlineExceededError, OpError, UnavailableError

WORTH_SENDING = 64
"""Number of waiting records at which a batch is sent at once."""
LONGEST_WAIT = 0.001
"""Seconds that a record waits for others to join its batch."""
MOST_UNDER_WAY = 4
_MOST_WAITING = 1024
"""Maximum number of records that may wait while four batches are unanswered."""


class Ticket:
    """An answer that a caller waits for."""

    __slots__ = ("abandoned", "reply", "values")

    def __init__(self) -> None:
        """Creates a ticket without an answer."""
        self.reply: dict[str, Any] | None = None
        self.values: Any = None
        self.abandoned: int | None = None
        """The number of the first result if the caller has stopped waiting, so that its results can be freed."""


class _Batch:
    """An unanswered batch, with its tickets and the arrays that must live until it is handled."""

    __slots__ = ("number", "sent_at", "sources", "tickets")

    def __init__(self, number: int, tickets: list[Ticket], sources: list[Any]) -> None:
        self.number, self.tickets, self.sources, self.sent_at = number, tickets, sources, monotonic()


class Owner(Protocol):
    """The cluster that a channel belongs to."""

    def drop(self) -> None:
        """Called after an interrupt: tasks must drop work that they have not started."""
        ...

    def tell_loss(self, channel: RecordQueue, text: str) -> None:
        """Called when a task is lost, so that the other tasks do not wait for it."""
        ...


class RecordQueue:
    """The records on their way to one task, and the `Listener` of its messages."""

    def __init__(
        self, address: Address, cluster: Owner, poke: Callable[[], None], heartbeat: float, deadline: float
    ) -> None:
        """Creates an unconnected channel; `poke` wakes the postman of its cluster."""
        self.cluster = cluster
        self.address, self.task = address, task_name(address.job, address.number)
        self.heartbeat, self.deadline = heartbeat, deadline
        self.devices: list[RemoteDevice] = []
        self.hello: dict[str, Any] | None = None
        """The task's description of itself."""
        self.loss: str | None = None
        self.idle = True
        self.connection: Connection | None = None
        self.heard_at = monotonic()
        self.bytes_sent = self.bytes_received = self.records_sent = self.tensors = 0
        self._poke = poke
        self._writer = Writer()
        self._waiting: deque[tuple[Record, Ticket | None, Any]] = deque()
        self._since = 0.0
        self._urgent = False
        self._under_way: deque[_Batch] = deque()
        self._batches = 0
        self._next = 0
        self._dropped = 0
        self._order = new_lock()
        self._changed = Condition(new_lock())
        self._end: OpError | None = None
        self._failures: dict[int, Failure] = {}

    def open(self, connection: Connection) -> dict[str, Any]:
        """Uses a connection and returns the task's description of itself when it arrives."""
        self.connection = connection
        self.post()
        self._wait_until(lambda: self.hello is not None)
        assert self.hello is not None
        return self.hello

    @property
    def issued(self) -> int:
        """The number of results requested so far."""
        return self._next

    @property
    def waiting(self) -> int:
        """The number of unanswered batches."""
        return len(self._under_way)

    def departure(self) -> OpError | None:
        """Returns the error that ended the channel, or None while it is open."""
        return self._end

    def check(self) -> None:
        """Raises the error that ended the channel, if it has ended."""
        if self._end is not None:
            raise type(self._end)(None, None, self._end.message)

    def free(self, number: int) -> None:
        """Frees an array that is no longer needed. Finalizers call it, at any moment."""
        if self._end is None:
            self._waiting.append((Free(number), None, None))

    def flush(self) -> None:
        """Sends the queued records without waiting for more."""
        if self._waiting:
            self._urgent = True
            self._poke()

    def drop(self) -> None:
        """Cancels all work requested so far that has not started; reading a cancelled result raises the reason."""
        self._dropped = self._next
        self.urge({"drop": self._dropped})
        self.flush()

    def urge(self, request: dict[str, Any]) -> None:
        """Sends the task a request that overtakes its queue."""
        if self._end is None and self.connection is not None and self.hello is not None:
            self.connection.urge(Message(json.dumps({"session": self.hello["session"], **request}).encode()))

    # Waiting

    def _add(
        self, make: Callable[[int], Record], results: int = 0, ticket: Ticket | None = None, sources: Any = None
    ) -> int:
        """Appends a record made for the number of its first result; waits while the queue is full."""
        waiting = self._waiting
        if len(waiting) >= _MOST_WAITING:  # before anything is appended, so that an interrupt loses no results
            self._poke()
            self._wait_until(lambda: len(waiting) < _MOST_WAITING)
        with self._order:
            first = self._next
            self._next = first + results
            waiting.append((make(first), ticket, sources))
        if self.idle:  # the postman sets it before it sleeps and then checks the queue again: see `due`
            self.idle = False
            self._poke()
        if len(waiting) % WORTH_SENDING == 0:
            self._poke()
        return first

    def _ask(self, record: Record, ticket: Ticket | None = None) -> dict[str, Any]:
        """Sends a record at once and returns the reply, or raises the error that prevented it."""
        self.check()
        ticket = ticket or Ticket()
        self._add(lambda _: record, ticket=ticket)
        return self._answer_to(ticket)

    def _answer_to(self, ticket: Ticket) -> dict[str, Any]:
        self.flush()
        self._wait_until(lambda: ticket.reply is not None)
        reply = ticket.reply
        assert reply is not None
        if "error" in reply:
            failure = Failure(*reply["error"])
            with self._changed:
                self._failures.pop(failure.number, None)
            raise self._error(failure)
        return reply

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        until = monotonic() + self.deadline
        try:
            with self._changed:
                while not condition():
                    self.check()
                    left = until - monotonic()
                    if left <= 0:
                        raise DeadlineExceededError(overdue(self.task, self.deadline, self.heard_at))
                    self._changed.wait(min(left, 60.0))
        except KeyboardInterrupt as interrupt:
            self.cluster.drop()
            interrupt.add_note(INTERRUPTED)
            raise

    # Called by the postman

    def due(self, now: float) -> float | None:
        """Returns the seconds until the next batch is due, or None if nothing waits or sending must pause."""
        self.idle = True
        if self._end is not None or not self._waiting or len(self._under_way) >= MOST_UNDER_WAY:
            return None
        self.idle = False
        if self._urgent or len(self._waiting) >= WORTH_SENDING:
            return 0.0
        self._since = self._since or now
        return max(0.0, self._since + LONGEST_WAIT - now)

    def post(self) -> None:
        """Sends all queued records as one batch."""
        self._urgent, self._since = False, 0.0
        records: list[Record] = []
        tickets: list[Ticket] = []
        sources: list[Any] = []
        for _ in range(len(self._waiting)):
            record, ticket, values = self._waiting.popleft()
            if ticket is None and isinstance(record, Run | Put | Copy) and record.first < self._dropped:
                record, values = sending.dropped(record), None  # the task answers the waiting ticket
            records.append(record)
            if ticket is not None:
                tickets.append(ticket)
            if values is not None:
                sources.append(values)
        message = self._writer.batch(self._batches, records)
        with self._changed:
            self._under_way.append(_Batch(self._batches, tickets, sources))
            self._batches += 1
            self._changed.notify_all()
        self.bytes_sent += len(message.head) + sum(map(len, message.frames))
        self.records_sent += len(records)
        if self.connection is not None:
            self.connection.send(message)

    @property
    def overdue_at(self) -> float:
        """The time, by `monotonic`, at which a silent task counts as lost."""
        return self.heard_at + self.heartbeat

    def watch(self, now: float) -> None:
        """Asks for a sign of life, and declares the task lost after one heartbeat without it."""
        silent = now - self.heard_at
        if self._end is None and silent >= self.heartbeat:
            self.lost(UnavailableError(f"no sign of life for {silent:.1f} s (the heartbeat is {self.heartbeat:g} s)"))
        elif self.connection is not None:
            self.connection.ping()

    # Called by the connection

    def answered(self, answer: Message) -> None:
        """Handles the answer to the oldest batch."""
        self.heard_at = monotonic()
        self.bytes_received += len(answer.head) + sum(map(len, answer.frames))
        content: dict[str, Any] = json.loads(answer.head)
        batch: _Batch | None = None
        with self._changed:
            expected = self._under_way[0].number if self._under_way else self._batches
            if content["batch"] < expected:
                return  # a duplicate
            if content["batch"] > expected or "expected" in content:
                self._lose(UnavailableError(f"batch {expected} or its answer has not arrived"))
                return
            batch = self._under_way.popleft()
            self.tensors = content.get("tensors", 0)
            if batch.number == 0:
                self.hello = content
            for failure in content.get("failures", ()):
                self._failures[failure[3]] = Failure(*failure)
            for number, account, entries in content["memory"] if batch.number else ():
                self.devices[int(number)].take_report(account, entries)
            for ticket, reply in zip(batch.tickets, content.get("replies", ()), strict=True):
                if "frame" in reply:
                    ticket.values = answer.frames[reply["frame"]]
                ticket.reply = reply
                self._free_abandoned(ticket)
            self._changed.notify_all()
        self._poke()
        del batch  # last, and outside the lock, because it may free the last reference to arrays

    def _free_abandoned(self, ticket: Ticket) -> None:
        if ticket.abandoned is not None and ticket.reply is not None:
            for at in range(len(ticket.reply.get("specs", ()))):
                self.free(ticket.abandoned + at)

    def alive(self) -> None:
        """Records a sign of life."""
        self.heard_at = monotonic()

    def lost(self, error: OpError) -> None:
        """Handles the loss of the task."""
        with self._changed:
            self._lose(error)

    def _lose(self, error: OpError) -> None:
        if self._end is None:
            ops = sum([isinstance(record, Run) for record, _, _ in list(self._waiting)])
            open_batches = len(self._under_way)
            handled = counted(max(0, self._batches - open_batches), "batch was", "batches were")
            counts = (
                f"Incarnation {self.address.incarnation}; {handled} handled, "
                f"{open_batches} had no answer, and {counted(ops, 'op was', 'ops were')} not sent."
            )
            self.loss = f"since {strftime('%H:%M:%S')}: {error.message.removesuffix('.')}"
            text = text_of_loss(self.task, error.message, self.hello or {}, counts)
            self._finish(type(error)(None, None, text))
            self.cluster.tell_loss(self, text)

    def end(self, error: OpError) -> None:
        """Ends the session, even of a lost task; its results raise `error` from now on."""
        with self._changed:
            self._end = None
            self._finish(error)
        if self.connection is not None:
            self.connection.close()

    def abandon(self, error: OpError) -> None:
        """Ends the session on this side only, because another process now has it."""
        with self._changed:
            self._finish(error)

    def _finish(self, error: OpError) -> None:
        if self._end is None:
            self._end = error
            abandoned = [*self._under_way], [*self._waiting]
            self._under_way.clear()
            self._waiting.clear()
            self._failures.clear()
            self._changed.notify_all()
            del abandoned  # last, because it may free the last reference to arrays
        self._poke()

    def _error(self, failure: Failure) -> OpError:
        """Returns the error of an op, with the line that requested it if that was recorded."""
        return error_of_op(failure, self.devices[failure.device].name, sending.site_of_text(failure.site))
