"""Exact totals of everything observed, however many events are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices.journal import ENTRY, Entries
from nbtf._runtime.density import Densities
from nbtf._runtime.event_sequence import Events, Levels, levels_in, lines_in, memory_in, span_of, work_in
from nbtf._runtime.events import Allocated, Copied, Event, OpExecuted, OpPlaced, Reason, Traced
from nbtf._runtime.lines import Lines
from nbtf._runtime.notes import LEVEL, NOTE, SUBJECT
from nbtf._runtime.pieces import is_scratch
from nbtf._runtime.subjects import Subject
from nbtf._runtime.work import Work

SMALL_COPY = 4096
"""Copies of fewer bytes are counted separately: mostly numbers that the program reads, which tables collapse."""

Ops = dict[tuple[str, str, Reason], int]
Ways = dict[tuple[str, str], int]

_IN_USE = 2


class Snapshot(NamedTuple):
    """The state of a recorder at one moment. Totals count everything observed; `events` are the last of `heard` events.

    `ops` counts by (op, device, reason), and `nbytes` sums the bytes of the results. `copies` counts by (source,
    target), and `copied_bytes` sums their bytes. `moves` and `moved_bytes` count only copies of tensors, without
    uploads and reads of values; `small_moves` and `small_moved_bytes` are those under 4 KiB. `small_copies` and
    `small_copied_bytes` are all copies under 4 KiB.
    `peaks` is the highest memory use of nbtf's own tensors on each device, according to the events. `library_peaks` has
    each library's peak by (library, device); their allocators count separately, and the peaks may occur at different
    times. `modelled` sums the seconds of ops with modelled times. `traces` lists all traces observed.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> snapshot = record.snapshot()
    >>> snapshot.executed, snapshot.heard, len(snapshot.events)
    (3, 6, 6)
    """

    heard: int
    events: Sequence[Event]
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
    traces: tuple[Traced, ...]
    library_peaks: dict[tuple[str, str], int]

    @property
    def placed(self) -> int:
        """Number of ops that were placed.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.snapshot().placed
        3
        """
        return sum(self.ops.values())

    @property
    def cut(self) -> int:
        """Number of observed events that are no longer in `events`.

        >>> with tf.runtime.recording(capacity=10) as record:
        ...     for step in range(100):
        ...         c = tf.add(1.0, 2.0)
        >>> snapshot = record.snapshot()
        >>> snapshot.cut == snapshot.heard - len(snapshot.events)
        True
        """
        return self.heard - len(self.events)

    @property
    def density(self) -> Densities:
        """How busy devices were before the kept events, in time bins.

        >>> with tf.runtime.recording(capacity=10) as record:
        ...     for step in range(30_000):
        ...         c = tf.add(1.0, 2.0)
        >>> [phase for device, phase in record.snapshot().density.measured.lanes]
        ['']
        """
        return self.events.recording.densities if isinstance(self.events, Events) else Densities()

    @property
    def work(self) -> Work:
        """The kept ops and copies in columns: a hundredth of the memory of `events`, in a fraction of the time.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> len(record.snapshot().work.seq)
        3
        """
        return work_in(self.events)

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and highest number of `events`; no other kept event has a number in this range.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> snapshot = record.snapshot()
        >>> first, last = snapshot.span
        >>> first <= snapshot.events[0].seq <= snapshot.events[-1].seq <= last
        True
        """
        return span_of(self.events)

    @property
    def levels(self) -> Levels:
        """Each device's memory level after every kept event that changed it, in columns: number, in use, pool.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> list(record.snapshot().levels)
        ['/job:localhost/replica:0/task:0/device:GPU:0']
        """
        return levels_in(self.events)

    def memory(self) -> dict[str, list[Event]]:
        """Returns the kept memory events of each simulated GPU, keyed by full name.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> {device: len(events) for device, events in record.snapshot().memory().items()}
        {'/job:localhost/replica:0/task:0/device:GPU:0': 4}
        """
        return memory_in(self.events)

    def lines(self) -> Lines:
        """Returns which program line ran when, in columns.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> len(record.snapshot().lines().sites)
        1
        """
        return lines_in(self.events)

    def memory_of(self, device: str) -> Sequence[Event]:
        """Returns the kept memory events of a simulated GPU, without creating the other events.

        Args:
          device: full name of the device.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> events = record.snapshot().memory_of("/job:localhost/replica:0/task:0/device:GPU:0")
        >>> [type(event).__name__ for event in events]
        ['Allocated', 'Allocated', 'Allocated', 'Freed']
        """
        return self.events.recording.memory_of(device) if isinstance(self.events, Events) else ()

    def since(self, beginning: Snapshot) -> Snapshot:
        """Returns the totals since an earlier snapshot of the recorder; peaks are those of the whole recording.

        >>> recorder = tf.runtime.Recorder()
        >>> stop = tf.runtime.start_recorder(recorder)
        >>> c = tf.add(1.0, 2.0)
        >>> beginning = recorder.snapshot(0)
        >>> d = tf.add(c, c)
        >>> stop()
        >>> recorder.snapshot().since(beginning).placed
        1
        """
        differences = {
            name: _difference(value, getattr(beginning, name))
            for name, value in self._asdict().items()
            if name not in ("events", "peaks", "traces", "library_peaks")
        }
        return self._replace(**differences, traces=self.traces[len(beginning.traces) :])


