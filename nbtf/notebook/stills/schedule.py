"""The times at which the ops and copies of a recording ran, on one common clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Any, NamedTuple, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from nbtf import runtime
from nbtf._garbage import collector_paused
from nbtf._locks import computed_once
from nbtf._own_name import own_name
from nbtf._record.totals import SMALL_COPY
from nbtf.notebook.device_names import in_order

SMALLEST_COPY = SMALL_COPY
"""Copies smaller than this, in bytes, are not drawn individually."""

SHORTEST_OP = 2e-8
"""Ops shorter than this, in seconds, are not drawn individually."""

CONSTANT = "_EagerConst"
"""The op that turns a Python value into a tensor."""

MODELLED, MEASURED, HOST_TIME = "modelled", "measured", "hostTime"
"""The names of clocks; see `host_time.py` for the last one."""
WAIT = "wait"
"""The phase of a program that waits for a device's result."""

PYTHON = "Python"
"""The lane of the program, on the clock of the host."""


class Work(NamedTuple):
    """An op that ran: its start, in seconds since the recording's first one, and its duration."""

    device: str
    start: float
    seconds: float
    op: str
    phase: str
    layer: str
    site: runtime.Site
    output: runtime.OutputSpec | None
    reason: runtime.Reason | None
    seq: int = 0

    @property
    def end(self) -> float:
        """The time of its end."""
        return self.start + self.seconds

    @property
    def shortest(self) -> float:
        """The seconds from which on it is drawn individually."""
        return inf if self.op == CONSTANT else SHORTEST_OP

    @property
    def folded(self) -> bool:
        """Whether it is not drawn individually."""
        return self.seconds < self.shortest


class Transfer(NamedTuple):
    """A copy, which occupies both its devices."""

    source: str
    target: str
    start: float
    seconds: float
    nbytes: int
    phase: str
    seq: int = 0

    @property
    def end(self) -> float:
        """The time of its end."""
        return self.start + self.seconds

    @property
    def shortest(self) -> float:
        """The seconds from which on it is drawn individually: its size decides."""
        return inf if self.nbytes < SMALLEST_COPY else 0.0

    @property
    def folded(self) -> bool:
        """Whether it is not drawn individually."""
        return self.seconds < self.shortest


class Exchange(NamedTuple):
    """The copies of one all-reduce."""

    start: float
    end: float
    copies: int
    nbytes: int


class Trace(NamedTuple):
    """A trace of a function, just before what ran next. `cause` and `differences` are those of `runtime.Traced`."""

    start: float
    function: str
    cause: str
    differences: tuple[tuple[str, str, str], ...]
    site: runtime.Site


_Piece = TypeVar("_Piece", Work, Transfer)
Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Pieces(Sequence[_Piece]):
    """Ops, or copies, stored in columns: each is created on access.

    `facts` are pieces without times, with what many pieces have in common; `fact` is the index of each piece's facts.
    """

    def __init__(
        self, facts: Sequence[_Piece], fact: Integers, start: Numbers, seconds: Numbers, seq: Integers
    ) -> None:
        """Stores columns of equal length."""
        self.facts: Sequence[_Piece] = facts
        self.fact: Integers = fact
        self.start: Numbers = start
        self.seconds: Numbers = seconds
        self.seq: Integers = seq

    @classmethod
    def of(cls, pieces: Sequence[_Piece]) -> Pieces[_Piece]:
        """Converts pieces into columns."""
        facts: dict[Any, int] = {}
        fact = [facts.setdefault(piece._replace(start=0.0, seconds=0.0, seq=0), len(facts)) for piece in pieces]
        rows = [(piece.start, piece.seconds, piece.seq) for piece in pieces]
        start, seconds, seq = np.array(rows, np.float64).reshape(-1, 3).T
        return cls([*facts], np.array(fact, np.int64), start, seconds, seq.astype(np.int64))

    def __len__(self) -> int:
        """Returns the number of pieces."""
        return len(self.fact)

    @overload
    def __getitem__(self, index: SupportsIndex) -> _Piece: ...
    @overload
    def __getitem__(self, index: slice) -> Pieces[_Piece]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        """Returns a piece, or a slice of them."""
        if isinstance(index, slice):
            return self.at(np.arange(len(self))[index])
        start, seconds, seq = float(self.start[index]), float(self.seconds[index]), int(self.seq[index])
        piece: Any = self.facts[int(self.fact[index])]
        return piece._replace(start=start, seconds=seconds, seq=seq)

    def at(self, rows: Integers | Mask) -> Pieces[_Piece]:
        """Returns the selected pieces, by position or by a mask."""
        return Pieces(self.facts, self.fact[rows], self.start[rows], self.seconds[rows], self.seq[rows])

    def of_each(self, look_at: Callable[[_Piece], Any], dtype: Any) -> NDArray[Any]:
        """Returns a function's value for each piece; the function is called with the facts that occur."""
        values = [look_at(piece) for piece in self.distinct()]
        return np.array(values, dtype)[self._used[1]]

    def distinct(self) -> list[_Piece]:
        """Returns the facts that occur."""
        return [self.facts[at] for at in self._used[0].tolist()]

    @computed_once
    def _used(self) -> tuple[Integers, Integers]:
        """The indices of the facts that occur, and the position of each piece's among them."""
        return np.unique(self.fact, return_inverse=True)

    @property
    def end(self) -> Numbers:
        """The end times of all pieces."""
        return self.start + self.seconds

    @computed_once
    def folded(self) -> Mask:
        """Which pieces are not drawn individually."""
        return self.seconds < self.of_each(lambda piece: piece.shortest, np.float64)


