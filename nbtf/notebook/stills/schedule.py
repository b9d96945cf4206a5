"""When did each op and copy of a recording run, on a clock that they share?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nbtf import runtime

SMALLEST_COPY = 4096
"""Bytes below which a copy has no mark of its own."""

SHORTEST_OP = 2e-8
"""Seconds below which an op has no mark of its own."""

CONSTANT = "_EagerConst"
MODELLED, MEASURED = "modelled", "measured"


class Work(NamedTuple):
    """An op that ran: from when on, in seconds since the recording's first one, and for how long."""

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
        """When it was over."""
        return self.start + self.seconds

    @property
    def folded(self) -> bool:
        """Whether it has no mark of its own."""
        return self.op == CONSTANT or self.seconds < SHORTEST_OP


class Transfer(NamedTuple):
    """A copy: both its devices are busy with it."""

    source: str
    target: str
    start: float
    seconds: float
    nbytes: int
    phase: str
    seq: int = 0

    @property
    def end(self) -> float:
        """When it was over."""
        return self.start + self.seconds

    @property
    def folded(self) -> bool:
        """Whether it has no mark of its own."""
        return self.nbytes < SMALLEST_COPY


class Exchange(NamedTuple):
    """The copies of one all-reduce."""

    start: float
    end: float
    copies: int
    nbytes: int


@dataclass(frozen=True)
class Schedule:
    """All that ran on one clock, modelled or measured. `executed` ops and `copied` values count those of both."""

    clock: str
    lanes: tuple[str, ...]
    ops: tuple[Work, ...]
    copies: tuple[Transfer, ...]
    exchanges: tuple[Exchange, ...]
    executed: int
    copied: int
    cut: int = 0
    """How many events are no longer kept, the oldest."""

    @cached_property
    def seconds(self) -> float:
        """How long it took, from the first start to the last end."""
        return max((piece.end for piece in (*self.ops, *self.copies)), default=0.0)

    @property
    def unclocked(self) -> int:
        """How many ops and copies are not on this clock."""
        return self.executed + self.copied - len(self.ops) - len(self.copies)

    def ops_on(self, device: str) -> list[Work]:
        """Returns the ops of a device, in order."""
        return self._by_device[device][0]

    def copies_of(self, device: str) -> list[Transfer]:
        """Returns the copies to and from a device, in order."""
        return self._by_device[device][1]

    @cached_property
    def _by_device(self) -> dict[str, tuple[list[Work], list[Transfer]]]:
        pieces: dict[str, tuple[list[Work], list[Transfer]]] = {lane: ([], []) for lane in self.lanes}
        for work in self.ops:
            pieces[work.device][0].append(work)
        for copy in self.copies:
            for device in {copy.source, copy.target}:
                pieces[device][1].append(copy)
        return pieces

    def share(self, pieces: Iterable[Work | Transfer]) -> int:
        """Returns how many percent of the time some pieces of one device take."""
        return round(100 * sum(piece.seconds for piece in pieces) / self.seconds) if self.seconds else 0

    @property
    def has_phases(self) -> bool:
        """Whether the program said what it did: forward, backward and so on."""
        return any(work.phase for work in self.ops)

    @property
    def longest(self) -> Work | None:
        """The op that took most time."""
        return max((work for work in self.ops if not work.folded), key=lambda work: work.seconds, default=None)


