"""Exact totals of everything observed, however many events are dropped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from nbtf._counts import counted
from nbtf._displayed import Drawn
from nbtf._record.density import Densities
from nbtf._record.events import Allocated, Copied, Event, Freed, OpExecuted, OpPlaced, Reason, Refused, Traced
from nbtf._record.memory import is_scratch
from nbtf._record.queries import (
    Levels,
    Lines,
    Work,
    levels_of_events,
    lines_of_events,
    work_of_events,
)
from nbtf._record.rows import SUBJECT
from nbtf._record.sequence import Events
from nbtf._record.table import Block

SMALL_COPY = 4096
"""Copies of fewer bytes are counted separately: mostly numbers that the program reads, which tables collapse."""

Ops = dict[tuple[str, str, Reason], int]
Ways = dict[tuple[str, str], int]


class Snapshot(NamedTuple):
    """The state of a recorder at one moment. Totals count everything observed; `events` are the last of `heard` events.

    `ops` counts by (op, device, reason), and `nbytes` sums the bytes of the results. `unsized` counts ops whose results
    have an unknown size, such as the nodes of a function that another library runs. `copies` counts by (source,
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
    unsized: Ops

    # A tuple with names has no other base class.
    _repr_mimebundle_ = Drawn._repr_mimebundle_
    _repr_html_ = Drawn._repr_html_
    _repr_svg_ = Drawn._repr_svg_

    def _repr_pretty_(self, page: Any, cycle: bool) -> None:
        """Prints totals only into a page of IPython, because all events would be a long text."""
        page.text(self._totals())

    def _totals(self) -> str:
        copies = sum(self.copies.values())
        return f"Snapshot: {counted(self.executed, 'op')}, {counted(copies, 'copy', 'copies')}"

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
        return self.events.work if isinstance(self.events, Events) else work_of_events(self.events)

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
        if isinstance(self.events, Events):
            return self.events.span
        return (self.events[0].seq, self.events[-1].seq) if self.events else (0, -1)

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
        return self.events.recording.levels if isinstance(self.events, Events) else levels_of_events(self.events)

    def memory(self) -> dict[str, list[Event]]:
        """Returns the kept memory events of each simulated GPU, keyed by full name.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> {device: len(events) for device, events in record.snapshot().memory().items()}
        {'/job:localhost/replica:0/task:0/device:GPU:0': 4}
        """
        events: Iterable[Event] = self.events
        if isinstance(events, Events):
            events = events.recording.memory_between(*events.span)
        by_device: dict[str, list[Event]] = {}
        for event in sorted(events, key=attrgetter("seq")):
            if isinstance(event, Refused) or (isinstance(event, Allocated | Freed) and event.region >= 0):
                by_device.setdefault(event.device, []).append(event)
        return by_device

    def lines(self) -> Lines:
        """Returns which program line ran when, in columns.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> len(record.snapshot().lines().sites)
        1
        """
        return self.events.recording.lines if isinstance(self.events, Events) else lines_of_events(self.events)

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


_EMPTY: dict[str, Any] = Snapshot(0, (), {}, 0, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, (), {}, {})._asdict()
_COUNTED = [name for name, value in _EMPTY.items() if value == {}]


class Totals:
    """Counters of everything observed. Totals in use are never changed, only replaced."""

    def __init__(self, earlier: Mapping[str, Any] = _EMPTY) -> None:
        """Starts with what was counted earlier, by field of `Snapshot`."""
        self._fields = dict(earlier)
        self._fields |= {name: defaultdict[Any, Any](int, earlier[name]) for name in _COUNTED}

    def snapshot(self, events: Sequence[Event] = ()) -> Snapshot:
        """Returns a snapshot of the totals with some events."""
        counted: dict[str, Any] = {name: dict(self._fields[name]) for name in _COUNTED}
        return Snapshot(**self._fields | counted)._replace(events=events)

    def with_block(self, block: Block) -> Totals:
        """Returns new totals that include a block. Loop iterations are counted together, in C code."""
        result, facts, entries = Totals(self._fields), block.facts, block.entries
        numbers: list[int] = []
        of_device: Counter[str] = Counter()
        for table in (block.rows, entries):
            counts = np.bincount(table["fact"], minlength=1)
            numbers = np.flatnonzero(counts).tolist()
            for number in numbers:
                result._add(facts[number][SUBJECT].sample, int(counts[number]))
        highest = np.zeros(len(facts), np.int64)
        np.maximum.at(highest, entries["fact"], entries["in_use"])
        for number in numbers:
            of_device[facts[number][SUBJECT].holder] += int(counts[number])
        for number in numbers:
            subject = facts[number][SUBJECT]
            if of_device[subject.holder] > 1 or not is_scratch(facts[number]):  # an unused GPU has no peak
                result._reach(subject.holder, int(highest[number]), subject.library)
        return result

    def _add(self, events: Sequence[Event], times: int) -> None:
        """Adds the events of one op or copy, `times` times."""
        fields = self._fields
        fields["heard"] += len(events) * times
        placed = None
        for event in events:
            if isinstance(event, OpPlaced):
                placed = event.op, event.device, event.reason
                fields["ops"][placed] += times
            elif isinstance(event, OpExecuted):
                fields["executed"] += times
                if placed is not None:
                    self._add_end(placed, event, times)
            elif isinstance(event, Allocated):
                fields["allocations"][event.device] += times
                self._reach(event.device, event.in_use, event.library)
            elif isinstance(event, Copied):
                for count, nbytes in _counts_of_copy(event):
                    fields[count][event.source, event.target] += times
                    fields[nbytes][event.source, event.target] += times * event.nbytes
            elif isinstance(event, Traced):
                fields["traces"] += (event,)

    def _add_end(self, placed: tuple[str, str, Reason], event: OpExecuted, times: int) -> None:
        fields = self._fields
        fields["nbytes"][placed] += times * sum(output.nbytes for output in event.outputs)
        if event.timing == "unknown" and not event.outputs:
            fields["unsized"][placed] += times
        if event.timing == "modelled":
            fields["modelled"][placed] += times * event.seconds

    def _reach(self, device: str, in_use: int, library: str) -> None:
        peaks, key = ("library_peaks", (library, device)) if library else ("peaks", device)
        self._fields[peaks][key] = max(self._fields[peaks][key], in_use)


def _counts_of_copy(copy: Copied) -> Iterator[tuple[str, str]]:
    """Yields the fields of `Snapshot` that count a copy, and its bytes."""
    yield "copies", "copied_bytes"
    if copy.kind == "move":
        yield "moves", "moved_bytes"
    if copy.nbytes < SMALL_COPY:
        yield "small_copies", "small_copied_bytes"
        if copy.kind == "move":
            yield "small_moves", "small_moved_bytes"