def _difference(total: Any, earlier_total: Any) -> Any:
    """Returns what was added to a total, or to each of several; unchanged ones are left out."""
    if isinstance(total, int):
        return total - earlier_total
    return {
        key: value - earlier_total.get(key, 0) for key, value in total.items() if value != earlier_total.get(key, 0)
    }


class Totals:
    """Counters. Totals in use are never changed, only replaced."""

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
        self.library_peaks: dict[tuple[str, str], int] = {}
        self.modelled: dict[tuple[str, str, Reason], float] = {}
        self.traces: list[Traced] = []

    def with_notes(self, notes: list[Any], boxes: Entries) -> Totals:
        """Returns new totals that include more notes. Loop iterations are counted together, in C code.

        Args:
          notes: a flat list of notes of ops and copies.
          boxes: flat lists of memory entries, each from one device.
        """
        result = Totals()
        for name, value in vars(self).items():
            setattr(result, name, value if isinstance(value, int) else value.copy())
        times: Counter[Subject] = Counter(notes[SUBJECT::NOTE])
        if any([subject.memory is not None for subject in times]):
            for subject, level in zip(notes[SUBJECT::NOTE], notes[LEVEL::NOTE], strict=True):
                if level is not None:
                    result._reach(subject.holder, level[0], "")
        for entries in boxes:
            times.update(entries[SUBJECT::ENTRY])
            if len(entries) > ENTRY or not is_scratch(tuple(entries)):  # an unused GPU has no peak
                subject = entries[SUBJECT]
                result._reach(subject.holder, max(entries[_IN_USE::ENTRY]), subject.library)
        for subject, count in times.items():
            result._add(subject.sample, count)
        return result

    def _add(self, events: Sequence[Event], times: int) -> None:
        """Adds the events of one op or copy, `times` times."""
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
                self._reach(event.device, event.in_use, event.library)
            elif isinstance(event, Copied):
                self._add_copy(event, times)
            elif isinstance(event, Traced):
                self.traces.append(event)

    def _add_copy(self, event: Copied, times: int) -> None:
        route = event.source, event.target
        self.copies[route] += times
        self.copied_bytes[route] += times * event.nbytes
        if event.nbytes < SMALL_COPY:
            self.small_copies[route] += times
            self.small_copied_bytes[route] += times * event.nbytes
        if event.kind == "move":
            self.moves[route] += times
            self.moved_bytes[route] += times * event.nbytes
            if event.nbytes < SMALL_COPY:
                self.small_moves[route] += times
                self.small_moved_bytes[route] += times * event.nbytes

    def snapshot(self, events: Sequence[Event]) -> Snapshot:
        """Returns a snapshot of the totals with some events."""
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
            tuple(self.traces),
            dict(self.library_peaks),
        )

    def _reach(self, device: str, in_use: int, library: str) -> None:
        if library:
            self.library_peaks[library, device] = max(self.library_peaks.get((library, device), 0), in_use)
        else:
            self.peaks[device] = max(self.peaks.get(device, 0), in_use)
