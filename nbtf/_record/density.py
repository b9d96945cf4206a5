"""The load of each device, by phase, before the oldest event that is still kept: a histogram over time.

Bins are 2**k seconds wide. There are never more than a few thousand: as time passes, pairs of bins are merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

_MOST = 4096
"""The bins of a device and a phase."""

COPIES = "copies"
"""The phase name used for copies."""

Lane: TypeAlias = "tuple[str, str]"
"""A device's full name and a phase; see `phases.py`."""
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


Intervals: TypeAlias = "dict[Lane, list[float]]"
"""Start times and durations in seconds, alternating."""


class Density:
    """Busy seconds by device and phase, in bins of equal width that begin at `origin`; immutable.

    Each op adds its share to every bin it overlaps, so sums are exact. `COPIES` is the phase of copies, which keep
    both devices busy.

    >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
    >>> busy.busy(("GPU:0", "forward"), [0.0, 1.0, 2.0])
    [0.5, 0.25]
    """

    __slots__ = ("bins", "exponent", "origin")

    def __init__(self, origin: float = 0.0, exponent: int = -60, bins: Mapping[Lane, Numbers] | None = None) -> None:
        """Stores bins.

        Args:
          origin: start of the first bin, in seconds.
          exponent: k of the bin width 2**k seconds.
          bins: busy seconds per bin for each device and phase; None for none.
        """
        self.origin: float = origin
        self.exponent: int = exponent
        self.bins: Mapping[Lane, Numbers] = bins or {}

    @property
    def width(self) -> float:
        """Width of a bin, in seconds.

        >>> tf.runtime.Density(exponent=-3).width
        0.125
        """
        return 2.0**self.exponent

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The devices and the phases in which each was busy.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.lanes
        (('GPU:0', 'forward'),)
        """
        return tuple(self.bins)

    @property
    def end(self) -> float:
        """End of the last bin; `origin` without bins.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.origin, busy.end >= 1.25
        (0, True)
        """
        return self.origin + self.width * max([len(bins) for bins in self.bins.values()], default=0)

    def busy(self, lane: Lane, edges: Iterable[float]) -> list[float]:
        """Returns the busy seconds of a device and phase between each two consecutive times.

        Args:
          lane: a device's full name, and a phase or `COPIES`.
          edges: times in ascending order; a bin that is partly covered counts in proportion.

        >>> busy = tf.runtime.Density().with_work({("GPU:0", "forward"): [0.0, 0.5, 1.0, 0.25]})
        >>> busy.busy(("GPU:0", "forward"), [0.0, 0.25, 2.0])
        [0.25, 0.5]
        """
        moments = np.array([*edges], np.float64)
        bins = self.bins.get(lane)
        if bins is None:
            return [0.0] * max(0, len(moments) - 1)
        until = np.concatenate(([0.0], np.cumsum(bins)))
        bin_edges = self.origin + self.width * np.arange(len(until))
        return np.diff(np.interp(moments, bin_edges, until)).tolist()

    def with_work(self, work: Intervals) -> Density:
        """Returns a density to which more work was added.

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
        empty = not self.bins
        origin = math.floor(begin) if empty else min(self.origin, begin)
        exponent = self.exponent
        while (end - origin) / 2.0**exponent > _MOST:
            exponent += 1 if not empty else max(1, math.ceil(math.log2((end - origin) / 2.0**exponent / _MOST)))
        return self._widened(origin, exponent)._added(spans)

    def _widened(self, origin: float, exponent: int) -> Density:
        """Returns the same density with wider bins and an earlier origin."""
        if not self.bins:
            return Density(origin, exponent)
        ahead = math.ceil((self.origin - origin) / 2.0**exponent)
        bins = {
            lane: np.concatenate((np.zeros(ahead), _folded(values, exponent - self.exponent)))
            for lane, values in self.bins.items()
        }
        return Density(self.origin - ahead * 2.0**exponent, exponent, bins)

    def _added(self, spans: Mapping[Lane, Any]) -> Density:
        bins = dict(self.bins)
        for lane, (starts, seconds) in spans.items():
            first, added = _binned(starts - self.origin, seconds, self.width)
            earlier_bins = bins.get(lane, np.zeros(0))
            values = np.zeros(max(len(earlier_bins), first + len(added)))
            values[: len(earlier_bins)] = earlier_bins
            values[first : first + len(added)] += added
            bins[lane] = values
        return Density(self.origin, self.exponent, bins)


def _folded(values: Numbers, times: int) -> Numbers:
    """Returns the bins after merging pairs `times` times."""
    for _ in range(min(times, len(values).bit_length())):
        values = np.append(values, np.zeros(len(values) % 2)).reshape(-1, 2).sum(1)
    return values


def _binned(starts: Numbers, seconds: Numbers, width: float) -> tuple[int, Numbers]:
    """Returns the index of the first bin, and the busy seconds of that bin and the following ones."""
    ends = starts + seconds
    first, last = math.floor(float(starts.min()) / width), math.ceil(float(ends.max()) / width)
    base = first * width
    edges: Numbers = np.arange(max(1, last - first) + 1, dtype=np.float64) * width
    return first, np.diff(_time_since(np.sort(starts) - base, edges) - _time_since(np.sort(ends) - base, edges))


def _time_since(moments: Numbers, edges: Numbers) -> Numbers:
    """Returns, for each edge, the total time since all earlier moments."""
    sums = np.concatenate(([0.0], np.cumsum(moments)))
    positions = np.searchsorted(moments, edges)
    return positions * edges - sums[positions]


class Densities(NamedTuple):
    """The load of devices in the part of a recording that is no longer kept, by the two clocks.

    `modelled` counts seconds since the recording began, like the `start` of events. `measured` uses seconds of the
    day, like their `time`. The two are never mixed.

    >>> densities = tf.runtime.Densities().with_work({("GPU:0", "forward"): [0.0, 0.5]}, {})
    >>> densities.modelled.lanes, densities.measured.lanes
    ((('GPU:0', 'forward'),), ())
    """

    modelled: Density = Density()
    measured: Density = Density()

    def with_work(self, modelled: Intervals, measured: Intervals) -> Densities:
        """Returns densities to which more work was added.

        >>> densities = tf.runtime.Densities().with_work({}, {("CPU:0", "forward"): [0.0, 0.5]})
        >>> densities.measured.busy(("CPU:0", "forward"), [0.0, 1.0])
        [0.5]
        """
        return Densities(self.modelled.with_work(modelled), self.measured.with_work(measured))