@dataclass(frozen=True)
class Schedule:
    """Everything that ran on one clock, modelled or measured. `executed` and `copied` count ops and copies on both."""

    clock: str
    lanes: tuple[str, ...]
    ops: Pieces[Work]
    copies: Pieces[Transfer]
    exchanges: tuple[Exchange, ...]
    executed: int
    copied: int
    cut: int = 0
    """The number of oldest events that are no longer kept."""
    traces: tuple[Trace, ...] = ()

    @computed_once
    def seconds(self) -> float:
        """The time from the first start to the last end."""
        return max(float(pieces.end.max(initial=0.0)) for pieces in (self.ops, self.copies))

    @property
    def unclocked(self) -> int:
        """The number of ops and copies on the other clock; none on that of the host, where ops are on two lanes."""
        return 0 if self.clock == HOST_TIME else self.executed + self.copied - len(self.ops) - len(self.copies)

    def ops_on(self, device: str) -> Pieces[Work]:
        """Returns the ops of a device, in order."""
        return self._by_device[device][0]

    def copies_of(self, device: str) -> Pieces[Transfer]:
        """Returns the copies to and from a device, in order."""
        return self._by_device[device][1]

    @computed_once
    def _by_device(self) -> dict[str, tuple[Pieces[Work], Pieces[Transfer]]]:
        source, target = self.lanes_of_copies
        ends = np.concatenate([source, target[target != source]])
        numbers = np.concatenate([np.arange(len(source)), np.flatnonzero(target != source)])
        order = np.lexsort((numbers, ends))
        ops, copies = self.lanes_of_ops.argsort(kind="stable"), numbers[order]
        pieces = zip(
            self.lanes,
            np.split(ops, self.lanes_of_ops[ops].searchsorted(range(1, len(self.lanes)))),
            np.split(copies, ends[order].searchsorted(range(1, len(self.lanes)))),
            strict=True,
        )
        return {lane: (self.ops.at(of_lane), self.copies.at(copied)) for lane, of_lane, copied in pieces}

    @computed_once
    def lanes_of_ops(self) -> Integers:
        """The number of each op's lane."""
        return self.ops.of_each(lambda work: self._numbers[work.device], np.int64)

    @computed_once
    def lanes_of_copies(self) -> tuple[Integers, Integers]:
        """The numbers of the lanes from which and to which each copy goes."""
        of_each, numbers = self.copies.of_each, self._numbers
        return of_each(lambda copy: numbers[copy.source], np.int64), of_each(
            lambda copy: numbers[copy.target], np.int64
        )

    @computed_once
    def _numbers(self) -> dict[str, int]:
        return {lane: number for number, lane in enumerate(self.lanes)}

    def share(self, pieces: Pieces[Work] | Pieces[Transfer]) -> int:
        """Returns the percentage of the time that one device's pieces take; overlapping pieces count once."""
        ends = np.maximum.accumulate(pieces.end)
        earlier = np.concatenate([[0.0], ends])[: len(ends)]
        busy = np.maximum(ends - np.maximum(pieces.start, earlier), 0.0)
        return round(100 * float(busy.sum()) / self.seconds) if self.seconds else 0

    @computed_once
    def has_phases(self) -> bool:
        """Whether the program has phases: forward, backward and so on."""
        return any(work.phase not in ("", WAIT) for work in self.ops.distinct())

    @property
    def longest(self) -> Work | None:
        """The op that took the most time."""
        return None if self.longest_at is None else self.ops[self.longest_at]

    @computed_once
    def longest_at(self) -> int | None:
        """The position of that op among all ops."""
        drawn = np.flatnonzero(~self.ops.folded)
        return int(drawn[self.ops.seconds[drawn].argmax()]) if len(drawn) else None

    @computed_once
    def folded(self) -> dict[str, int]:
        """How many constants, other ops and copies are not drawn individually."""
        constants = int(self.ops.of_each(lambda work: work.op == CONSTANT, bool).sum())
        ops, copies = int(self.ops.folded.sum()), int(self.copies.folded.sum())
        return {"constants": constants, "ops": ops - constants, "copies": copies}


