"""What is taken down of an op or a copy while the program runs, and which events that stands for.

An event takes a microsecond to make, and most are never looked at. So the road writes a note, a plain tuple of what is
at hand, and whoever looks makes events of it. First in a note stands its subject, which all rounds of a loop share: the
op, where it ran and on what shapes. The rest are numbers and times. A note keeps no tensor and no frame alive, only
devices, records of ops, and code.

    subject, number and time of its end, place in the program, number and time of its begin,
    seconds as measured (None where time is modelled),
    in use and pool of the device afterwards (None where nothing was taken, or a journal says so; see `pieces.py`),
    None, or the numbers of constants before an op and of its allocations where there are several

Numbers are even; the odd one before belongs to the same note. The notes that wait stand behind each other in one list,
without tuples around them: a garbage collector that goes through a hundred thousand tuples costs more than the notes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, time
from typing import Any, Protocol, TypeAlias, cast

from nbtf._devices.base import Device, Made, Memory, Runnable, nbytes_of
from nbtf._devices.sites import NO_PLACE, Site, Where, site_of
from nbtf._runtime.clock import Lanes, lanes_of
from nbtf._runtime.events import Allocated, Copied, CopyKind, Event, OpExecuted, OpPlaced, OutputSpec, Reason

Note: TypeAlias = "tuple[Any, ...]"
SUBJECT, NUMBER, TIME, WHERE, FIRST, BEGAN, SECONDS, LEVEL, MORE = range(9)
NOTE = 9
"""So much stands in a note."""

Begun: TypeAlias = "tuple[Where, int, float, Sequence[int] | None]"
"""Of an op that is about to run: place, number, time, numbers of the events of its constants."""

next_number = itertools.count(2, 2).__next__
"""Returns the next number, unique in the process, as is the odd one before it."""

_REMEMBERED = 4096
"""Subjects kept; a loop over ever new shapes must not fill the memory."""


class Subject(Protocol):
    """What a note is about."""

    memory: Memory | None
    """The account that memory was taken from."""
    holder: str
    """The name of the device that keeps it."""

    lanes: Lanes | None
    """Which devices it keeps busy on the modelled clock, and for how long."""
    sample: Sequence[Event]
    """What every note of it stands for, but for numbers, times and places."""

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns what the note stands for, in order; `start` is when that began on the modelled clock."""
        ...

    def events_afterwards(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns what is told when the note is taken; of an op, all but that it began."""
        ...


def _sample(subject: OpSubject | CopySubject, constants: int = 0, results: int = 1) -> list[Event]:
    more = [0] * constants, [0] * results
    return subject.events((subject, 0, 0.0, NO_PLACE, 0, 0.0, 0.0, (0, 0), more))


# Ops

_placed: Callable[[Any], OpPlaced] = partial(cast("Any", tuple).__new__, OpPlaced)
_executed: Callable[[Any], OpExecuted] = partial(cast("Any", tuple).__new__, OpExecuted)
"""Make an event of a tuple in a third of the time: there may be a million."""


def events_of_begin(op: Runnable, device: Device, reason: Reason, start: Begun) -> list[Event]:
    """Returns what is told before an op runs: its constants, and where it will be."""
    where, seq, now, numbers = start
    place = place_of(where)
    events: list[Event] = []
    for number in numbers or ():  # the host has the value: nothing is made
        events.append(OpPlaced("_EagerConst", device.name, reason, number - 1, now, *place))
        events.append(OpExecuted("_EagerConst", device.name, (), 0.0, "finished", number, now, *place))
    events.append(_placed((op.type, device.name, reason, seq, now, *place)))
    return events


class OpSubject:
    """An op that ran on a device, on inputs of certain shapes; `runner` is None if it has failed."""

    __slots__ = ("_device", "_op", "_outputs", "_reason", "_runner", "_timed", "holder", "lanes", "memory", "sample")

    def __init__(
        self,
        op: Runnable,
        device: Device,
        reason: Reason,
        constants: int | None = None,
        runner: Device | None = None,
        shapes: Any = (),
        dtypes: Any = (),
        input_shapes: Sequence[tuple[int, ...]] | None = None,
        input_dtypes: Sequence[Any] = (),
    ) -> None:
        """Takes shapes and dtypes of the results as `take_note_of_op` has them: bare if there is but one."""
        self._op, self._device, self._reason, self._runner = op, device, reason, runner
        self.memory = None if runner is None or op.shares_memory or runner.tells_pieces else runner.memory
        self.holder = "" if runner is None else runner.name
        made: list[Made] = list(zip(shapes, dtypes, strict=True)) if dtypes.__class__ is tuple else [(shapes, dtypes)]
        self._outputs = tuple([OutputSpec(shape, dtype.name, nbytes_of(shape, dtype)) for shape, dtype in made])
        self._timed: tuple[float, str] | None = None
        if input_shapes is not None and runner is not None:
            inputs = list(zip(input_shapes, input_dtypes, strict=False))  # what takes nothing is placed by its result
            self._timed = runner.time_of(op, inputs, made, 0.0)
        self.sample = _sample(self, constants or 0, len(made))
        self.lanes = lanes_of(self.sample)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns what the note stands for, in order."""
        _, _, _, where, first, began, _, _, more = note
        begun = where, first, began, more and more[0]
        events = events_of_begin(self._op, self._device, self._reason, begun)
        return [*events, *self.events_afterwards(note, start)] if self._runner is not None else events

    def events_afterwards(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns what is told when the op has run."""
        if self._runner is None:
            return []
        _, last, now, where, _, _, seconds, level, more = note
        place = place_of(where)
        events: list[Event] = []
        if self.memory is not None:
            numbers = [last - 1] if len(self._outputs) == 1 else more[1]
            in_use, pool = level
            for spec, number in zip(self._outputs, numbers, strict=True):
                if spec.nbytes:
                    events.append(Allocated(self.holder, spec.nbytes, in_use, pool, number, now, *place))
        timed = self._timed or self._runner.time_of(self._op, (), (), seconds)
        events.append(_executed((self._op.type, self._device.name, self._outputs, *timed, last, now, *place, start)))
        return events


_SUBJECTS: dict[tuple[Any, ...], OpSubject] = {}


def _new_subject(key: tuple[Any, ...], reason: Reason) -> OpSubject:
    """Makes a subject, which keeps the reason alive whose `id` stands in its key: equal ones may differ in paths."""
    if len(_SUBJECTS) >= _REMEMBERED:
        _SUBJECTS.clear()
    op, device, _, *more = key
    subject = _SUBJECTS[key] = OpSubject(op, device, reason, *more)
    return subject


def note_of_failure(op: Runnable, device: Device, reason: Reason, start: Begun) -> Note:
    """Returns the note of an op that did not finish."""
    where, first, began, constants = start
    subject = OpSubject(op, device, reason, len(constants or ()))
    return subject, next_number(), began, where, first, began, None, None, (constants, None)


class Desk(Protocol):
    """Where notes go."""

    due: int
    """After a note with a number above this, `count` is called."""

    @property
    def takers(self) -> Sequence[Callable[[Note], object]]:
        """What is called with every note."""
        ...

    def count(self) -> None:
        """Counts what was taken."""
        ...


def take_note_of_op(
    desk: Desk,
    op: Runnable,
    placed: tuple[Device, Device, Reason],
    start: Begun,
    outputs: Sequence[Any],
    dtypes: Sequence[Any],
    started: float,
    input_shapes: tuple[tuple[int, ...], ...] | None,
    input_dtypes: tuple[Any, ...],
) -> None:
    """Takes a note of an op that has just run; its results remember their number.

    Args:
      desk: who gets it.
      op: its record.
      placed: where it belongs, which device ran the kernel, whose account is that of this moment, and why.
      start: how it began.
      outputs: the results.
      dtypes: their dtypes.
      started: when the kernel did, by `perf_counter`; 0 where there was none.
      input_shapes: what the kernel took, lists flattened; not needed where time is measured.
      input_dtypes: their dtypes.
    """
    device, runner, reason = placed
    seconds = None if runner.models_time else perf_counter() - started if started else 0.0
    where, first, began, constants = start
    count = more = None
    if constants is not None:
        count, more = len(constants), (constants, None)
    if len(outputs) == 1:
        (output,) = outputs
        output._seq = last = next_number()
        key = op, device, id(reason), count, runner, output._array.shape, dtypes[0], input_shapes, input_dtypes
    else:
        if runner.memory is not None and not runner.tells_pieces:
            more = constants, [next_number() for _ in outputs]
        last = next_number()
        for output in outputs:
            output._seq = last
        made = tuple([output._array.shape for output in outputs])
        key = op, device, id(reason), count, runner, made, tuple(dtypes), input_shapes, input_dtypes
    try:
        subject = _SUBJECTS[key]
    except KeyError:
        subject = _new_subject(key, reason)
    level = None if subject.memory is None else subject.memory.level()
    note = subject, last, time(), where, first, began, seconds, level, more
    for take in desk.takers:
        take(note)
    if last > desk.due:
        desk.count()


# Copies, and what others tell


class CopySubject:
    """Bytes that go from one device to another."""

    __slots__ = ("_kind", "_nbytes", "_source", "_target", "holder", "lanes", "memory", "sample")

    def __init__(self, source: Device, target: Device, kind: CopyKind, nbytes: int) -> None:
        """Says what goes where."""
        self._source, self._target, self._nbytes = source, target, nbytes
        self._kind: CopyKind = kind
        self.memory = target.memory if nbytes and kind != "read" and not target.tells_pieces else None
        self.holder = target.name
        self.sample = _sample(self)
        self.lanes = lanes_of(self.sample)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the copy, and the memory that it took."""
        _, last, now, where, _, _, measured, level, _ = note
        place = place_of(where)
        source, target, nbytes = self._source, self._target, self._nbytes
        link = source if target.on_host else target  # a GPU's link is the slow one
        seconds, modelled = link.copy_time_of(nbytes, measured)
        copied = Copied(source.name, target.name, nbytes, seconds, modelled, self._kind, last - 1, now, *place, start)
        if self.memory is None:
            return [copied]
        in_use, pool = level
        return [copied, Allocated(target.name, nbytes, in_use, pool, last, now, *place)]

    events_afterwards = events


_COPIES: dict[tuple[Any, ...], CopySubject] = {}


def note_of_copy(source: Device, target: Device, kind: CopyKind, nbytes: int, seconds: float, where: Where) -> Note:
    """Returns the note of a copy that has been made."""
    key = source, target, kind, nbytes
    subject = _COPIES.get(key)
    if subject is None:
        if len(_COPIES) >= _REMEMBERED:
            _COPIES.clear()
        subject = _COPIES[key] = CopySubject(*key)
    level = None if subject.memory is None else subject.memory.level()
    number = next_number()
    return subject, number, time(), where, number, 0.0, seconds, level, None


class EventSubject:
    """An event that was made elsewhere."""

    __slots__ = ("lanes", "sample")
    memory, holder = None, ""

    def __init__(self, event: Event) -> None:
        """Keeps the event."""
        self.sample = [event]
        self.lanes = lanes_of(self.sample)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the event."""
        return self.sample if start is None else [cast("Any", event)._replace(start=start) for event in self.sample]

    events_afterwards = events


def note_of_event(event: Event) -> Note:
    """Returns the note of an event that was made elsewhere."""
    return EventSubject(event), event.seq, event.time, NO_PLACE, event.seq, 0.0, None, None, None


Place: TypeAlias = "tuple[Site, str | None, int | None, str, str]"
_PLACES: dict[int, tuple[Where, Place]] = {}


def place_of(where: Where) -> Place:
    """Returns what stands last in every event: site, graph node, replica, phase, layer."""
    entry = _PLACES.get(id(where))
    if entry is None or entry[0] is not where:
        if len(_PLACES) >= _REMEMBERED:
            _PLACES.clear()
        entry = _PLACES[id(where)] = where, (site_of(where), *where[2][:4])
    return entry[1]
