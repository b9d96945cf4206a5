"""Modelled start times of ops and copies on simulated GPUs.

Each device works in order. A copy keeps both devices busy, except for the host, which can feed all GPUs at once. A
launch costs nothing. Work with a measured time is not on this clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Lanes: TypeAlias = "tuple[tuple[str, ...], float]"
"""The devices that are kept busy, and for how many seconds."""

WAIT: Lanes = (), -1.0
"""A barrier: all devices finish before anything else begins, at a new cell or a new machine."""


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

    def starts(self, lanes: Sequence[Lanes | None], works: NDArray[Any]) -> NDArray[np.float64]:
        """Returns when each piece of work begins.

        Args:
          lanes: what keeps which devices busy.
          works: an index into `lanes` for each piece, in order.
        """
        used: list[int] = np.flatnonzero(np.bincount(works)).tolist()
        groups = {cast("Lanes", lanes[at])[0] for at in used}
        if len(groups) == 1 and len(devices := groups.pop()) == 1:
            return self._in_turn(devices[0], np.array([each[1] if each else 0.0 for each in lanes])[works])
        starts: list[float] = []
        append, free = starts.append, self._free
        for each in cast("Iterable[Lanes]", map(lanes.__getitem__, works.tolist())):
            if len(each[0]) == 1:  # the common case, inlined because this is computed for every op
                (device,), seconds = each
                append(start := free[device] if device in free else self._begin)
                free[device] = start + seconds
            elif each is WAIT:
                self.wait()
                append(self._begin)
                free = self._free
            else:
                append(self.run(each))
        return np.array(starts)

    def _in_turn(self, device: str, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keeps one device busy with many pieces of work; returns when each begins."""
        ends = np.concatenate(([self._free.get(device, self._begin)], seconds)).cumsum()
        self._free[device] = float(ends[-1])
        return ends[:-1]
