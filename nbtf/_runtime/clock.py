"""When would each op and copy have begun on the cards that are simulated? Computed when somebody looks.

Each device works in order; a copy keeps both of its ends busy, but the host, which feeds all cards at once; a launch
costs nothing. What has a measured time is not on this clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

from nbtf._runtime.events import Copied, Event, OpExecuted

Lanes: TypeAlias = "tuple[tuple[str, ...], float]"
"""The devices that something keeps busy, and for how many seconds."""

WAIT: Lanes = (), -1.0
"""What lets all devices finish before anything else begins: another cell, or another machine."""


def lanes_of(events: Sequence[Event]) -> Lanes | None:
    """Returns which devices the op or the copy that events tell of keeps busy; None if its time is not modelled."""
    for event in events:
        if isinstance(event, OpExecuted) and event.timing == "modelled":
            return (event.device,), event.seconds
        if isinstance(event, Copied) and event.modelled:
            return tuple([end for end in (event.source, event.target) if ":CPU:" not in end]), event.seconds
    return None


class Clock:
    """From when on each device is free, in modelled seconds since the clock began."""

    __slots__ = ("_begin", "_free")

    def __init__(self, begin: float = 0.0, free: dict[str, float] | None = None) -> None:
        """Begins with all devices free from `begin` on, or as another clock says."""
        self._begin = begin
        self._free: dict[str, float] = dict(free or {})

    def copy(self) -> Clock:
        """Returns another clock that goes on from here."""
        return Clock(self._begin, self._free)

    def run(self, lanes: Lanes) -> float:
        """Keeps devices busy as soon as all of them are free; returns when that is."""
        devices, seconds = lanes
        free = self._free
        start = max([free.get(device, self._begin) for device in devices], default=self._begin)
        for device in devices:
            free[device] = start + seconds
        return start

    def wait(self) -> None:
        """Lets all devices finish before anything else begins."""
        self._begin, self._free = max(self._free.values(), default=self._begin), {}

    def starts(self, lanes: Sequence[Lanes | None]) -> list[float | None]:
        """Returns when each of many things begins; None for what is not on the clock."""
        distinct = [*{id(each): each for each in lanes}.values()]
        if not any(distinct):
            return [None] * len(lanes)
        first, *other_starts = {() if each is None else each[0] for each in distinct}
        if not other_starts and len(first) == 1:
            return self._in_turn(first[0], [each[1] for each in lanes if each is not None])
        starts: list[float | None] = []
        append, free = starts.append, self._free
        for each in lanes:
            if each is None:
                append(None)
            elif len(each[0]) == 1:  # most of them: in line, since a live view asks for all that has run meanwhile
                (device,), seconds = each
                append(start := free[device] if device in free else self._begin)
                free[device] = start + seconds
            elif each is WAIT:
                self.wait()
                append(None)
                free = self._free
            else:
                append(self.run(each))
        return starts

    def _in_turn(self, device: str, seconds: Sequence[float]) -> list[float | None]:
        """Keeps a device busy with many things; returns when each begins."""
        starts: list[float | None] = [*accumulate(seconds, initial=self._free.get(device, self._begin))]
        self._free[device] = starts.pop() or 0.0
        return starts

    def stamped(self, events: Sequence[Event], lanes: Lanes | None) -> list[Event]:
        """Returns the events of one op or copy with its start."""
        if lanes is None:
            return [*events]
        start = self.run(lanes)
        return [
            event._replace(start=start)
            if isinstance(event, Copied) or (isinstance(event, OpExecuted) and event.timing == "modelled")
            else event
            for event in events
        ]