def snapshot_of(record: Any) -> runtime.Snapshot:
    """Returns a snapshot of a recording, or the snapshot that was passed.

    Raises:
      TypeError: if `record` is neither.
    """
    if isinstance(record, runtime.Snapshot):
        return record
    if not hasattr(record, "snapshot"):
        raise no_recording(record)
    return record.snapshot()


def no_recording(record: object) -> TypeError:
    """Returns the error for anything that is not a recording."""
    return TypeError(
        f"`record` must be a recording from {own_name()}.runtime.recording(). Got {record!r} of {type(record)}."
    )


def timed(snapshot: runtime.Snapshot) -> Schedule:
    """Returns the ops, copies and traces of a snapshot, with their times."""
    with collector_paused():
        return schedule_of(snapshot.work, snapshot.cut, snapshot.traces)


def schedule_of(work: runtime.Work, cut: int = 0, traces: Sequence[runtime.Traced] = ()) -> Schedule:
    """Returns what ran and when, from the columns of a recording.

    Modelled and measured times are never mixed: if anything has a modelled start, only modelled times are used. Traces
    of profilers have measured starts.

    Args:
      work: the columns of a snapshot.
      cut: number of earlier events that are no longer kept.
      traces: the traces of a snapshot.
    """
    executed, copied = (has_event(work, event) for event in (runtime.OpExecuted, runtime.Copied))
    modelled = (executed | copied) & ~np.isnan(work.start) & has_modelled_time(work)
    is_modelled = bool(modelled.any())
    ran = work.at(modelled if is_modelled else executed | copied)
    starts = ran.start if len(ran.start) and not np.isnan(ran.start).any() else _measured_starts(ran)
    starts = starts - starts.min(initial=inf)
    ops, copies = (
        pieces_of(ran, starts, runtime.OpExecuted, work_of_fact),
        pieces_of(ran, starts, runtime.Copied, transfer_of_fact),
    )
    return Schedule(
        MODELLED if is_modelled else MEASURED,
        _lanes(ops, copies),
        ops,
        copies,
        tuple(_exchanges(ran, starts)),
        int(executed.sum()),
        int(copied.sum()),
        cut,
        tuple(_traces(ran, starts, traces)),
    )


def has_event(work: runtime.Work, event: type[Any], phase: str | None = None) -> Mask:
    """Returns which rows come from events of a class, and of a phase if one is given."""
    facts = [isinstance(fact.event, event) and phase in (None, fact.event.phase) for fact in work.facts]
    return np.array(facts, bool)[work.fact]


def has_modelled_time(work: runtime.Work) -> Mask:
    """Returns which rows have calculated times."""
    facts: list[Any] = [fact.event for fact in work.facts]
    flags = [getattr(event, "modelled", getattr(event, "timing", "") == "modelled") for event in facts]
    return np.array(flags, bool)[work.fact]


def pieces_of(
    ran: runtime.Work, starts: Numbers, event: type[Any], build: Callable[[runtime.Fact], _Piece]
) -> Pieces[_Piece]:
    """Returns the pieces that some events report, in the order of their starts."""
    positions = np.flatnonzero([isinstance(fact.event, event) for fact in ran.facts])
    rows = np.flatnonzero(has_event(ran, event))
    rows = rows[starts[rows].argsort(kind="stable")]
    fact = positions.searchsorted(ran.fact[rows])
    return Pieces([build(ran.facts[at]) for at in positions], fact, starts[rows], ran.seconds[rows], ran.seq[rows])


