"""How busy was each device, and with what, before the first event that is still kept? Bins of seconds.

Bins are 2**k seconds wide, and there are never more than a few thousand: where time goes on, pairs of them become one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

_MOST = 4096
"""Bins of a device and a phase."""

COPIES = "copies"
"""What stands for the phase where a device is busy with a copy."""

Lane: TypeAlias = "tuple[str, str]"
"""A device by its full name, and a phase; see `phases.py`."""
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


Intervals: TypeAlias = "dict[Lane, list[float]]"
"""Starts and seconds, in turn."""


class Density:
    """Busy seconds by device and phase, in bins of a width, from `origin` on; never changed.

    What one op takes of a bin is added to it, so that sums are exact. `COPIES` stands for the phase of copies, which
    keep both their ends busy.

    >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
    >>> busy.busy(("GPU:0", "forward"), [0.0, 1.0, 2.0])
    [0.5, 0.25]
    """

    __slots__ = ("_bins", "exponent", "origin")

    def __init__(self, origin: float = 0.0, exponent: int = -60, bins: Mapping[Lane, Numbers] | None = None) -> None:
        """Takes bins.

        Args:
          origin: when the first begins.
          exponent: of their width.
          bins: the busy seconds of each.
        """
        self.origin: float = origin
        self.exponent: int = exponent
        self._bins: Mapping[Lane, Numbers] = bins or {}

    @property
    def width(self) -> float:
        """How many seconds a bin has.

        >>> tf.runtime.Density(exponent=-3).width
        0.125
        """
        return 2.0**self.exponent

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The devices, each with the phases that it was busy with.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.lanes
        (('GPU:0', 'forward'),)
        """
        return tuple(self._bins)

    @property
    def end(self) -> float:
        """When the last bin ends; `origin` if there is none.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.origin, busy.end >= 1.25
        (0, True)
        """
        return self.origin + self.width * max([len(bins) for bins in self._bins.values()], default=0)

    def busy(self, lane: Lane, edges: Iterable[float]) -> list[float]:
        """Returns for how many seconds a device was busy with a phase between each two moments.

        Args:
          lane: a device by its full name, and a phase or `COPIES`.
          edges: moments in order; a part of a bin counts as that part of its seconds.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.busy(("GPU:0", "forward"), [0.0, 0.25, 2.0])
        [0.25, 0.5]
        """
        moments = np.array([*edges], np.float64)
        bins = self._bins.get(lane)
        if bins is None:
            return [0.0] * max(0, len(moments) - 1)
        until = np.concatenate(([0.0], np.cumsum(bins)))
        bin_edges = self.origin + self.width * np.arange(len(until))
        return np.diff(np.interp(moments, bin_edges, until)).tolist()

    def with_work(self, work: Intervals) -> Density:
        """Returns bins in which more was added.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> longer = busy.with_work({("GPU:0", "copies"): [2.0, 1.0]})
        >>> longer.busy(("GPU:0", "copies"), [0.0, 2.5, 3.0])
        [0.5, 0.5]
        """
        if not work:
            return self
        spans = {lane: np.array(numbers, np.float64).reshape(-1, 2).T for lane, numbers in work.items()}
        end = max([float((starts + seconds).max()) for starts, seconds in spans.values()])
        begin = min([float(starts.min()) for starts, _ in spans.values()])
        empty = not self._bins
        origin = math.floor(begin) if empty else min(self.origin, begin)
        exponent = self.exponent
        while (end - origin) / 2.0**exponent > _MOST:
            exponent += 1 if not empty else max(1, math.ceil(math.log2((end - origin) / 2.0**exponent / _MOST)))
        return self._widened(origin, exponent)._added(spans)

    def _widened(self, origin: float, exponent: int) -> Density:
        """Returns the same in wider bins, from an earlier origin on."""
        if not self._bins:
            return Density(origin, exponent)
        ahead = math.ceil((self.origin - origin) / 2.0**exponent)
        bins = {
            lane: np.concatenate((np.zeros(ahead), _folded(values, exponent - self.exponent)))
            for lane, values in self._bins.items()
        }
        return Density(self.origin - ahead * 2.0**exponent, exponent, bins)

    def _added(self, spans: Mapping[Lane, Any]) -> Density:
        bins = dict(self._bins)
        for lane, (starts, seconds) in spans.items():
            first, added = _binned(starts - self.origin, seconds, self.width)
            earlier_bins = bins.get(lane, np.zeros(0))
            values = np.zeros(max(len(earlier_bins), first + len(added)))
            values[: len(earlier_bins)] = earlier_bins
            values[first : first + len(added)] += added
            bins[lane] = values
        return Density(self.origin, self.exponent, bins)


def _folded(values: Numbers, times: int) -> Numbers:
    """Returns bins of twice the width, so many times."""
    for _ in range(min(times, len(values).bit_length())):
        values = np.append(values, np.zeros(len(values) % 2)).reshape(-1, 2).sum(1)
    return values


def _binned(starts: Numbers, seconds: Numbers, width: float) -> tuple[int, Numbers]:
    """Returns the number of the first bin, and the busy seconds of it and those behind."""
    ends = starts + seconds
    first, last = math.floor(float(starts.min()) / width), math.ceil(float(ends.max()) / width)
    base = first * width
    edges: Numbers = np.arange(max(1, last - first) + 1, dtype=np.float64) * width
    return first, np.diff(_time_since(np.sort(starts) - base, edges) - _time_since(np.sort(ends) - base, edges))


def _time_since(moments: Numbers, edges: Numbers) -> Numbers:
    """Returns for each edge the sum of the times since all moments before it."""
    sums = np.concatenate(([0.0], np.cumsum(moments)))
    positions = np.searchsorted(moments, edges)
    return positions * edges - sums[positions]


class Densities(NamedTuple):
    """How busy devices were with what is no longer kept, by the two clocks; those are never mixed.

    `modelled` is in seconds since the recording began, as the `start` of events; `measured` in seconds of the day, as
    their `time`.

    >>> densities = tf.runtime.Densities().with_work({("GPU:0", "forward"): [0.0, 0.5]}, {})
    >>> densities.modelled.lanes, densities.measured.lanes
    ((('GPU:0', 'forward'),), ())
    """

    modelled: Density = Density()
    measured: Density = Density()

    def with_work(self, modelled: Intervals, measured: Intervals) -> Densities:
        """Returns them with more.

        >>> densities = tf.runtime.Densities().with_work({}, {("CPU:0", "forward"): [0.0, 0.5]})
        >>> densities.measured.busy(("CPU:0", "forward"), [0.0, 1.0])
        [0.5]
        """
        return Densities(self.modelled.with_work(modelled), self.measured.with_work(measured))
