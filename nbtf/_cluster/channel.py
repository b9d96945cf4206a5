"""How does a controller talk with one task? Records wait in a row until a batch of them goes; answers come in order.

Whoever runs ops only appends to the row. The postman (`postman.py`), a thread, takes what waits and sends it: when so
many records wait, when the oldest has waited a millisecond, or at once where somebody waits for an answer. So an
interrupt finds no batch half written. At most four batches are under way; who is further ahead waits.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Condition  # noqa: TID251  # over a lock of ours
from time import monotonic, strftime
from typing import Any, Protocol

import numpy as np

from nbtf._cluster import sending
from nbtf._cluster.engine import Address, Connection, Message
from nbtf._cluster.records import Copy, Free, Get, Listen, Look, Put, Record, Run, Writer
from nbtf._cluster.tables import Failure
from nbtf._cluster.wording import INTERRUPTED, error_of_op, overdue, text_of_loss
from nbtf._counts import counted
from nbtf._devices.base import Label, Spec
from nbtf._devices.names import task_name
from nbtf._devices.remote import RemoteArray, RemoteDevice
from nbtf._devices.sites import CallSite, Site
from nbtf._locks import new_lock
from nbtf._types import as_dtype
from nbtf.errors import DeadlineExceededError, OpError, UnavailableError

WORTH_SENDING = 64
"""So many records go at once."""
LONGEST_WAIT = 0.001
"""Seconds that a record waits for others."""
MOST_UNDER_WAY = 4
_MOST_WAITING = 1024
"""So many records may wait while four batches are under way."""


class Ticket:
    """Stands for an answer that somebody waits for."""

    __slots__ = ("abandoned", "reply", "values")

    def __init__(self) -> None:
        """Begins without an answer."""
        self.reply: dict[str, Any] | None = None
        self.values: Any = None
        self.abandoned: int | None = None
        """The number of the first result, where nobody waits any more, and so nobody will give the results up."""


class _Batch:
    """A batch under way: who waits for its replies, and what must live until it was handled."""

    __slots__ = ("number", "sent_at", "sources", "tickets")

    def __init__(self, number: int, tickets: list[Ticket], sources: list[Any]) -> None:
        self.number, self.tickets, self.sources, self.sent_at = number, tickets, sources, monotonic()


class Owner(Protocol):
    """Whose channel it is, among those to other tasks."""

    def drop(self) -> None:
        """Hears that the program was interrupted while it waited: no task is to do what it has not begun."""
        ...

    def tell_loss(self, channel: Channel, text: str) -> None:
        """Hears that a task is lost: those that are left need not wait for it."""
        ...


class Channel:
    """The way to one task: the `Link` of its devices, and the `Listener` of its connection."""

    def __init__(
        self, address: Address, cluster: Owner, poke: Callable[[], None], heartbeat: float, deadline: float
    ) -> None:
        """Begins unconnected; `poke` wakes the postman of its cluster."""
        self.cluster = cluster
        self.address, self.task = address, task_name(address.job, address.number)
        self.heartbeat, self.deadline = heartbeat, deadline
        self.devices: list[RemoteDevice] = []
        self.hello: dict[str, Any] | None = None
        """What the task has said of itself."""
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
        self._labels: dict[str, CallSite] = {}

    def open(self, connection: Connection) -> dict[str, Any]:
        """Takes a connection; returns what the task says of itself, as soon as it does."""
        self.connection = connection
        self.post()
        self._wait_until(lambda: self.hello is not None)
        assert self.hello is not None
        return self.hello

    # What devices ask for

    def run(
        self,
        device: int,
        op: Any,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None,
        site: Site | CallSite,
    ) -> list[RemoteArray]:
        """Has an op run there; see `Link`."""
        self.check()
        numbers, lists = sending.numbers_of(self, inputs)
        waits = specs is None
        results = (1 if not op.many else sending.MOST_RESULTS) if specs is None else len(specs)
        name = self.devices[device].name
        template, draw = sending.template_of(op, device, name, inputs, attrs, lists, results, waits)
        line = self._site_text(site)
        ticket = Ticket() if waits else None
        first = self._add(lambda first: Run(template, numbers, first, draw, line), results, ticket)
        if specs is not None:
            return [
                RemoteArray(self, first + at, spec.shape, spec.dtype.np_dtype)  # pyright: ignore[reportArgumentType]  # all lengths are known
                for at, spec in enumerate(specs)
            ]
        assert ticket is not None
        try:
            reply = self._answer_to(ticket)
        except BaseException:
            with self._changed:
                ticket.abandoned = first
                self._free_abandoned(ticket)
            raise
        return [
            RemoteArray(self, first + at, tuple(shape), as_dtype(dtype).np_dtype)
            for at, (shape, dtype) in enumerate(reply["specs"])
        ]

    def put(self, device: int, array: np.ndarray[Any, Any], label: Label) -> RemoteArray:
        """Sends an array there; the caller may change it afterwards."""
        self.check()
        shape, dtype = array.shape, as_dtype(array.dtype)
        content = np.array(array, order="C").reshape(-1).view(np.uint8).data
        line = self._site_text(label.site)
        first = self._add(lambda first: Put(device, first, dtype.as_datatype_enum, shape, content, label.op, line), 1)
        return RemoteArray(self, first, shape, dtype.np_dtype)

    def copy(self, device: int, source: RemoteArray, label: Label) -> RemoteArray:
        """Has a device take a copy; the source lives until that is done."""
        self.check()
        peer = ""
        if source.link is not self:
            source_channel: Any = source.link
            source_channel.check()
            source_channel.flush()  # first: what is asked for must be under way before somebody waits for it
            fields = [
                source_channel.address.location,
                source_channel.hello["session"],
                source_channel.task,
                self.heartbeat,
                self.deadline,
            ]
            peer = json.dumps(fields, separators=(",", ":"))
        line = self._site_text(label.site)
        first = self._add(lambda first: Copy(device, first, source.number, peer, line), 1, sources=source)
        if peer:
            self.flush()
        return RemoteArray(self, first, source.shape, source.dtype)

    def free(self, number: int) -> None:
        """Says that nobody needs an array any more; a finalizer calls it, whatever else runs."""
        if self._end is None:
            self._waiting.append((Free(number), None, None))

    def read(self, array: RemoteArray) -> np.ndarray[Any, Any]:
        """Returns the values of an array."""
        ticket = Ticket()
        self._ask(Get(array.number), ticket)
        values = np.frombuffer(ticket.values, array.dtype).reshape(array.shape)
        return values if values.flags.writeable else values.copy()

    def wait(self, losses: bool = True) -> None:
        """Waits until all records that wait now were handled; raises the first error that nobody has heard of.

        The others are forgotten: they may follow from it. On request so are those that the loss of another task has
        brought about.
        """
        if self._waiting or self._under_way:
            self._ask(Look(0, "wait"))
        self.check()
        with self._changed:
            failures, self._failures = self._failures, {}
        untold = [number for number, failure in failures.items() if losses or not failure.follows_loss]
        if untold:
            raise self._error(failures[min(untold)])

    def look(self, device: int, question: str) -> dict[str, Any]:
        """Asks about memory."""
        return self._ask(Look(device, question))

    def listen(self, device: int, on: bool) -> None:
        """Wants to hear what happens to memory, or no longer."""
        if self._end is None:
            self._add(lambda _: Listen(device, on))
            self.flush()

    def reaches(self, link: Any) -> bool:
        """Tells whether another channel is to a task of the same cluster."""
        return link.cluster is self.cluster

    @property
    def issued(self) -> int:
        """How many results were asked for until now."""
        return self._next

    @property
    def waiting(self) -> int:
        """How many batches have no answer yet."""
        return len(self._under_way)

    def departure(self) -> OpError | None:
        """Returns why nothing can be asked any more."""
        return self._end

    def check(self) -> None:
        """Raises why nothing can be asked any more, if so."""
        if self._end is not None:
            raise type(self._end)(None, None, self._end.message)

    def flush(self) -> None:
        """Sends what waits, without waiting for more."""
        if self._waiting:
            self._urgent = True
            self._poke()

    def drop(self) -> None:
        """Has nothing more be done of what was asked until now, here and there; who reads a result of it hears why."""
        self._dropped = self._next
        self.urge({"drop": self._dropped})
        self.flush()

    def urge(self, request: dict[str, Any]) -> None:
        """Tells the task something at once, past what it has to do."""
        if self._end is None and self.connection is not None and self.hello is not None:
            self.connection.urge(Message(json.dumps({"session": self.hello["session"], **request}).encode()))

    # Waiting

    def _add(
        self, make: Callable[[int], Record], results: int = 0, ticket: Ticket | None = None, sources: Any = None
    ) -> int:
        """Appends a record, which is made for the number of its first result; waits while too many do."""
        waiting = self._waiting
        if len(waiting) >= _MOST_WAITING:  # first: an interrupt of the wait leaves no record whose results nobody has
            self._poke()
            self._wait_until(lambda: len(waiting) < _MOST_WAITING)
        with self._order:
            first = self._next
            self._next = first + results
            waiting.append((make(first), ticket, sources))
        if self.idle:  # the postman says so before it sleeps, and looks once more: see `due`
            self.idle = False
            self._poke()
        if len(waiting) % WORTH_SENDING == 0:
            self._poke()
        return first

    def _ask(self, record: Record, ticket: Ticket | None = None) -> dict[str, Any]:
        """Sends a record at once, and returns the reply; raises what kept it from having one."""
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

    # What the postman does

    def due(self, now: float) -> float | None:
        """Returns in how many seconds there is something to send, None if there is nothing, or it may not go yet."""
        self.idle = True
        if self._end is not None or not self._waiting or len(self._under_way) >= MOST_UNDER_WAY:
            return None
        self.idle = False
        if self._urgent or len(self._waiting) >= WORTH_SENDING:
            return 0.0
        self._since = self._since or now
        return max(0.0, self._since + LONGEST_WAIT - now)

    def post(self) -> None:
        """Sends everything that waits as one batch."""
        self._urgent, self._since = False, 0.0
        records: list[Record] = []
        tickets: list[Ticket] = []
        sources: list[Any] = []
        for _ in range(len(self._waiting)):
            record, ticket, values = self._waiting.popleft()
            if ticket is None and isinstance(record, Run | Put | Copy) and record.first < self._dropped:
                record, values = sending.dropped(record), None  # whoever has a ticket hears from the task
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
        """When the task is lost, if it gives no sign of life until then; by `monotonic`."""
        return self.heard_at + self.heartbeat

    def watch(self, now: float) -> None:
        """Asks for a sign of life, and gives the task up if there was none for a heartbeat."""
        silent = now - self.heard_at
        if self._end is None and silent >= self.heartbeat:
            self.lost(UnavailableError(f"no sign of life for {silent:.1f} s (the heartbeat is {self.heartbeat:g} s)"))
        elif self.connection is not None:
            self.connection.ping()

    # What the connection tells

    def answered(self, answer: Message) -> None:
        """Takes the answer to the oldest batch."""
        self.heard_at = monotonic()
        self.bytes_received += len(answer.head) + sum(map(len, answer.frames))
        content: dict[str, Any] = json.loads(answer.head)
        batch: _Batch | None = None
        with self._changed:
            expected = self._under_way[0].number if self._under_way else self._batches
            if content["batch"] < expected:
                return  # told twice
            if content["batch"] > expected or "expected" in content:
                self._lose(UnavailableError(f"batch {expected} has not arrived, or its answer"))
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
        del batch  # last, and outside of the lock: what it kept may die now

    def _free_abandoned(self, ticket: Ticket) -> None:
        if ticket.abandoned is not None and ticket.reply is not None:
            for at in range(len(ticket.reply.get("specs", ()))):
                self.free(ticket.abandoned + at)

    def alive(self) -> None:
        """Hears a sign of life."""
        self.heard_at = monotonic()

    def lost(self, error: OpError) -> None:
        """Hears that nothing will come any more."""
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
        """Ends the session, also one that is lost: what it made says so from now on."""
        with self._changed:
            self._end = None
            self._finish(error)
        if self.connection is not None:
            self.connection.close()

    def abandon(self, error: OpError) -> None:
        """Ends the session on this side alone: another process has it."""
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
            del abandoned  # last: what it kept may die now
        self._poke()

    # Errors, lines and labels

    def _error(self, failure: Failure) -> OpError:
        """Returns the error of an op, with the line that asked for it if somebody listened."""
        return error_of_op(failure, self.devices[failure.device].name, sending.site_of_text(failure.site))

    def _site_text(self, site: Site | CallSite) -> str:
        """Returns the line of a place as it is sent; the place itself stays here, for events."""
        if site is None:
            return ""
        text = sending.text_of_site(site)
        if text and len(site) == 3:
            self._labels[text] = site
        return text

    def label_of(self, fields: Sequence[Any] | None) -> Label | None:
        """Returns a label that the task tells, with the place that stayed here."""
        if fields is None:
            return None
        op, dtype, shape, text = fields
        return Label(op, dtype, tuple(shape), self._labels.get(text) or sending.site_of_text(text))
