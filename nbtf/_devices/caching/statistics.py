"""The statistics of the PyTorch allocator: the figures of `torch.cuda.memory_stats()`.

Each change is counted once, as a rise or a fall; the figures are computed when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast


class Metric(NamedTuple):
    """Positions of a metric's counters among those of a pool, and of its peaks: of both pools, small, large."""

    rises: int
    falls: int
    peaks: int


# Names and meanings: torch.cuda.memory_stats, and DeviceStats in c10/core/CachingDeviceAllocator.h of PyTorch 2.13.
_COUNTERS = (
    "num_alloc_retries",
    "num_ooms",
    "num_sync_all_streams",
    "num_device_alloc",
    "num_device_free",
    "num_oom_rejections",
)
RETRIES, OOMS, SYNCHRONIZED, DEVICE_ALLOCS, DEVICE_FREES = range(5)
_SMALL = len(_COUNTERS)
_LARGE = _SMALL + 20
_PEAKS = _LARGE + 20

# An allocation and the activity of its block begin together. They end separately while another stream uses the block.
ALLOCATION, ALLOCATED_BYTES = Metric(0, 3, _PEAKS), Metric(1, 4, _PEAKS + 3)
ACTIVE, ACTIVE_BYTES, REQUESTED_BYTES = Metric(0, 5, _PEAKS + 6), Metric(1, 6, _PEAKS + 9), Metric(2, 7, _PEAKS + 12)
SEGMENT, RESERVED_BYTES, INACTIVE_SPLIT, INACTIVE_SPLIT_BYTES, OVERSIZE_ALLOCATIONS, OVERSIZE_SEGMENTS = (
    Metric(8 + 2 * number, 9 + 2 * number, _PEAKS + 15 + 3 * number) for number in range(6)
)
_METRICS = {
    "allocation": ALLOCATION,
    "segment": SEGMENT,
    "active": ACTIVE,
    "inactive_split": INACTIVE_SPLIT,
    "allocated_bytes": ALLOCATED_BYTES,
    "reserved_bytes": RESERVED_BYTES,
    "active_bytes": ACTIVE_BYTES,
    "inactive_split_bytes": INACTIVE_SPLIT_BYTES,
    "requested_bytes": REQUESTED_BYTES,
    "oversize_allocations": OVERSIZE_ALLOCATIONS,
    "oversize_segments": OVERSIZE_SEGMENTS,
}
_OF_GRANTS = ALLOCATION, ALLOCATED_BYTES, REQUESTED_BYTES
_PEAK_OF_GRANTS = {ACTIVE: ALLOCATION.peaks, ACTIVE_BYTES: ALLOCATED_BYTES.peaks}
"""Memory is granted only when no other stream uses freed blocks, so their peaks are the same until peaks are reset."""
_POOLS = {"all": (_SMALL, _LARGE), "small_pool": (_SMALL,), "large_pool": (_LARGE,)}


class Statistics:
    """The figures of one allocator."""

    def __init__(self) -> None:
        """Starts at 0."""
        self.values = [0] * (_PEAKS + 3 * len(_METRICS))
        """Counters of events, counters of the small pool and of the large one, which only increase; then peaks."""
        self._at_reset = [*self.values]

    def grant(self, small: bool, size: int, requested: int) -> None:
        """Counts a block whose use begins."""
        values, pool = self.values, _SMALL if small else _LARGE
        values[pool] += 1
        values[pool + 1] += size
        values[pool + 2] += requested
        self._raise_peaks(_OF_GRANTS, pool)

    def end_use(self, small: bool, size: int) -> None:
        """Counts a block whose use ends."""
        values, pool = self.values, _SMALL if small else _LARGE
        values[pool + 3] += 1
        values[pool + 4] += size

    def end_activity(self, small: bool, size: int, requested: int) -> None:
        """Counts a block that becomes free."""
        values, pool = self.values, _SMALL if small else _LARGE
        values[pool + 5] += 1
        values[pool + 6] += size
        values[pool + 7] += requested

    def add(self, metric: Metric, small: bool, amount: int) -> None:
        """Adds to a metric of a pool; a negative `amount` subtracts."""
        pool = _SMALL if small else _LARGE
        if amount < 0:
            self.values[pool + metric.falls] -= amount
        else:
            self.values[pool + metric.rises] += amount
            self._raise_peaks((metric,), pool)

    def _raise_peaks(self, metrics: Sequence[Metric], pool: int) -> None:
        values, of_pool, second = self.values, 1 if pool == _SMALL else 2, _SMALL + _LARGE - pool
        for rises, falls, peaks in metrics:
            current = values[pool + rises] - values[pool + falls]
            if current > values[peaks + of_pool]:
                values[peaks + of_pool] = current
            current += values[second + rises] - values[second + falls]
            if current > values[peaks]:
                values[peaks] = current

    def current(self, metric: Metric) -> int:
        """Returns the current value of a metric, of both pools together."""
        values, (rises, falls, _) = self.values, metric
        return values[_SMALL + rises] + values[_LARGE + rises] - values[_SMALL + falls] - values[_LARGE + falls]

    def peak(self, metric: Metric) -> int:
        """Returns the peak of a metric, of both pools together."""
        return self._figures(metric, "all")["peak"]

    def reset_peaks(self) -> None:
        """Sets every peak to the current value."""
        for metric in _METRICS.values():
            for number, pool in enumerate(_POOLS):
                self.values[metric.peaks + number] = self._figures(metric, pool)["current"]

    def reset_accumulated(self) -> None:
        """Sets the totals allocated and freed, and the counters, to 0."""
        self._at_reset = [*self.values]

    def nested(self, max_split_size: int) -> dict[str, Any]:
        """Returns the figures as nested dictionaries, in the format of `memory_stats_as_nested_dict`."""
        figures: dict[str, Any] = {
            name: self._figures(metric, "all")
            if name.startswith("oversize")
            else {pool: self._figures(metric, pool) for pool in _POOLS}
            for name, metric in _METRICS.items()
        }
        counts = [value - at_reset for value, at_reset in zip(self.values, self._at_reset, strict=True)]
        figures |= dict(zip(_COUNTERS, counts, strict=False))
        return figures | {"max_split_size": max_split_size, "reserved_bytes_by_private_pools": {}}

    def _figures(self, metric: Metric, pool: str) -> dict[str, int]:
        values, counters, at_peak = self.values, _POOLS[pool], [*_POOLS].index(pool)
        risen, fallen = (sum([values[first + at] for first in counters]) for at in metric[:2])
        risen_before, fallen_before = (sum([self._at_reset[first + at] for first in counters]) for at in metric[:2])
        return {
            "current": risen - fallen,
            "peak": max(values[metric.peaks + at_peak], values[_PEAK_OF_GRANTS.get(metric, metric.peaks) + at_peak]),
            "allocated": risen - risen_before,
            "freed": fallen - fallen_before,
        }


def flat(nested: dict[str, Any], prefix: str = "") -> dict[str, int]:
    """Returns figures with dotted names, sorted: the format of `torch.cuda.memory_stats()`.

    >>> flat({"segment": {"all": {"peak": 2, "current": 1}}})
    {'segment.all.current': 1, 'segment.all.peak': 2}
    """
    figures: dict[str, int] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            figures |= flat(cast(dict[str, Any], value), f"{prefix}{name}.")
        else:
            figures[f"{prefix}{name}"] = value
    return dict(sorted(figures.items()))
