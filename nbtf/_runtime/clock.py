"""Modelled start times of ops and copies on simulated GPUs, computed on request.

Each device works in order. A copy keeps both devices busy, except for the host, which can feed all GPUs at once. A
launch costs nothing. Work with a measured time is not on this clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

from nbtf._runtime.events import Copied, Event, OpExecuted

Lanes: TypeAlias = "tuple[tuple[str, ...], float]"
"""The devices that are kept busy, and for how many seconds."""

WAIT: Lanes = (), -1.0
"""A barrier: all devices finish before anything else begins, at a new cell or a new machine."""


def lanes_of(events: Sequence[Event]) -> Lanes | None:
    """Returns the devices kept busy by the op or copy of these events; None if its time is not modelled."""
    for event in events:
        if isinstance(event, OpExecuted) and event.timing == "modelled":
            return (event.device,), event.seconds
        if isinstance(event, Copied) and event.modelled:
            return tuple([end for end in (event.source, event.target) if ":CPU:" not in end]), event.seconds
    return None


class Clock:
    """For each device, when it is free next, in modelled seconds since the clock began."""

    __slots__ = ("_begin", "_free")

    def __init__(self, begin: float = 0.0, free: dict[str, float] | None = None) -> None:
        """Starts with all devices free from `begin` on, or from the times in `free`."""
        self._begin = begin
        self._free: dict[str, float] = dict(free or {})

    def copy(self) -> Clock:
        """Returns an independent clock with the same state."""
        return Clock(self._begin, self._free)

    def run(self, lanes: Lanes) -> float:
        """Keeps devices busy as soon as all of them are free; returns that start time."""
        devices, seconds = lanes
        free = self._free
        start = max([free.get(device, self._begin) for device in devices], default=self._begin)
        for device in devices:
            free[device] = start + seconds
        return start

    def wait(self) -> None:
        """Waits for all devices before anything else begins."""
        self._begin, self._free = max(self._free.values(), default=self._begin), {}

    def starts(self, lanes: Sequence[Lanes | None]) -> list[float | None]:
        """Returns when each piece of work begins; None for work that is not on the clock."""
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
            elif len(each[0]) == 1:  # the common case, inlined because live views compute this for every op
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
        """Keeps one device busy with many pieces of work; returns when each begins."""
        starts: list[float | None] = [*accumulate(seconds, initial=self._free.get(device, self._begin))]
        self._free[device] = starts.pop() or 0.0
        return starts

    def stamped(self, events: Sequence[Event], lanes: Lanes | None) -> list[Event]:
        """Returns the events of one op or copy with their start time."""
        if lanes is None:
            return [*events]
        start = self.run(lanes)
        return [
            event._replace(start=start)
            if isinstance(event, Copied) or (isinstance(event, OpExecuted) and event.timing == "modelled")
            else event
            for event in events
        ]
