"""What is taken down of an op or a copy while the program runs, and which events that stands for.

An event takes a microsecond to make, and most are never looked at. So the road writes a note, a plain tuple of what is
at hand, and whoever looks makes events of it. First in a note stands its subject, which all rounds of a loop share: the
op, where it ran and on what shapes. The rest are numbers and times. A note keeps no tensor and no frame alive, only
devices, records of ops, and code.

    subject, how it began, number and time of the last event, seconds as measured,
    in use and pool of the device afterwards, number of the allocation (a list where there are several)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from time import perf_counter, time
from typing import Any, Protocol, TypeAlias

from nbtf._devices.base import Device, Made, Memory, Runnable, nbytes_of
from nbtf._devices.sites import Site, Where, site_of
from nbtf._runtime.events import Allocated, Copied, CopyKind, Event, OpExecuted, OpPlaced, OutputSpec, Reason

Note: TypeAlias = "tuple[Any, ...]"
SUBJECT, NUMBER, LEVEL = 0, 2, 5

Begun: TypeAlias = "tuple[Where, int, float, tuple[int, ...]]"
"""Of an op that is about to run: place, number and time of its first event, numbers of the events of its constants."""

next_number = itertools.count(1).__next__
"""Returns the next number of an event, unique in the process."""

_REMEMBERED = 4096
"""Subjects kept; a loop over ever new shapes must not fill the memory."""


class Subject(Protocol):
    """What a note is about."""

    memory: Memory | None
    """The account that memory was taken from."""
    holder: str
    """The name of the device that keeps it."""

    def events(self, note: Note) -> list[Event]:
        """Returns what the note stands for, in order."""
        ...

    def events_afterwards(self, note: Note) -> list[Event]:
        """Returns what is told when the note is taken; of an op, all but that it began."""
        ...


# Ops


class OpSubject:
    """An op that ran on a device, on inputs of certain shapes; `runner` is None if it has failed."""

    __slots__ = ("_device", "_op", "_outputs", "_reason", "_runner", "_timed", "holder", "memory")

    def __init__(
        self,
        op: Runnable,
        device: Device,
        reason: Reason,
        runner: Device | None = None,
        shapes: Any = (),
        dtypes: Any = (),
        input_shapes: Sequence[tuple[int, ...]] | None = None,
        input_dtypes: Sequence[Any] = (),
    ) -> None:
        """Takes shapes and dtypes of the results as `note_of_op` has them: bare if there is but one."""
        self._op, self._device, self._reason, self._runner = op, device, reason, runner
        self.memory = None if runner is None or op.shares_memory else runner.memory
        self.holder = "" if runner is None else runner.name
        made: list[Made] = list(zip(shapes, dtypes, strict=True)) if dtypes.__class__ is tuple else [(shapes, dtypes)]
        self._outputs = tuple([OutputSpec(shape, dtype.name, nbytes_of(shape, dtype)) for shape, dtype in made])
        self._timed: tuple[float, str] | None = None
        if input_shapes is not None and runner is not None:
            inputs = list(zip(input_shapes, input_dtypes, strict=False))  # what takes nothing is placed by its result
            self._timed = runner.time_of(op, inputs, made, 0.0)

    def begin(self, start: Begun) -> list[Event]:
        """Returns what is told before it runs: its constants, and where it will be."""
        where, seq, now, numbers = start
        place = _place(where)
        name, reason = self._device.name, self._reason
        found: list[Event] = []
        for first, second in zip(numbers[::2], numbers[1::2], strict=True):  # the host has the value: nothing is made
            found.append(OpPlaced("_EagerConst", name, reason, first, now, *place))
            found.append(OpExecuted("_EagerConst", name, (), 0.0, "finished", second, now, *place))
        return [*found, OpPlaced(self._op.type, name, reason, seq, now, *place)]

    def events(self, note: Note) -> list[Event]:
        """Returns what the note stands for, in order."""
        return [*self.begin(note[1]), *self.events_afterwards(note)]

    def events_afterwards(self, note: Note) -> list[Event]:
        """Returns what is told when the op has run."""
        if self._runner is None:
            return []
        _, start, seq, now, seconds, level, number = note
        place = _place(start[0])
        found: list[Event] = []
        if level is not None:
            in_use, pool = level
            for spec, one in zip(self._outputs, [number] if isinstance(number, int) else number, strict=True):
                if spec.nbytes:
                    found.append(Allocated(self.holder, spec.nbytes, in_use, pool, one, now, *place))
        timed = self._timed or self._runner.time_of(self._op, (), (), seconds)
        return [*found, OpExecuted(self._op.type, self._device.name, self._outputs, *timed, seq, now, *place)]


_SUBJECTS: dict[tuple[Any, ...], OpSubject] = {}


def _new_subject(key: tuple[Any, ...]) -> OpSubject:
    if len(_SUBJECTS) >= _REMEMBERED:
        _SUBJECTS.clear()
    subject = _SUBJECTS[key] = OpSubject(*key)
    return subject


def note_of_failure(op: Runnable, device: Device, reason: Reason, start: Begun) -> Note:
    """Returns the note of an op that did not finish."""
    return OpSubject(op, device, reason), start, 0, 0.0, 0.0, None, None


def note_of_op(
    op: Runnable,
    device: Device,
    reason: Reason,
    start: Begun,
    runner: Device,
    outputs: Sequence[Any],
    dtypes: Sequence[Any],
    started: float,
    inputs: Sequence[Any],
    input_dtypes: Sequence[Any],
) -> Note:
    """Returns the note of an op that has just run; its results remember their number.

    Args:
      op: its record.
      device: where it belongs.
      reason: why there.
      start: how it began.
      runner: the device that ran the kernel; its account is that of this moment.
      outputs: the results.
      dtypes: their dtypes.
      started: when the kernel did, by `perf_counter`; 0 where there was none.
      inputs: what the kernel took: buffers, and lists of them.
      input_dtypes: their dtypes, lists flattened.
    """
    seconds = perf_counter() - started if started else 0.0
    shapes = None
    if runner.simulated:
        try:
            shapes = tuple([buffer._array.shape for buffer in inputs])
        except AttributeError:  # lists among them
            shapes = tuple([b._array.shape for one in inputs for b in (one if one.__class__ is list else (one,))])
    level = number = None
    if len(outputs) == 1:
        key = op, device, reason, runner, outputs[0]._array.shape, dtypes[0], shapes, input_dtypes
    else:
        made = tuple([output._array.shape for output in outputs])
        key = op, device, reason, runner, made, tuple(dtypes), shapes, input_dtypes
        number = [next_number() for _ in outputs]
    try:
        subject = _SUBJECTS[key]
    except KeyError:
        subject = _new_subject(key)
    if subject.memory is not None:
        level = subject.memory.level()
        number = number or next_number()
    last = next_number()
    for output in outputs:
        output._seq = last
    return subject, start, last, time(), seconds, level, number


# Copies, and what others tell


class CopySubject:
    """Bytes that go from one device to another."""

    __slots__ = ("_kind", "_nbytes", "_source", "_target", "holder", "memory")

    def __init__(self, source: Device, target: Device, kind: CopyKind, nbytes: int) -> None:
        """Says what goes where."""
        self._source, self._target, self._nbytes = source, target, nbytes
        self._kind: CopyKind = kind
        self.memory = target.memory if nbytes and kind != "read" else None
        self.holder = target.name

    def events(self, note: Note) -> list[Event]:
        """Returns the copy, and the memory that it took."""
        _, (where, seq, _, _), _, now, measured, level, number = note
        source, target, nbytes, place = self._source, self._target, self._nbytes, _place(where)
        link = target if target.type == "GPU" else source  # a GPU's link is the slow one
        seconds, modelled = link.copy_time_of(nbytes, measured)
        copied = Copied(source.name, target.name, nbytes, seconds, modelled, self._kind, seq, now, *place)
        if level is None:
            return [copied]
        in_use, pool = level
        return [copied, Allocated(target.name, nbytes, in_use, pool, number, now, *place)]

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
    now = time()
    start = where, next_number(), now, ()
    if subject.memory is None:
        return subject, start, start[1], now, seconds, None, None
    number = next_number()
    return subject, start, number, now, seconds, subject.memory.level(), number


class EventSubject:
    """An event that was made elsewhere."""

    __slots__ = ("_event",)
    memory, holder = None, ""

    def __init__(self, event: Event) -> None:
        """Keeps the event."""
        self._event = event

    def events(self, note: Note) -> list[Event]:
        """Returns the event."""
        return [self._event]

    events_afterwards = events


def note_of_event(event: Event) -> Note:
    """Returns the note of an event that was made elsewhere."""
    return EventSubject(event), None, event.seq, event.time, 0.0, None, None


def _place(where: Where) -> tuple[Site, str | None, int | None]:
    """Returns the last three fields of every event: site, graph node, replica."""
    return site_of(where), None, where[2]
