"""Subjects of notes: ops, copies and other libraries' events, without the numbers and times of each call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from nbtf._devices.base import Device, Made, Memory, Runnable, nbytes_of
from nbtf._devices.sites import NO_PLACE, CallSite, Site, site_of
from nbtf._runtime.clock import Lanes, lanes_of
from nbtf._runtime.events import Allocated, Copied, CopyKind, Event, OpExecuted, OpPlaced, OutputSpec, Reason

Note: TypeAlias = "tuple[Any, ...]"
"""See `notes.py`."""

Begun: TypeAlias = "tuple[CallSite, int, float, Sequence[int] | None]"
"""The start of an op: its call site, number and time, and the event numbers of its constants."""


class Subject(Protocol):
    """The subject of a note."""

    memory: Memory | None
    """The account that the memory was allocated from."""
    holder: str
    """The name of the device that tracks it."""

    lanes: Lanes | None
    """The devices it keeps busy on the modelled clock, and for how long."""

    is_copy: bool

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that work on it."""
        ...

    @property
    def sample(self) -> Sequence[Event]:
        """Events equal to those of every such note, except for numbers, times and call sites."""
        ...

    def taken_apart(self) -> tuple[Hashable, Any, Any]:
        """Returns a key and the values of the shared part, and its own part: shapes or a number."""
        ...

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the events of a note, in order; `start` is its start on the modelled clock."""
        ...

    def events_afterwards(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the events to report when the note is recorded; for an op, all except its start."""
        ...


def _sample(subject: OpSubject | CopySubject, constants: int = 0, results: int = 1) -> list[Event]:
    side_numbers = [0] * constants, [0] * results
    return subject.events((subject, 0, 0.0, NO_PLACE, 0, 0.0, 0.0, (0, 0), side_numbers))


# Ops

_placed: Callable[[Any], OpPlaced] = partial(cast("Any", tuple).__new__, OpPlaced)
_executed: Callable[[Any], OpExecuted] = partial(cast("Any", tuple).__new__, OpExecuted)
"""Creates an event from a tuple in a third of the usual time, because there may be a million."""


def events_of_begin(op: Runnable, device: Device, reason: Reason, start: Begun) -> list[Event]:
    """Returns the events to report before an op runs: its constants and its placement."""
    call_site, seq, now, numbers = start
    site_fields = place_of(call_site)
    events: list[Event] = []
    for number in numbers or ():  # the constant's value is already on the host, so nothing is allocated
        events.append(OpPlaced("_EagerConst", device.name, reason, number - 1, now, *site_fields))
        events.append(OpExecuted("_EagerConst", device.name, (), 0.0, "finished", number, now, *site_fields))
    events.append(_placed((op.type, device.name, reason, seq, now, *site_fields)))
    return events


