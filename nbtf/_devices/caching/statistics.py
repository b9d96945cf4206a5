"""The statistics of the PyTorch allocator: the figures of `torch.cuda.memory_stats()`."""

from __future__ import annotations

from typing import Any, cast

# Names and meanings: torch.cuda.memory_stats, and DeviceStats in c10/core/CachingDeviceAllocator.h of PyTorch 2.13.
_POOLS = ("all", "small_pool", "large_pool")
_FIGURES = ("current", "peak", "allocated", "freed")
_METRICS = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
_OVERSIZE = ("oversize_allocations", "oversize_segments")
_COUNTERS = (
    "num_alloc_retries",
    "num_ooms",
    "num_sync_all_streams",
    "num_device_alloc",
    "num_device_free",
    "num_oom_rejections",
)

_WIDTH = len(_FIGURES)
_METRIC_WIDTH = len(_POOLS) * _WIDTH
ALLOCATION, SEGMENT, ACTIVE, INACTIVE_SPLIT = (number * _METRIC_WIDTH for number in range(4))
ALLOCATED_BYTES, RESERVED_BYTES, ACTIVE_BYTES, INACTIVE_SPLIT_BYTES, REQUESTED_BYTES = (
    number * _METRIC_WIDTH for number in range(4, 9)
)
_SINGLE = len(_METRICS) * _METRIC_WIDTH
OVERSIZE_ALLOCATIONS, OVERSIZE_SEGMENTS = _SINGLE, _SINGLE + _WIDTH
_COUNT = _SINGLE + len(_OVERSIZE) * _WIDTH
RETRIES, OOMS, SYNCHRONIZED, DEVICE_ALLOCS, DEVICE_FREES = range(_COUNT, _COUNT + 5)


class Statistics:
    """The figures of one allocator in one list: current, peak, allocated and freed of each metric, then counters."""

    def __init__(self) -> None:
        """Starts at 0."""
        self.values = [0] * (_COUNT + len(_COUNTERS))

    def add(self, metric: int, small: bool, amount: int) -> None:
        """Adds to the small or the large pool, and to both together; a negative `amount` subtracts."""
        self.add_single(metric, amount)
        self.add_single(metric + (_WIDTH if small else 2 * _WIDTH), amount)

    def add_single(self, at: int, amount: int) -> None:
        """Adds to a metric without pools."""
        values = self.values
        values[at] = current = values[at] + amount
        if amount < 0:
            values[at + 3] -= amount
        else:
            values[at + 2] += amount
            if current > values[at + 1]:
                values[at + 1] = current

    def reset_peaks(self) -> None:
        """Sets every peak to the current value."""
        for at in range(0, _COUNT, _WIDTH):
            self.values[at + 1] = self.values[at]

    def reset_accumulated(self) -> None:
        """Sets the totals allocated and freed, and the counters, to 0."""
        for at in range(0, _COUNT, _WIDTH):
            self.values[at + 2] = self.values[at + 3] = 0
        self.values[_COUNT:] = [0] * len(_COUNTERS)

    def nested(self, max_split_size: int) -> dict[str, Any]:
        """Returns the figures as nested dictionaries, in the format of `memory_stats_as_nested_dict`."""
        figures: dict[str, Any] = {
            metric: {pool: self._figures(at * _METRIC_WIDTH + number * _WIDTH) for number, pool in enumerate(_POOLS)}
            for at, metric in enumerate(_METRICS)
        }
        figures |= {name: self._figures(_SINGLE + number * _WIDTH) for number, name in enumerate(_OVERSIZE)}
        figures |= dict(zip(_COUNTERS, self.values[_COUNT:], strict=True))
        return figures | {"max_split_size": max_split_size, "reserved_bytes_by_private_pools": {}}

    def _figures(self, at: int) -> dict[str, int]:
        return dict(zip(_FIGURES, self.values[at : at + _WIDTH], strict=True))


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
