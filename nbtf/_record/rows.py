"""Rows of the log: compact records of ops and copies, and the events that they stand for.

Creating an event takes a microsecond, and most events are never read. So the road appends the data at hand to a flat
list, and readers create the events. A row begins with its subject, shared by all iterations of a loop: the op, its
device and the shapes. The rest are numbers and times. A row keeps no tensor and no frame alive, only devices, op
records and code.

     SUBJECT   NUMBER  TIME    WHERE       FIRST   BEGAN   SECONDS   MORE
    +---------+-------+-------+-----------+-------+-------+---------+------------------------------------------+
    | subject | of the end    | call site | of the begin  | nan if  | None, a list of memory entries, or the   |
    |         | number, time  |           | number, time  | modelled| numbers of an all-reduce's messages      |
    +---------+-------+-------+-----------+-------+-------+---------+------------------------------------------+

Numbers are even; the odd number before each belongs to the same row. Waiting rows are stored without tuples around
them: a garbage collection over a hundred thousand tuples costs more than the rows themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from time import time
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from nbtf._devices.base import Device, Memory, Runnable, nbytes_of
from nbtf._devices.sites import NO_PLACE, CallSite, Site, site_of
from nbtf._record.clock import WAIT, Lanes
from nbtf._record.events import Allocated, Copied, CopyKind, Event, OpExecuted, OpPlaced, OutputSpec, Reason

if TYPE_CHECKING:
    pass

SUBJECT, NUMBER, TIME, WHERE, FIRST, BEGAN, SECONDS, MORE = range(8)
ROW = 8
"""Number of fields in a row."""

Row: TypeAlias = "tuple[Any, ...]"
"""The fields of a row; rows that are written together may follow each other in one tuple."""

Begun: TypeAlias = "tuple[CallSite, int, float, Sequence[int] | None]"
"""The start of an op: its call site, number and time, and the event numbers of its constants."""

next_number = itertools.count(2, 2).__next__
"""Returns the next number; it and the odd number before it are unique in the process."""

_REMEMBERED = 4096
"""Maximum number of cached subjects, so that a loop over ever new shapes cannot fill the memory."""

_placed: Callable[[Any], OpPlaced] = partial(cast("Any", tuple).__new__, OpPlaced)
_executed: Callable[[Any], OpExecuted] = partial(cast("Any", tuple).__new__, OpExecuted)
"""Creates an event from a tuple in a third of the usual time, because there may be a million."""


class Subject:
    """The subject of a row."""

    __slots__ = ()

    lanes: Lanes | None = None
    """The devices it keeps busy on the modelled clock, and for how long."""
    devices: tuple[str, ...] = ()
    """The devices that work on it, if its time is measured."""
    is_copy: bool = False
    is_op: bool = False
    """Whether it is an op with its placement, rather than a copy, a mark or an event from elsewhere."""
    is_stamped: bool = False
    """Whether its rows have the measured start in place of the time of the begin; only rows read from files have."""
    is_entry = False
    """Whether it is the subject of memory entries; see `memory.py`."""
    count: int = 1
    """Number of its events. The first has the number of the begin; if there are two, the second has that of the end."""
    reported: int = 0
    """How many of its events are reported before the row is written."""

    @property
    def sample(self) -> Sequence[Event]:
        """Events equal to those of every such row, except for numbers, times and call sites."""
        return self.events((self, 0, 0.0, NO_PLACE, 0, 0.0, 0.0, None))

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        """Returns the events of a row, in order; `start` is its start on the modelled clock."""
        return ()


class _Mark(Subject):
    """A mark in the log without events."""

    __slots__ = ("lanes",)
    count = 0

    def __init__(self, lanes: Lanes | None) -> None:
        self.lanes = lanes


SCENE, NOW = _Mark(WAIT), _Mark(None)
"""The start of a scene or of a new machine; and a moment, which gives the memory entries before it their time."""


def row_of_mark(subject: Subject) -> Row:
    """Returns a row that marks this moment."""
    number = next_number()
    return subject, number, time(), NO_PLACE, number, 0.0, nan, None


# Ops


class OpSubject(Subject):
    """An op that ran on a device with inputs of certain shapes; `runner` is None if it failed."""

    __slots__ = ("_arguments", "_outputs", "count", "device", "devices", "lanes", "pieces", "reason")
    reported = 1
    is_op = True

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
        seconds: float | None = None,
    ) -> None:
        """Stores shapes and dtypes of the results: in tuples, unless there is exactly one result.

        `seconds` is the modelled duration if the caller knows it; None computes it.
        """
        self._arguments = op, device, reason, runner, shapes, dtypes, input_shapes, input_dtypes
        self.device, self.reason, self.devices = device, reason, (device.name,)
        self._outputs: tuple[OutputSpec, ...] | None = None
        self.count = 1 if runner is None else 2
        self.pieces = None if runner is None or op.shares_memory else _own_pieces(runner)
        self.lanes = None
        if input_shapes is not None and runner is not None and runner.models_time:
            if seconds is None:
                inputs = list(
                    zip(input_shapes, input_dtypes, strict=False)
                )  # without inputs, the result decides placement
                seconds = runner.time_of(op, inputs, _pairs(shapes, dtypes), 0.0)[0]
            self.lanes = self.devices, seconds

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how to create it again, without computing the duration again."""
        return type(self), (*self._arguments, None if self.lanes is None else self.lanes[1])

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """Shapes, dtypes and sizes of the results."""
        outputs = self._outputs
        if outputs is None:
            pairs = _pairs(*self._arguments[4:6])
            outputs = tuple([OutputSpec(shape, dtype.name, nbytes_of(shape, dtype)) for shape, dtype in pairs])
            self._outputs = outputs
        return outputs

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        """Returns its placement and its end."""
        _, _, _, call_site, first, began_at, *_ = row
        op, device, reason, runner, *_ = self._arguments
        placed = _placed((op.type, device.name, reason, first, began_at, *place_of(call_site)))
        return [placed] if runner is None else [placed, self.end(row, start)]

    def end(self, row: Row, start: float | None = None) -> OpExecuted:
        """Returns the end of an op that did not fail."""
        _, last, now, call_site, _, _, seconds, _ = row
        op, device, _, runner, *_ = self._arguments
        assert runner is not None
        timed = runner.time_of(op, (), (), seconds) if self.lanes is None else (self.lanes[1], "modelled")
        return _executed((op.type, device.name, self.outputs, *timed, last, now, *place_of(call_site), start))


