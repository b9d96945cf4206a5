"""The recorder: exact totals of everything observed, and the last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

from nbtf._devices.journal import Entries
from nbtf._locks import new_lock
from nbtf._runtime.batches import Batch, note_of_scene
from nbtf._runtime.clock import Clock
from nbtf._runtime.density import Densities
from nbtf._runtime.event_sequence import Recorded
from nbtf._runtime.events import Event, OpExecuted, OpPlaced
from nbtf._runtime.notes import NOTE, NUMBER, SUBJECT, WHERE, next_number, note_of_event
from nbtf._runtime.totals import Snapshot as Snapshot
from nbtf._runtime.totals import Totals

CAPACITY = 1_000_000
"""Default number of kept events: less than 48 MB, filled in ten seconds by a loop over small tensors."""

_BATCH = 1000
"""Number of notes that are worth packing."""

_LOOSE = 20
"""How many batches may wait until the road packs them, regardless of how often the recorder is read."""

_SCENES = 1000
"""Maximum number of kept scenes."""

_BEGINNINGS = 100
"""Maximum number of scenes whose preceding totals are kept."""


class Scene(NamedTuple):
    """One run of a cell on one machine. Its events have numbers from `first` to `last`, which is None during the run.

    Every run is a separate scene, and a restart begins another. On the modelled clock, a scene begins after all earlier
    work has finished.

    >>> recorder = tf.runtime.Recorder()
    >>> recorder.begin_scene("cell 1").cell
    'cell 1'
    """

    id: int
    machine: int
    cell: str
    first: int
    last: int | None = None

    def has(self, event: Event) -> bool:
        """Returns whether an event belongs to this scene.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> scene = recorder.begin_scene("cell 2")
        >>> d = tf.add(c, c)
        >>> stop()
        >>> [type(event).__name__ for event in recorder.snapshot().events if scene.has(event)]
        ['OpPlaced', 'OpExecuted']
        """
        return self.first <= event.seq and (self.last is None or event.seq <= self.last)


def _nothing() -> None:
    """Collects nothing: default for recorders that are not registered."""


class Recorder:
    """A note taker with bounded memory: totals stay exact even after old events are dropped.

    Recording an op only appends to a list. The notes in the list are counted once there are enough of them, or when the
    recorder is read.

    A KeyboardInterrupt may come after a call or between two iterations of a loop. Related changes are therefore made in
    code without calls and loops: they happen completely or not at all.

    >>> recorder = tf.runtime.Recorder(capacity=1000)
    >>> stop = tf.runtime.start_recorder(recorder)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> [event.op for event in recorder.snapshot().events if isinstance(event, tf.runtime.OpPlaced)]
    ['_EagerConst', '_EagerConst', 'AddV2']
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Starts empty.

        Args:
          capacity: maximum number of kept events.

        Raises:
          TypeError: if `capacity` is not an integer.
          ValueError: if `capacity` is negative.
        """
        if not isinstance(capacity, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
            raise TypeError(f"capacity must be a number of events, got {capacity!r}")
        if capacity < 0:
            raise ValueError(f"capacity must be 0 events or more, got {capacity}")
        self._capacity = capacity
        self._lock = new_lock()
        self.pending_notes: list[Any] = []  # a flat list of notes that are not counted yet
        self.pieces: Entries = []  # memory entries that are not counted yet
        self.collect: Callable[[], object] = _nothing
        self._kept: deque[Batch] = deque()  # counted
        self._kept_events = 0
        self._uncounted = 0  # length of the note list at the last reading
        self._totals = Totals()
        self._clock = Clock()  # the clock after the last batch that was read or dropped
        self._densities = Densities()
        self._scenes: deque[Scene] = deque(maxlen=_SCENES)
        self._beginnings: deque[tuple[int, Totals]] = deque(maxlen=_BEGINNINGS)
        self._before_machine = self._totals
        self._machine = 1
        self.machine_first = 0
        """The smallest event number since the last restart."""

    # Scenes

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """The last scenes, oldest first.

        >>> recorder = tf.runtime.Recorder()
        >>> scene = recorder.begin_scene("cell 1")
        >>> recorder.end_scene()
        >>> [scene.cell for scene in recorder.scenes]
        ['cell 1']
        """
        return tuple(self._scenes)

    def begin_scene(self, cell: str) -> Scene:
        """Begins a scene, ending the previous one.

        Args:
          cell: description of the cell.

        >>> tf.runtime.Recorder().begin_scene("cell 4").cell
        'cell 4'
        """
        self.end_scene()
        totals, _ = self._look()
        note = note_of_scene()
        scene = Scene(self._scenes[-1].id + 1 if self._scenes else 1, self._machine, cell, note[NUMBER])
        self.pending_notes.extend(note)
        self._beginnings.append((scene.id, totals))
        self._scenes.append(scene)
        return scene

    def totals_before(self, scene: Scene) -> Snapshot | None:
        """Returns the totals before a scene began, without events; None if they are no longer kept.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> scene = recorder.begin_scene("cell 2")
        >>> d = tf.add(c, c)
        >>> stop()
        >>> recorder.totals_before(scene).placed, recorder.snapshot().placed
        (3, 4)
        """
        totals = dict(self._beginnings).get(scene.id)
        return None if totals is None else totals.snapshot(())

    def totals_before_machine(self) -> Snapshot:
        """Returns the totals before the last restart, without events.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> tf.runtime.restart()
        >>> d = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.totals_before_machine().placed, recorder.snapshot().placed
        (3, 6)
        """
        return self._before_machine.snapshot(())

    def end_scene(self) -> None:
        """Ends the current scene, if any; memory that it freed is reported first.

        >>> recorder = tf.runtime.Recorder()
        >>> scene = recorder.begin_scene("cell 1")
        >>> recorder.end_scene()
        >>> scene.last is None, recorder.scenes[-1].last is None
        (True, False)
        """
        self.collect()
        if self._scenes and self._scenes[-1].last is None:
            self._scenes[-1] = self._scenes[-1]._replace(last=next_number())

    def begin_machine(self) -> None:
        """Called after a restart: later events belong to a new machine.

        >>> recorder = tf.runtime.Recorder()
        >>> scene = recorder.begin_scene("cell 1")
        >>> recorder.begin_machine()
        >>> [(scene.cell, scene.machine) for scene in recorder.scenes]
        [('cell 1', 1), ('cell 1', 2)]
        """
        self._machine += 1
        self._before_machine = self._look()[0]
        self.machine_first: int = next_number()
        if self._scenes and self._scenes[-1].last is None:
            self.begin_scene(self._scenes[-1].cell)

    def events_of(self, scene: Scene) -> Sequence[Event]:
        """Returns the events of a scene that are still kept.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> scene = recorder.begin_scene("cell 2")
        >>> d = tf.add(c, c)
        >>> stop()
        >>> [type(event).__name__ for event in recorder.events_of(scene)]
        ['OpPlaced', 'OpExecuted']
        """
        return self._look()[1].last_events(self._capacity).between(scene.first, scene.last)

    # Notes

    def count(self) -> None:
        """Counts pending notes, unless a count is already in progress in any thread.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.count()
        >>> recorder.snapshot().placed
        3
        """
        if self._lock.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._lock.release()

    def __call__(self, event: Event) -> None:
        """Records an event, so that a recorder can also serve as an observer."""
        self.pending_notes.extend(note_of_event(event))
        if len(self.pending_notes) > _BATCH * NOTE:
            self.count()

    def _count(self, batches_to_wait: int = 1) -> None:
        """Counts pending notes, and drops the oldest batch while the others hold enough events.

        Args:
          batches_to_wait: packs once this many times the usual number of notes are waiting.
        """
        pending_notes, pieces, batches = self.pending_notes, self.pieces, self._kept
        notes, boxes = pending_notes[:], pieces[:]
        if notes or boxes:
            totals = self._totals.with_notes(notes, boxes)
            count, opened = len(notes), len(boxes)
            added = totals.heard - self._totals.heard
            entries = boxes[0] if opened == 1 else [*chain.from_iterable(boxes)]
            batch = deque([Batch.of(added, notes, entries)])
            # No calls or loops from here on, so that an interrupt cannot split the change.
            del pending_notes[:count]
            del pieces[:opened]
            batches += batch
            self._kept_events += added
            self._totals = totals
        self._pack(batches_to_wait * _BATCH)
        batches = self._kept
        while batches and self._kept_events - batches[0].events >= self._capacity:
            self._let_pass(batches[0])
            densities = self._densities.with_work(*batches[0].work())
            # No calls or loops here either, so that an interrupt cannot split the change.
            self._kept_events -= batches[0].events
            del batches[0]
            self._densities = densities

    def _pack(self, threshold: int) -> None:
        """Packs the last batches if they contain enough notes."""
        batches = self._kept
        loose = [*takewhile(lambda batch: not batch.is_packed, reversed(batches))][::-1]
        if not loose or sum([batch.size for batch in loose]) < threshold:
            return
        if loose[0].clock is not None:  # it was read
            for batch in loose:
                self._let_pass(batch)
        packed = deque(islice(batches, len(batches) - len(loose)))
        packed.append(Batch.packed(loose))
        self._kept = packed

    def _let_pass(self, batch: Batch) -> None:
        """Advances the modelled clock to the end of a batch."""
        if batch.clock is None:
            end_clock = batch.clock_after(self._clock)
            batch.clock, self._clock = self._clock, end_clock

    def _look(self, may_be_late: bool = False) -> tuple[Totals, Recorded]:
        """Returns the totals and the kept part, both immutable."""
        length, self._uncounted = self._uncounted, len(self.pending_notes)
        is_late = may_be_late and self._uncounted > _BATCH * NOTE and self._uncounted != length
        if not is_late:
            self.collect()
        with self._lock:
            if not is_late:
                self._count(_LOOSE)  # packing here would make more, smaller batches and slow the road
            for batch in self._kept:
                self._let_pass(batch)
            return self._totals, Recorded([*self._kept], self._capacity, self._densities)

    def snapshot(self, last: int | None = None, may_be_late: bool = False) -> Snapshot:
        """Returns the totals and the last events.

        Args:
          last: maximum number of events; None returns all that are kept.
          may_be_late: whether to skip ops that the running program will count within milliseconds; counting them in
            another thread is slower and delays the program.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.snapshot(last=1).executed
        3
        """
        totals, recorded = self._look(may_be_late)
        return totals.snapshot(recorded.last_events(self._capacity if last is None else last))

    def placed_before(self, seq: int) -> OpPlaced | None:
        """Returns the placement of the op whose `OpExecuted` event has this number, if it is still kept.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.placed_before(recorder.snapshot().events[-1].seq).op
        'AddV2'
        """
        batches = self._look()[1].batches
        executed = _executed(batches, seq)
        if executed is None:
            return None
        for batch in [batch for batch in reversed(batches) if batch.low < seq]:
            for event in reversed(batch.event_list()):
                if event.seq < seq and isinstance(event, OpPlaced) and _same_op(event, executed):
                    return event
        return None

    def placed_node(self, name: str) -> OpPlaced | None:
        """Returns the placement of a graph node from its last run in a session, if it is still kept.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> stop()
        >>> recorder.placed_node("MatMul_1") is None
        True
        """
        batches = (batch for batch in reversed(self._look()[1].batches) if batch.has_node(name))
        for note in chain.from_iterable(reversed([*batch.notes()]) for batch in batches):
            if note[WHERE][2].node == name:
                for event in note[SUBJECT].events(note):
                    if isinstance(event, OpPlaced):
                        return event
        return None

    def clear(self) -> None:
        """Discards everything, including the totals.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.clear()
        >>> recorder.snapshot().heard
        0
        """
        self.collect()
        with self._lock:
            totals, densities = Totals(), Densities()
            batches: deque[Batch] = deque()
            beginnings: deque[tuple[int, Totals]] = deque(maxlen=_BEGINNINGS)
            self.pending_notes[:], self.pieces[:], self._kept, self._kept_events, self._totals = (
                (),
                (),
                batches,
                0,
                totals,
            )
            self._beginnings, self._before_machine, self._densities = beginnings, totals, densities


def _executed(batches: Sequence[Batch], seq: int) -> OpExecuted | None:
    """Returns the `OpExecuted` event with a number; None if there is none."""
    for batch in batches:
        if batch.low <= seq <= batch.high:
            for event in batch.event_list():
                if event.seq == seq and isinstance(event, OpExecuted):
                    return event
    return None


def _same_op(placed: OpPlaced, executed: OpExecuted) -> bool:
    """Returns whether two events belong to one op, because other threads' events may come between them."""
    return (placed.op, placed.device, placed.site) == (executed.op, executed.device, executed.site)
