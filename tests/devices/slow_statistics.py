"""A plain copy of the caching allocator's statistics: every figure is kept, and changed at once."""

from __future__ import annotations


class SlowStatistics:
    """Figures by metric and pool: current, peak, allocated and freed."""

    def __init__(self) -> None:
        self.figures: dict[tuple[str, str], dict[str, int]] = {}

    def add(self, metric: str, small: bool, amount: int) -> None:
        for pool in ("all", "small_pool" if small else "large_pool"):
            figures = self.figures.setdefault(
                (metric, pool), dict.fromkeys(("current", "peak", "allocated", "freed"), 0)
            )
            figures["current"] += amount
            figures["peak"] = max(figures["peak"], figures["current"])
            figures["freed" if amount < 0 else "allocated"] += abs(amount)

    def reset_peaks(self) -> None:
        for figures in self.figures.values():
            figures["peak"] = figures["current"]

    def reset_accumulated(self) -> None:
        for figures in self.figures.values():
            figures["allocated"] = figures["freed"] = 0