def _pairs(shapes: Any, dtypes: Any) -> list[tuple[Any, Any]]:
    """Returns shape and dtype of each result; see `OpSubject`."""
    return [*zip(shapes, dtypes, strict=True)] if dtypes.__class__ is tuple else [(shapes, dtypes)]


class LateOpSubject(OpSubject):
    """An op of a library that reports its ops only after they ran."""

    __slots__ = ()
    reported = 0


class _ConstantSubject(Subject):
    """A constant that TensorFlow makes of an op's attribute; its value is on the host, so nothing is allocated."""

    __slots__ = ("_device", "_reason", "devices")
    count = reported = 2

    def __init__(self, device: str, reason: Reason) -> None:
        self._device, self._reason, self.devices = device, reason, (device,)

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        _, last, now, call_site, first, *_ = row
        site_fields = place_of(call_site)
        return [
            OpPlaced("_EagerConst", self._device, self._reason, first, now, *site_fields),
            OpExecuted("_EagerConst", self._device, (), 0.0, "finished", last, now, *site_fields),
        ]


_SUBJECTS: dict[tuple[Any, ...], Any] = {}


def _subject_of(key: tuple[Any, ...], new: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the subject with a key; keeps it, which also keeps the reason whose `id` is in the key.

    A reason is identified by its `id` because equal reasons may differ in paths.
    """
    subject = _SUBJECTS.get(key)
    if subject is None:
        if len(_SUBJECTS) >= _REMEMBERED:
            _SUBJECTS.clear()
        subject = _SUBJECTS[key] = new(*arguments)
    return subject


def rows_of_constants(device: Device, reason: Reason, start: Begun) -> list[Any]:
    """Returns the rows of an op's constants, one after the other."""
    call_site, _, began_at, numbers = start
    subject = _subject_of((device, id(reason)), _ConstantSubject, device.name, reason)
    rows: list[Any] = []
    for number in numbers or ():
        rows += subject, number, began_at, call_site, number - 1, began_at, 0.0, None
    return rows


def events_of_begin(op: Runnable, device: Device, reason: Reason, start: Begun) -> list[Event]:
    """Returns the events to report before an op runs: its constants and its placement."""
    call_site, seq, now, _ = start
    rows = iter(rows_of_constants(device, reason, start))
    constants = [event for row in zip(*[rows] * ROW, strict=True) for event in row[SUBJECT].events(row)]
    return [*constants, OpPlaced(op.type, device.name, reason, seq, now, *place_of(call_site))]


def note_of_failure(op: Runnable, device: Device, reason: Reason, start: Begun) -> Row:
    """Returns the row of an op that failed, after those of its constants."""
    call_site, first, began_at, constants = start
    row = OpSubject(op, device, reason), next_number(), began_at, call_site, first, began_at, nan, None
    return row if constants is None else (*rows_of_constants(device, reason, start), *row)


def subject_of_op(
    op: Runnable,
    placed: tuple[Device, Device, Reason],
    outputs: Sequence[Any],
    inputs: tuple[tuple[tuple[int, ...], ...] | None, tuple[Any, ...]],
) -> OpSubject:
    """Returns the subject of an op.

    Args:
      op: the op.
      placed: its device, the device that ran the kernel, and the reason.
      outputs: the results.
      inputs: the inputs' shapes and dtypes, with lists flattened; no shapes if the device measures times.
    """
    device, runner, reason = placed
    shapes: Any = tuple([output._array.shape for output in outputs])
    dtypes: Any = tuple([output._dtype for output in outputs])
    if len(outputs) == 1:
        (shapes,), (dtypes,) = shapes, dtypes
    key = op, device, id(reason), runner, shapes, dtypes, *inputs
    return _subject_of(key, OpSubject, op, device, reason, *key[3:])


# Memory of devices that report only how much is in use


class OwnPieces:
    """Subject of the memory entries that the log itself writes, of devices without a journal; see `memory.py`."""

    __slots__ = ("holder", "memory")
    lanes, count, is_entry, is_request = None, 1, True, False
    library = ""

    def __init__(self, memory: Memory | None, holder: str) -> None:
        """Stores the account that the memory is allocated from, and the name of the device that tracks it.

        The account of entries that were read from a file is None.
        """
        self.memory, self.holder = memory, holder

    @property
    def sample(self) -> Sequence[Event]:
        """An event equal to those of all entries, except for sizes, numbers, times and call sites."""
        return [Allocated(self.holder, 0, 0, 0, 0, 0.0)]

    def entries(self, outputs: Sequence[OutputSpec], call_site: CallSite) -> list[Any]:
        """Returns the entries of results that have just been allocated; they have a call site in place of a label."""
        in_use, pool = (0, 0) if self.memory is None else self.memory.level()
        entries: list[Any] = []
        for output in outputs:
            if output.nbytes:
                entries += self, next_number(), in_use, pool, None, -1, -1, output.nbytes, call_site
        return entries

    def event(self, entry: Sequence[Any], now: float) -> Event:
        """Returns the event of an entry."""
        _, number, in_use, pool, _, _, _, nbytes, call_site = entry
        return Allocated(self.holder, nbytes, in_use, pool, number, now, *place_of(call_site))


def _own_pieces(device: Device) -> OwnPieces | None:
    """Returns the subject of entries about a device's memory; None if its memory is not tracked, or by a journal."""
    if device.tells_pieces or device.memory is None:
        return None
    return _subject_of((device,), OwnPieces, device.memory, device.name)


# Copies and reports of other libraries


class CopySubject(Subject):
    """Bytes copied from one device to another."""

    __slots__ = ("_arguments", "devices", "lanes", "pieces")
    is_copy = True

    def __init__(
        self, source: Device, target: Device, copy_kind: CopyKind, nbytes: int, pinned: bool | None = None
    ) -> None:
        """Stores the devices, the kind and the size; `pinned` is as in `Copied`."""
        self._arguments = source, target, copy_kind, nbytes, pinned
        self.devices = source.name, target.name
        self.pieces = _own_pieces(target) if nbytes and copy_kind != "read" else None
        seconds, is_modelled = self._time(0.0)
        gpus = tuple([name for name in self.devices if ":CPU:" not in name])
        self.lanes = (gpus, seconds) if is_modelled else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how to create it again."""
        return CopySubject, self._arguments

    def _time(self, measured: float) -> tuple[float, bool]:
        """Returns the duration, and whether it is modelled."""
        source, target, _, nbytes, _ = self._arguments
        link = None if target.network is None else target.network.link(source.name, target.name)
        if link is not None:
            return link.seconds(nbytes), True
        return (source if target.on_host else target).copy_time_of(nbytes, measured)  # the GPU's side is slower

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        """Returns the copy."""
        _, _, now, call_site, first, _, measured, _ = row
        _, _, copy_kind, nbytes, pinned = self._arguments
        ends = *self.devices, nbytes, *self._time(measured), copy_kind
        return [cast("Any", Copied)(*ends, first, now, *place_of(call_site), start, pinned)]


def note_of_copy(
    source: Device,
    target: Device,
    copy_kind: CopyKind,
    nbytes: int,
    seconds: float,
    call_site: CallSite,
    pinned: bool | None = None,
    began_at: float = 0.0,
) -> Row:
    """Returns the row of a finished copy; `began_at` is when the program began to wait for it, 0 if it did not wait."""
    arguments = source, target, copy_kind, nbytes, pinned
    subject: CopySubject = _subject_of(arguments, CopySubject, *arguments)
    first = next_number() - 1
    entries = None if subject.pieces is None else subject.pieces.entries([OutputSpec((), "", nbytes)], call_site)
    number = first + 1 if entries is None else next_number()  # entries have the time of the next row
    return subject, number, time(), call_site, first, began_at, seconds, entries


class EventSubject(Subject):
    """An event that was created elsewhere; other libraries' measurements use another clock."""

    __slots__ = ("event", "is_copy", "lanes")

    def __init__(self, event: Event) -> None:
        """Stores the event."""
        self.event, self.is_copy, self.lanes = event, isinstance(event, Copied), None
        if isinstance(event, OpExecuted) and event.timing == "modelled":
            self.lanes = (event.device,), event.seconds
        elif isinstance(event, Copied) and event.modelled:
            self.lanes = tuple([end for end in event[:2] if ":CPU:" not in end]), event.seconds

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        """Returns the event."""
        return [self.event if start is None else cast("Any", self.event)._replace(start=start)]


def note_of_event(event: Event) -> Row:
    """Returns the row of an event that was created elsewhere."""
    return EventSubject(event), event.seq, event.time, NO_PLACE, event.seq, 0.0, nan, None


Place: TypeAlias = "tuple[Site, str | None, int | None, str, str]"
_PLACES: dict[int, tuple[CallSite, Place]] = {}


def place_of(call_site: CallSite) -> Place:
    """Returns the last fields of every event: site, graph node, replica, phase and layer."""
    entry = _PLACES.get(id(call_site))
    if entry is None or entry[0] is not call_site:
        if len(_PLACES) >= _REMEMBERED:
            _PLACES.clear()
        entry = _PLACES[id(call_site)] = call_site, (site_of(call_site), *call_site[2][:4])
    return entry[1]
