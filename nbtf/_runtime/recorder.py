"""What was heard so far: exact totals, and the last events."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import chain, dropwhile
from operator import attrgetter, itemgetter
from time import time
from typing import Any, NamedTuple

from nbtf._devices.journal import Box
from nbtf._devices.sites import NOWHERE, Part
from nbtf._locks import new_lock
from nbtf._runtime.batches import SCENE, Batch
from nbtf._runtime.clock import Clock
from nbtf._runtime.events import Allocated, Copied, Event, OpExecuted, OpPlaced, Reason
from nbtf._runtime.notes import LEVEL, NUMBER, PART, SUBJECT, Note, Subject, next_number, note_of_event
from nbtf._runtime.pieces import is_scratch

CAPACITY = 1_000_000
"""Events kept by default: less than 48 MB, filled in ten seconds by a loop over small tensors."""

_BATCH = 1000
"""Notes that are counted together: less than a millisecond of work."""

_RECENT = 24
"""Batches that are not packed: many programs end before there are more, and the last events are looked at often."""

SMALL_COPY = 4096
"""Copies of fewer bytes are counted apart: numbers that are read, which tables fold."""

_SCENES = 1000
"""Scenes that are remembered."""

_BEGINNINGS = 100
"""Scenes of which it is remembered what was heard before them."""

_THREADS = 32
"""Events that are looked at beyond the last ones wanted: those of other threads may stand among them."""

_SUBJECT_OF, _IN_USE_OF = itemgetter(SUBJECT), itemgetter(3)

Ops = dict[tuple[str, str, Reason], int]
Ways = dict[tuple[str, str], int]


class Snapshot(NamedTuple):
    """A recorder at one moment. Totals count everything heard; `events` are the last of `heard` in all.

    `ops` counts by (op, device, reason), and `nbytes` adds the bytes of their results. `copies` counts by (source,
    target), and `copied_bytes` adds their bytes; `moves` and `moved_bytes` are of the copies of tensors alone, without
    values on their way to a device and back, `small_moves` and `small_moved_bytes` of those under 4 KiB among them, and
    `small_copies` and `small_copied_bytes` of all copies under 4 KiB.
    `peaks` is the most that was in use on a device, as events told. `modelled` adds the seconds of ops whose time is
    modelled.
    """

    heard: int
    events: tuple[Event, ...]
    ops: Ops
    executed: int
    copies: Ways
    copied_bytes: Ways
    allocations: dict[str, int]
    moves: Ways
    moved_bytes: Ways
    nbytes: Ops
    peaks: dict[str, int]
    modelled: dict[tuple[str, str, Reason], float]
    small_moves: Ways
    small_moved_bytes: Ways
    small_copies: Ways
    small_copied_bytes: Ways

    @property
    def placed(self) -> int:
        """How many ops were placed."""
        return sum(self.ops.values())

    @property
    def cut(self) -> int:
        """How many of the events heard are no longer in `events`."""
        return self.heard - len(self.events)

    def since(self, beginning: Snapshot) -> Snapshot:
        """Returns the totals of what was heard after another moment of the recorder; `peaks` are those of all."""
        differences = {
            name: _difference(value, getattr(beginning, name))
            for name, value in self._asdict().items()
            if name not in ("events", "peaks")
        }
        return self._replace(**differences)


def _difference(total: Any, before: Any) -> Any:
    """Returns what was added to a total, or to each of them; those to which nothing was added are left out."""
    if isinstance(total, int):
        return total - before
    return {key: value - before.get(key, 0) for key, value in total.items() if value != before.get(key, 0)}


class _Totals:
    """What is counted. Totals in use are never changed, only replaced."""

    def __init__(self) -> None:
        self.heard = self.executed = 0
        self.ops: Counter[tuple[str, str, Reason]] = Counter()
        self.nbytes: Counter[tuple[str, str, Reason]] = Counter()
        self.copies: Counter[tuple[str, str]] = Counter()
        self.copied_bytes: Counter[tuple[str, str]] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        self.moved_bytes: Counter[tuple[str, str]] = Counter()
        self.small_moves: Counter[tuple[str, str]] = Counter()
        self.small_moved_bytes: Counter[tuple[str, str]] = Counter()
        self.small_copies: Counter[tuple[str, str]] = Counter()
        self.small_copied_bytes: Counter[tuple[str, str]] = Counter()
        self.allocations: Counter[str] = Counter()
        self.peaks: dict[str, int] = {}
        self.modelled: dict[tuple[str, str, Reason], float] = {}

    def with_notes(self, notes: list[Note], boxes: Box) -> _Totals:
        """Returns the totals with those of more notes. The rounds of a loop are counted together, by C code.

        Args:
          notes: of ops and copies.
          boxes: of memory, each from one device.
        """
        result = _Totals()
        for name, value in vars(self).items():
            setattr(result, name, value if isinstance(value, int) else value.copy())
        times: Counter[Subject] = Counter(map(_SUBJECT_OF, notes))
        if any([subject.memory is not None for subject in times]):
            for note in notes:
                if note[LEVEL] is not None:
                    result._reach(note[SUBJECT].holder, note[LEVEL][0])
        for entries in boxes:
            times.update(map(_SUBJECT_OF, entries))
            if len(entries) > 1 or not is_scratch(entries[0]):  # a GPU that nobody has used has no peak
                result._reach(entries[0][SUBJECT].holder, max(map(_IN_USE_OF, entries)))
        for subject, count in times.items():
            result._add(subject.sample, count)
        return result

    def _add(self, events: Sequence[Event], times: int) -> None:
        """Adds the events of one op or copy, so many times."""
        self.heard += len(events) * times
        placed = None
        for event in events:
            if isinstance(event, OpPlaced):
                placed = event.op, event.device, event.reason
                self.ops[placed] += times
            elif isinstance(event, OpExecuted):
                self.executed += times
                if placed is not None:
                    self.nbytes[placed] += times * sum(output.nbytes for output in event.outputs)
                    if event.timing == "modelled":
                        self.modelled[placed] = self.modelled.get(placed, 0.0) + times * event.seconds
            elif isinstance(event, Allocated):
                self.allocations[event.device] += times
                self._reach(event.device, event.in_use)
            elif isinstance(event, Copied):
                self._add_copy(event, times)

    def _add_copy(self, event: Copied, times: int) -> None:
        way = event.source, event.target
        self.copies[way] += times
        self.copied_bytes[way] += times * event.nbytes
        if event.nbytes < SMALL_COPY:
            self.small_copies[way] += times
            self.small_copied_bytes[way] += times * event.nbytes
        if event.kind == "move":
            self.moves[way] += times
            self.moved_bytes[way] += times * event.nbytes
            if event.nbytes < SMALL_COPY:
                self.small_moves[way] += times
                self.small_moved_bytes[way] += times * event.nbytes

    def snapshot(self, events: tuple[Event, ...]) -> Snapshot:
        """Returns the totals with some events."""
        return Snapshot(
            self.heard,
            events,
            dict(self.ops),
            self.executed,
            dict(self.copies),
            dict(self.copied_bytes),
            dict(self.allocations),
            dict(self.moves),
            dict(self.moved_bytes),
            dict(self.nbytes),
            dict(self.peaks),
            dict(self.modelled),
            dict(self.small_moves),
            dict(self.small_moved_bytes),
            dict(self.small_copies),
            dict(self.small_copied_bytes),
        )

    def _reach(self, device: str, in_use: int) -> None:
        if in_use > self.peaks.get(device, -1):
            self.peaks[device] = in_use


class Scene(NamedTuple):
    """A run of a cell on one machine: its events have numbers from `first` to `last`, which is None while it runs.

    Each run is a scene of its own, and a restart begins another. On the modelled clock a scene begins when all before
    it is over.
    """

    id: int
    machine: int
    cell: str
    first: int
    last: int | None = None

    def has(self, event: Event) -> bool:
        """Tells whether an event is of this scene."""
        return self.first <= event.seq and (self.last is None or event.seq <= self.last)


def _nothing() -> None:
    """Collects nothing: nobody has asked a recorder to listen."""


class Recorder:
    """A note taker with bounded memory: the totals stay exact when the list of events is cut.

    The road only appends to a list. The notes in it are counted when there are enough of them or somebody looks.

    A KeyboardInterrupt comes after a call or between two rounds of a loop. Changes of what belongs together therefore
    stand in blocks without calls and loops: they happen completely or not at all.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Starts empty.

        Args:
          capacity: how many events are kept.

        Raises:
          TypeError: not a whole number.
          ValueError: less than 0.
        """
        if not isinstance(capacity, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
            raise TypeError(f"capacity must be a number of events, got {capacity!r}")
        if capacity < 0:
            raise ValueError(f"capacity must be 0 events or more, got {capacity}")
        self._capacity = capacity
        self._lock = new_lock()
        self.taken: list[Note] = []  # not counted yet
        self.pieces: Box = []  # likewise, of memory
        self.collect: Callable[[], object] = _nothing
        self._kept: deque[Batch] = deque()  # counted
        self._kept_events = 0
        self._totals = _Totals()
        self._clock = Clock()  # after the last batch that somebody has looked at
        self._looked = False
        self._scenes: deque[Scene] = deque(maxlen=_SCENES)
        self._beginnings: deque[tuple[int, _Totals]] = deque(maxlen=_BEGINNINGS)
        self._before_machine = self._totals
        self._machine = 1

    # Scenes

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """The last scenes, the oldest first."""
        return tuple(self._scenes)

    def begin_scene(self, cell: str) -> Scene:
        """Begins a scene, and ends the one before.

        Args:
          cell: what is run, in words.
        """
        self.end_scene()
        totals, _ = self._look()
        number = next_number()
        scene = Scene(self._scenes[-1].id + 1 if self._scenes else 1, self._machine, cell, number)
        self.taken.append((SCENE, number, time(), None, 0, NOWHERE, 0, 0.0, None, None, None))
        self._beginnings.append((scene.id, totals))
        self._scenes.append(scene)
        return scene

    def totals_before(self, scene: Scene) -> Snapshot | None:
        """Returns the totals of what was heard before a scene began, without events; None if they are forgotten."""
        totals = dict(self._beginnings).get(scene.id)
        return None if totals is None else totals.snapshot(())

    def totals_before_machine(self) -> Snapshot:
        """Returns the totals of what was heard before the last restart, without events."""
        return self._before_machine.snapshot(())

    def end_scene(self) -> None:
        """Ends the scene that runs, if any does; what memory it has freed is told before."""
        self.collect()
        if self._scenes and self._scenes[-1].last is None:
            self._scenes[-1] = self._scenes[-1]._replace(last=next_number())

    def begin_machine(self) -> None:
        """Is told of a restart: what runs from now on is on another machine."""
        self._machine += 1
        self._before_machine = self._look()[0]
        if self._scenes and self._scenes[-1].last is None:
            self.begin_scene(self._scenes[-1].cell)

    def events_of(self, scene: Scene) -> tuple[Event, ...]:
        """Returns the events of a scene that are still kept."""
        _, batches = self._look()
        later = dropwhile(lambda batch: batch.bounds()[1] < scene.first, batches)
        wanted = min(sum([batch.events for batch in later]), self._capacity)
        return tuple(event for event in _last_events(batches, wanted) if scene.has(event))

    # Notes

    def count(self) -> None:
        """Counts the notes left by the road, unless another thread does, or this one further down its stack."""
        if self._lock.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._lock.release()

    def __call__(self, event: Event) -> None:
        """Takes an event down: a recorder is an observer, too."""
        self.taken.append(note_of_event(event))
        if len(self.taken) > _BATCH:
            self.count()

    def _count(self) -> None:
        """Counts what was taken, and forgets the oldest notes while there are enough without them."""
        taken, pieces, kept = self.taken, self.pieces, self._kept
        notes, boxes = taken[:], pieces[:]
        if notes or boxes:
            totals = self._totals.with_notes(notes, boxes)
            count, opened = len(notes), len(boxes)
            added = totals.heard - self._totals.heard
            batch = deque([Batch(added, notes, [*chain.from_iterable(boxes)])])
            # All or nothing from here on: no calls, no loops.
            del taken[:count]
            del pieces[:opened]
            kept += batch
            self._kept_events += added
            self._totals = totals
            if len(kept) > _RECENT:
                kept[-1 - _RECENT].pack()
        while kept and self._kept_events - kept[0].events >= self._capacity:
            if self._looked and kept[0].clock is None:
                self._clock = kept[0].end(self._clock)  # or what was told of later ones would move
            self._kept_events -= kept[0].events
            del kept[0]

    def _look(self) -> tuple[_Totals, list[Batch]]:
        """Returns the totals and the notes, batch by batch; neither will change."""
        self.collect()
        with self._lock:
            self._count()
            self._looked = True
            for batch in self._kept:
                if batch.clock is None:
                    self._clock = batch.end(self._clock)
            return self._totals, list(self._kept)

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns the totals and the last events, all that are kept or at most `last` of them."""
        totals, batches = self._look()
        wanted = self._capacity if last is None else min(last, self._capacity)
        return totals.snapshot(_last_events(batches, wanted))

    def placed_before(self, seq: int) -> OpPlaced | None:
        """Returns how the op was placed whose `OpExecuted` has this number, while it is still kept."""
        wanted: OpExecuted | None = None
        for batch in reversed(self._look()[1]):
            first, last = batch.bounds()
            if wanted is None and not first <= seq <= last:
                continue
            for note in reversed(batch.in_order()):
                for event in reversed(note[SUBJECT].events(note)) if wanted is not None or note[NUMBER] == seq else ():
                    if event.seq == seq and isinstance(event, OpExecuted):
                        wanted = event
                    elif wanted is not None and isinstance(event, OpPlaced) and _same_op(event, wanted):
                        return event
        return None

    def placed_node(self, name: str) -> OpPlaced | None:
        """Returns how the node of a graph was placed when a session last ran it, while that is still kept."""
        batches = (batch for batch in reversed(self._look()[1]) if batch.has_node(name))
        for note in chain.from_iterable(reversed(batch.in_order()) for batch in batches):
            part: Part | None = note[PART] if note[PART].__class__ is Part else None
            if part is not None and part.node == name:
                for event in note[SUBJECT].events(note):
                    if isinstance(event, OpPlaced):
                        return event
        return None

    def clear(self) -> None:
        """Forgets everything, the totals too."""
        self.collect()
        with self._lock:
            totals: _Totals = _Totals()
            kept: deque[Batch] = deque()
            beginnings: deque[tuple[int, _Totals]] = deque(maxlen=_BEGINNINGS)
            self.taken[:], self.pieces[:], self._kept, self._kept_events, self._totals = (), (), kept, 0, totals
            self._beginnings, self._before_machine = beginnings, totals


def _last_events(batches: list[Batch], wanted: int) -> tuple[Event, ...]:
    """Returns the last events, in order: a note may have been taken after those of ops that began later."""
    events: list[Event] = []  # the last one first
    for batch in reversed(batches):
        if not wanted or len(events) >= wanted + _THREADS:
            break
        events += reversed([*chain.from_iterable(batch.last_events(wanted + _THREADS))])
    return tuple(sorted(reversed(events), key=attrgetter("seq"))[-wanted:] if wanted else ())


def _same_op(placed: OpPlaced, executed: OpExecuted) -> bool:
    """Tells two events of one op from those of other threads in between."""
    return (placed.op, placed.device, placed.site) == (executed.op, executed.device, executed.site)
