"""The recorder: exact totals of everything observed, and the last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.journal import Entries
from nbtf._locks import new_lock
from nbtf._record.clock import Clock
from nbtf._record.density import Densities
from nbtf._record.events import Event, OpExecuted, OpPlaced
from nbtf._record.rows import NUMBER, ROW, SCENE, SUBJECT, next_number, note_of_event, row_of_mark
from nbtf._record.sequence import Kept
from nbtf._record.table import Block, Facts
from nbtf._record.totals import Snapshot as Snapshot
from nbtf._record.totals import Totals

CAPACITY = 1_000_000
"""Default number of kept events: less than 48 MB, filled in ten seconds by a loop over small tensors."""

_BLOCK = 1000
"""Number of rows and entries from which on a block is full."""

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


class State(NamedTuple):
    """The content of a recorder: its blocks of events, and what it has counted."""

    capacity: int
    blocks: tuple[Block, ...]
    totals: Totals
    densities: Densities
    scenes: tuple[Scene, ...]


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
        self.pending_notes: list[Any] = []  # a flat list of rows that are not counted yet
        self.pieces: Entries = []  # memory entries that are not counted yet
        self.collect: Callable[[], object] = _nothing
        self._uncounted = 0  # length of the list of rows at the last reading
        self._blocks: tuple[Block, ...] = ()
        self._facts: Facts | None = None  # those of the last block, unless it is full
        self._totals, self._clock, self._densities = Totals(), Clock(), Densities()
        self._scenes: deque[Scene] = deque(maxlen=_SCENES)
        self._beginnings: deque[tuple[int, Totals]] = deque(maxlen=_BEGINNINGS)
        self._before_machine = self._totals
        self._machine = 1
        self.machine_first = 0
        """The smallest event number since the last restart."""

    @classmethod
    def of(cls, state: State) -> Recorder:
        """Returns a recorder with the content of another one.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> tf.runtime.Recorder.of(recorder.state()).snapshot().placed
        3
        """
        recorder = cls(state.capacity)
        recorder._blocks, recorder._totals, recorder._densities = state.blocks, state.totals, state.densities
        recorder._scenes.extend(state.scenes)
        return recorder

    def state(self) -> State:
        """Returns everything recorded so far; the parts are never changed.

        >>> tf.runtime.Recorder().state().capacity
        1000000
        """
        totals, _ = self._look()
        return State(self._capacity, self._blocks, totals, self._densities, self.scenes)

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
        mark = row_of_mark(SCENE)
        scene = Scene(self._scenes[-1].id + 1 if self._scenes else 1, self._machine, cell, mark[NUMBER])
        self.pending_notes.extend(mark)
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
        return None if totals is None else totals.snapshot()

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
        return self._before_machine.snapshot()

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
        return self._look()[1].last_events().between(scene.first, scene.last)

    # Rows

    def count(self) -> None:
        """Counts pending rows, unless a count is already in progress in any thread.

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
        if len(self.pending_notes) > _BLOCK * ROW:
            self.count()

    def _count(self) -> None:
        """Puts pending rows into the table, and drops the oldest block while the others hold enough events."""
        pending, pieces = self.pending_notes, self.pieces
        rows, boxes = pending[:], pieces[:]
        if rows or boxes:
            count, opened = len(rows), len(boxes)
            clock, facts, blocks = self._clock.copy(), self._facts or Facts(), self._blocks
            block = Block.of(rows, boxes, facts, clock)
            totals = self._totals.with_block(block)
            if self._facts is not None:
                blocks, block = blocks[:-1], blocks[-1].followed_by(block)
            if len(block.rows) + len(block.entries) >= _BLOCK:
                facts, block = None, block.packed()
            blocks = (*blocks, block)
            # No calls or loops from here on, so that an interrupt cannot split the change.
            del pending[:count]
            del pieces[:opened]
            self._blocks, self._facts, self._totals, self._clock = blocks, facts, totals, clock
        event_count = sum([block.events for block in self._blocks])
        while self._blocks and event_count - self._blocks[0].events >= self._capacity:
            event_count -= self._blocks[0].events
            densities = self._densities.with_work(*self._blocks[0].work())
            blocks = self._blocks[1:]
            facts = self._facts if blocks else None
            # No calls or loops here either, so that an interrupt cannot split the change.
            self._blocks, self._facts, self._densities = blocks, facts, densities

    def _look(self, may_be_late: bool = False) -> tuple[Totals, Kept]:
        """Returns the totals and the kept part, both immutable."""
        length, self._uncounted = self._uncounted, len(self.pending_notes)
        is_late = may_be_late and self._uncounted > _BLOCK * ROW and self._uncounted != length
        if not is_late:
            self.collect()
        with self._lock:
            if not is_late:
                self._count()
            return self._totals, Kept(self._blocks, self._capacity, self._densities)

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
        return totals.snapshot(recorded.last_events(last))

    def placed_before(self, seq: int) -> OpPlaced | None:
        """Returns the placement of the op whose `OpExecuted` event has this number, if it is still kept.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> stop()
        >>> recorder.placed_before(recorder.snapshot().events[-1].seq).op
        'AddV2'
        """
        events = self._look()[1].last_events().between(0, seq)
        executed = events[-1] if len(events) else None
        if not isinstance(executed, OpExecuted) or executed.seq != seq:
            return None
        for event in reversed(events):  # other threads' events may come in between
            if isinstance(event, OpPlaced) and _op(event) == _op(executed):
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
        for block in reversed(self._look()[1].blocks):
            facts = block.facts
            is_run = np.array([not fact[SUBJECT].is_entry and fact[1][2].node == name for fact in facts])
            for at in reversed(np.flatnonzero(is_run[block.rows["fact"]]).tolist()):
                row = block.row(at, facts)
                for event in row[SUBJECT].events(row):
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
            beginnings: deque[tuple[int, Totals]] = deque(maxlen=_BEGINNINGS)
            self.pending_notes[:], self.pieces[:], self._blocks, self._facts, self._totals = (), (), (), None, totals
            self._beginnings, self._before_machine, self._densities = beginnings, totals, densities


def _op(event: OpPlaced | OpExecuted) -> tuple[object, ...]:
    return event.op, event.device, event.site