class OpSubject:
    """An op that ran on a device with inputs of certain shapes; `runner` is None if it failed."""

    __slots__ = ("_outputs", "_rest", "_shared", "holder", "lanes", "memory")
    is_copy = False

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
        """Stores shapes and dtypes of the results in the form of `take_note_of_op`: not in a list if there is one."""
        self._shared = op, device, reason, constants, runner, dtypes, input_dtypes
        self._rest = shapes, input_shapes
        self.memory = None if runner is None or op.shares_memory or runner.tells_pieces else runner.memory
        self.holder = "" if runner is None else runner.name
        outputs: list[Made] = (
            list(zip(shapes, dtypes, strict=True)) if dtypes.__class__ is tuple else [(shapes, dtypes)]
        )
        self._outputs = tuple([OutputSpec(shape, dtype.name, nbytes_of(shape, dtype)) for shape, dtype in outputs])
        self.lanes: Lanes | None = None
        if input_shapes is not None and runner is not None and runner.models_time:
            inputs = list(zip(input_shapes, input_dtypes, strict=False))  # without inputs, the result decides placement
            self.lanes = (device.name,), runner.time_of(op, inputs, outputs, 0.0)[0]

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that work on it."""
        return (self._shared[1].name,)

    @property
    def sample(self) -> Sequence[Event]:
        """Events equal to those of every such note, except for numbers, times and call sites."""
        return _sample(self, self._shared[3] or 0, len(self._outputs))

    def taken_apart(self) -> tuple[Hashable, Any, Any]:
        """Splits the subject into the op without shapes, and the shapes."""
        op, device, reason, *details = self._shared
        return (op, device, id(reason), *details), self._shared, self._rest

    @classmethod
    def put_together(cls, shared: tuple[Any, ...], details: tuple[Any, ...]) -> OpSubject:
        """Rebuilds the subject that `taken_apart` split."""
        (op, device, reason, constants, runner, dtypes, input_dtypes), (shapes, input_shapes) = shared, details
        return cls(op, device, reason, constants, runner, shapes, dtypes, input_shapes, input_dtypes)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the events of a note, in order."""
        _, _, _, call_site, first, began_at, _, _, side_numbers = note
        op, device, reason, *_ = self._shared
        events = events_of_begin(op, device, reason, (call_site, first, began_at, side_numbers and side_numbers[0]))
        return [*events, *self.events_afterwards(note, start)]

    def events_afterwards(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the events to report when the op has run."""
        op, device, _, _, runner, *_ = self._shared
        if runner is None:
            return []
        _, last, now, call_site, _, _, seconds, level, side_numbers = note
        site_fields = place_of(call_site)
        events: list[Event] = []
        if self.memory is not None:
            numbers = [last - 1] if len(self._outputs) == 1 else side_numbers[1]
            in_use, pool = level
            for spec, number in zip(self._outputs, numbers, strict=True):
                if spec.nbytes:
                    events.append(Allocated(self.holder, spec.nbytes, in_use, pool, number, now, *site_fields))
        timed = runner.time_of(op, (), (), seconds) if self.lanes is None else (self.lanes[1], "modelled")
        events.append(_executed((op.type, device.name, self._outputs, *timed, last, now, *site_fields, start)))
        return events


# Copies and reports of other libraries


class CopySubject:
    """Bytes copied from one device to another."""

    __slots__ = ("_kind", "_nbytes", "_pinned", "_source", "_target", "holder", "lanes", "memory")
    is_copy = True

    def __init__(
        self, source: Device, target: Device, copy_kind: CopyKind, nbytes: int, pinned: bool | None = None
    ) -> None:
        """Stores the devices, the kind and the size; `pinned` is as in `Copied`."""
        self._pinned = pinned
        self._source, self._target, self._nbytes = source, target, nbytes
        self._kind: CopyKind = copy_kind
        self.memory = target.memory if nbytes and copy_kind != "read" and not target.tells_pieces else None
        self.holder = target.name
        self.lanes = lanes_of(self.sample)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that work on it."""
        return self._source.name, self._target.name

    @property
    def sample(self) -> Sequence[Event]:
        """Events equal to those of every such note, except for numbers, times and call sites."""
        return _sample(self)

    def taken_apart(self) -> tuple[Hashable, Any, Any]:
        """Splits the subject into the route and the number of bytes."""
        route = self._source, self._target, self._kind, self._pinned
        return route, route, self._nbytes

    @classmethod
    def put_together(cls, route: tuple[Device, Device, CopyKind, bool | None], nbytes: int) -> CopySubject:
        """Rebuilds the subject that `taken_apart` split."""
        source, target, copy_kind, pinned = route
        return cls(source, target, copy_kind, nbytes, pinned)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the copy, and the allocation that it made."""
        _, last, now, call_site, _, _, measured, level, _ = note
        site_fields = place_of(call_site)
        source, target, nbytes = self._source, self._target, self._nbytes
        link = None if target.network is None else target.network.link(source.name, target.name)
        if link is not None:
            seconds, modelled = link.seconds(nbytes), True
        else:
            end = source if target.on_host else target  # the GPU's side is the slower one
            seconds, modelled = end.copy_time_of(nbytes, measured)
        ends = source.name, target.name, nbytes, seconds, modelled, self._kind
        copied = Copied(*ends, last - 1, now, *site_fields, start, self._pinned)
        if self.memory is None:
            return [copied]
        in_use, pool = level
        return [copied, Allocated(target.name, nbytes, in_use, pool, last, now, *site_fields)]

    events_afterwards = events


class EventSubject:
    """An event that was created elsewhere."""

    __slots__ = ("is_copy", "lanes", "sample")
    memory, holder = None, ""
    devices: tuple[str, ...] = ()  # other libraries' measurements use another clock

    def __init__(self, event: Event) -> None:
        """Stores the event."""
        self.sample, self.is_copy = [event], isinstance(event, Copied)
        self.lanes = lanes_of(self.sample)

    def taken_apart(self) -> tuple[Hashable, Any, Any]:
        """Returns the event as the shared part; it has no other part."""
        return id(self), self.sample[0], None

    @classmethod
    def put_together(cls, event: Event, details: None) -> EventSubject:
        """Returns the subject of an event."""
        return cls(event)

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns the event."""
        return self.sample if start is None else [cast("Any", event)._replace(start=start) for event in self.sample]

    events_afterwards = events


Place: TypeAlias = "tuple[Site, str | None, int | None, str, str]"
_PLACES: dict[int, tuple[CallSite, Place]] = {}
_REMEMBERED = 4096


def place_of(call_site: CallSite) -> Place:
    """Returns the last fields of every event: site, graph node, replica, phase and layer."""
    entry = _PLACES.get(id(call_site))
    if entry is None or entry[0] is not call_site:
        if len(_PLACES) >= _REMEMBERED:
            _PLACES.clear()
        entry = _PLACES[id(call_site)] = call_site, (site_of(call_site), *call_site[2][:4])
    return entry[1]
