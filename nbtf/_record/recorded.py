"""What is a row about that was read from a file? Events without times; no device and no op of this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple, cast

from nbtf._record.clock import Lanes
from nbtf._record.events import Copied, Event, OpExecuted, OpPlaced
from nbtf._record.rows import Row, Subject, place_of

_placed, _executed, _copied = (partial(cast("Any", tuple).__new__, event) for event in (OpPlaced, OpExecuted, Copied))


class RecordedDeviceName(NamedTuple):
    """The device of memory entries that were read from a file."""

    name: str


class RecordedRegion(NamedTuple):
    """A region of memory; its address is 0, because the addresses of its pieces are relative to it."""

    number: int
    size: int
    address: int = 0


class RecordedSubject(Subject):
    """An op, a copy or an all-reduce that another process recorded.

    `is_measured` says that the seconds are in the row. `is_stamped` says that the row's begin is the measured start.
    `offsets` has start and duration of each message of an all-reduce, relative to its start; None for anything else.
    """

    __slots__ = ("_templates", "count", "devices", "is_copy", "is_measured", "is_op", "is_stamped", "lanes", "offsets")

    def __init__(
        self,
        templates: Sequence[Event],
        lanes: Lanes | None,
        devices: tuple[str, ...],
        is_copy: bool = False,
        is_op: bool = True,
        is_measured: bool = True,
        is_stamped: bool = False,
        offsets: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        """Stores events whose numbers, times and places are those of the rows."""
        self._templates: tuple[Any, ...] = tuple(templates)
        self.lanes, self.devices, self.count = lanes, devices, len(templates)
        self.is_copy, self.is_op, self.is_measured, self.is_stamped = is_copy, is_op, is_measured, is_stamped
        self.offsets = offsets

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how to create it again."""
        flags = self.is_copy, self.is_op, self.is_measured, self.is_stamped
        return RecordedSubject, (self._templates, self.lanes, self.devices, *flags, self.offsets)

    @property
    def sample(self) -> Sequence[Event]:
        """The events, without their numbers, times and places."""
        return self._templates

    def events(self, row: Row, start: float | None = None) -> Sequence[Event]:
        """Returns the events of a row."""
        _, last, now, call_site, first, begin_time, seconds, numbers = row
        origin = place_of(call_site)
        if self.offsets is not None:
            shifts = [None if start is None else start + offset for offset, _ in self.offsets]
            messages = zip(self._templates, shifts, numbers, strict=True)
            return [_copy(each, each.seconds, number, now, origin, shift) for each, shift, number in messages]
        if self.is_stamped:
            start = None if isnan(begin_time) else begin_time
        events: list[Event] = []
        for each in self._templates:
            duration = seconds if self.is_measured else getattr(each, "seconds", 0.0)
            if isinstance(each, OpPlaced):
                events.append(_placed((*each[:3], first, begin_time, *origin)))
            elif isinstance(each, OpExecuted):
                events.append(_executed((*each[:3], duration, each.timing, last, now, *origin, start)))
            else:
                events.append(_copy(each, duration, first, now, origin, start))
        return events


def _copy(each: Any, seconds: float, number: int, now: float, origin: Sequence[Any], start: float | None) -> Event:
    return _copied((*each[:3], seconds, each.modelled, each.kind, number, now, *origin, start, each.pinned))