def schedule_of(events: Sequence[runtime.Event], cut: int = 0) -> Schedule:
    """Returns what ran and when, from the events of a recording.

    Modelled and measured times are never mixed: where something has a modelled start, only such things are taken.

    Args:
      events: in the order in which they were told.
      cut: how many events before them are no longer kept.
    """
    ran = [event for event in events if isinstance(event, runtime.OpExecuted | runtime.Copied)]
    stamped = [event for event in ran if event.start is not None]
    timed = stamped or ran
    starts = [event.start or 0.0 for event in stamped] or _measured_starts(ran)
    origin = min(starts, default=0.0)
    reasons = _reasons(events)
    ops: list[Work] = []
    copies: list[Transfer] = []
    for event, start in zip(timed, starts, strict=True):
        if isinstance(event, runtime.OpExecuted):
            ops.append(_work(event, start - origin, reasons.get(event.seq)))
        else:
            ends = runtime.short_name(event.source), runtime.short_name(event.target)
            copies.append(Transfer(*ends, start - origin, event.seconds, event.nbytes, event.phase, event.seq))
    return Schedule(
        MODELLED if stamped else MEASURED,
        _lanes(ops, copies),
        tuple(sorted(ops, key=lambda work: work.start)),
        tuple(sorted(copies, key=lambda copy: copy.start)),
        tuple(_exchanges(timed, starts, origin)),
        sum(isinstance(event, runtime.OpExecuted) for event in ran),
        sum(isinstance(event, runtime.Copied) for event in ran),
        cut,
    )


def _work(event: runtime.OpExecuted, start: float, reason: runtime.Reason | None) -> Work:
    device, output = runtime.short_name(event.device), next(iter(event.outputs), None)
    return Work(device, start, event.seconds, event.op, event.phase, event.layer, event.site, output, reason, event.seq)


def _measured_starts(ran: Sequence[runtime.OpExecuted | runtime.Copied]) -> list[float]:
    """Returns when things began that were told of when they were over; a device does them in order."""
    free: dict[str, float] = {}
    starts: list[float] = []
    for event in ran:
        devices = (event.device,) if isinstance(event, runtime.OpExecuted) else (event.source, event.target)
        start = max([event.time - event.seconds, *(free.get(device, 0.0) for device in devices)])
        free.update(dict.fromkeys(devices, start + event.seconds))
        starts.append(start)
    return starts


def _reasons(events: Sequence[runtime.Event]) -> dict[int, runtime.Reason]:
    """Returns why ops ran where they did, by the number of the event that says that they have run."""
    waiting: dict[tuple[str, str, runtime.Site], list[runtime.Reason]] = {}
    reasons: dict[int, runtime.Reason] = {}
    for event in events:
        if isinstance(event, runtime.OpPlaced):
            waiting.setdefault((event.op, event.device, event.site), []).append(event.reason)
        elif isinstance(event, runtime.OpExecuted):
            placed = waiting.get((event.op, event.device, event.site))
            if placed:
                reasons[event.seq] = placed.pop()
    return reasons


def _lanes(ops: Sequence[Work], copies: Sequence[Transfer]) -> tuple[str, ...]:
    """Returns the devices, hosts first, each kind by number."""
    names = {work.device for work in ops} | {end for copy in copies for end in (copy.source, copy.target)}
    return tuple(sorted(names, key=_order))


def _order(name: str) -> tuple[bool, str, int]:
    prefix, _, number = name.rpartition(":")
    return not is_host(name), prefix, int(number) if number.isdigit() else 0


def is_host(device: str) -> bool:
    """Tells whether a device is no card."""
    return "CPU:" in device


def _exchanges(
    timed: Sequence[runtime.OpExecuted | runtime.Copied], starts: Sequence[float], origin: float
) -> Iterable[Exchange]:
    """Yields each all-reduce: its copies, up to the next op that is part of none."""
    run: list[tuple[float, runtime.Copied]] = []
    for event, start in zip(timed, starts, strict=True):
        if isinstance(event, runtime.Copied) and event.phase == "all-reduce":
            run.append((start - origin, event))
        elif run and isinstance(event, runtime.OpExecuted) and event.phase != "all-reduce":
            yield _exchange(run)
            run = []
    if run:
        yield _exchange(run)


def _exchange(run: Sequence[tuple[float, runtime.Copied]]) -> Exchange:
    ends = [start + copy.seconds for start, copy in run]
    return Exchange(min(start for start, _ in run), max(ends), len(run), sum(copy.nbytes for _, copy in run))
