"""How full was a device over time, in no more points than a small curve can show?"""

from __future__ import annotations

from nbtf import runtime

MOST = 120
"""Points of one device."""

ALL = 240
"""Points of all devices together, where each may have some: a message is sent ten times a second."""

FEWEST = 30
NEW = 20
"""Points that one look may add."""

RECENT = 4
"""One part in so many of the points is never thinned: what happened just now."""


class History:
    """In use and pool of one device, the oldest first. The highest points are kept."""

    def __init__(self) -> None:
        """Starts empty."""
        self.points: list[tuple[int, int, int]] = []
        self._peak = 0

    def take(self, events: list[runtime.Allocated | runtime.Freed], since: float) -> None:
        """Adds what events told; of many the highest ones.

        Args:
          events: in the order in which they were told.
          since: when the clock of the view began, in seconds since the epoch.
        """
        step = -(-len(events) // NEW) or 1
        for at in range(0, len(events), step):
            event = max(events[at : at + step], key=lambda candidate: candidate.in_use)
            self._add(event.time - since, event.in_use, event.pool)

    def look(self, seconds: float, in_use: int, pool: int, peak: int) -> None:
        """Adds what the device says of itself, and a peak that no event told."""
        if peak > self._peak and all(peak > point[1] for point in self.points):
            self._add(seconds, peak, max(pool, peak))
        self._peak = peak
        self._add(seconds, in_use, pool)

    def thin(self, limit: int) -> None:
        """Keeps at most some points: the recent ones all, of the others the highest of each stretch of time."""
        if len(self.points) <= limit:
            return
        recent = limit // RECENT
        old, new = self.points[:-recent], self.points[-recent:]
        begin, stretches = old[0][0], limit // 2
        length = (old[-1][0] - begin) / stretches or 1
        highest: dict[int, tuple[int, int, int]] = {}
        for point in old:
            stretch = min(stretches - 1, int((point[0] - begin) / length))
            if stretch not in highest or point[1] >= highest[stretch][1]:
                highest[stretch] = point
        self.points = [*highest.values(), *new]

    def _add(self, seconds: float, in_use: int, pool: int) -> None:
        points = self.points
        ms = max(0, int(seconds * 1000), points[-1][0] if points else 0)
        point = (ms, in_use, pool)
        if points and points[-1] == point:
            return
        if len(points) > 1 and points[-1][1:] == points[-2][1:] == point[1:]:
            points[-1] = point  # a flat line is its two ends
        else:
            points.append(point)


def share(devices: int) -> int:
    """Returns how many points each of some devices may have."""
    return max(FEWEST, min(MOST, ALL // max(1, devices)))