def work_of_fact(fact: runtime.Fact) -> Work:
    """Returns an op without its times."""
    event: Any = fact.event
    device, output = runtime.short_name(event.device), next(iter(event.outputs), None)
    return Work(device, 0.0, 0.0, event.op, event.phase, layer_in_words(event.layer), event.site, output, fact.reason)


def transfer_of_fact(fact: runtime.Fact) -> Transfer:
    """Returns a copy without its times."""
    event: Any = fact.event
    ends = runtime.short_name(event.source), runtime.short_name(event.target)
    return Transfer(*ends, 0.0, 0.0, event.nbytes, event.phase)


def _traces(ran: runtime.Work, starts: Numbers, traces: Sequence[runtime.Traced]) -> Iterator[Trace]:
    """Yields the traces, each at the start of the next piece reported after it, or behind the last piece."""
    following = [*np.minimum.accumulate(starts[::-1])[::-1].tolist(), (starts + ran.seconds).max(initial=0.0)]
    for trace, at in zip(traces, ran.seq.searchsorted([trace.seq for trace in traces]).tolist(), strict=True):
        yield Trace(following[at], trace.function, trace.cause, trace.differences, trace.site)


def _measured_starts(ran: runtime.Work) -> Numbers:
    """Returns the start times of pieces that were reported at their end."""
    return starts_in_turn(ran.time - ran.seconds, ran.seconds, ran.fact, [devices_of(fact.event) for fact in ran.facts])


def devices_of(event: Any) -> tuple[str, ...]:
    """Returns the device of an op, or those of a copy."""
    return (event.source, event.target) if isinstance(event, runtime.Copied) else (event.device,)


def starts_in_turn(earliest: Numbers, seconds: Numbers, fact: Integers, devices: Sequence[tuple[str, ...]]) -> Numbers:
    """Returns when pieces start: each as early as it can, once all its devices have finished the pieces before it.

    Args:
      earliest: the earliest start of each piece, in the order in which they were requested.
      seconds: the duration of each piece.
      fact: the index of each piece's facts.
      devices: the devices that a piece occupies, for each of the facts: two at most.
    """
    free = dict.fromkeys(chain.from_iterable(devices), 0.0)
    starts: list[float] = []
    ends: Iterator[tuple[str, ...]] = map(devices.__getitem__, fact.tolist())
    for start, duration, names in zip(earliest.tolist(), seconds.tolist(), ends, strict=True):
        if names:
            first, last = names[0], names[-1]  # an op has one device
            start = max(start, free[first], free[last])
            free[first] = free[last] = start + duration
        starts.append(start)
    return np.array(starts, np.float64)


def _lanes(ops: Pieces[Work], copies: Pieces[Transfer]) -> tuple[str, ...]:
    """Returns the devices, hosts first, each kind by number."""
    names = {work.device for work in ops.distinct()}
    names |= {end for copy in copies.distinct() for end in (copy.source, copy.target)}
    return tuple(sorted(names, key=in_order))


def is_host(device: str) -> bool:
    """Returns whether a device is not a card."""
    return "CPU:" in device


def _exchanges(ran: runtime.Work, starts: Numbers) -> Iterator[Exchange]:
    """Yields each all-reduce: its copies, up to the next op that is not part of it."""
    rows = np.flatnonzero(has_event(ran, runtime.Copied, "all-reduce"))
    if not len(rows):
        return
    other_ops = has_event(ran, runtime.OpExecuted) & ~has_event(ran, runtime.OpExecuted, "all-reduce")
    first = np.flatnonzero(np.diff(np.cumsum(other_ops)[rows], prepend=-1))
    nbytes = np.array([getattr(event, "nbytes", 0) for event, _ in ran.facts])[ran.fact[rows]]
    sums = np.diff(first, append=len(rows)), np.add.reduceat(nbytes, first)
    ends = np.maximum.reduceat((starts + ran.seconds)[rows], first)
    columns = np.minimum.reduceat(starts[rows], first), ends, *sums
    yield from map(Exchange, *[column.tolist() for column in columns])


def layer_in_words(path: str) -> str:
    """Returns the path of a layer; for a mere number, the index that a program writes after its model: `[2]`.

    >>> layer_in_words("blocks.3.attn"), layer_in_words("2")
    ('blocks.3.attn', '[2]')
    """
    return f"[{path}]" if path.isdigit() else path
