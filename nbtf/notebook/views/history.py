"""A device's memory use over time, thinned to the number of points that a small curve can show."""

from __future__ import annotations

from nbtf import runtime

MOST = 120
"""Maximum number of points for one device."""

ALL = 240
"""Maximum number of points for all devices together; a message is sent ten times per second."""

FEWEST = 30
NEW = 20
"""Maximum number of points that one read adds."""

RECENT = 4
"""The newest 1/`RECENT` of the points is never thinned."""


class History:
    """Memory in use and pool of one device, oldest first. Thinning keeps the highest points."""

    def __init__(self) -> None:
        """Starts empty."""
        self.points: list[tuple[int, int, int]] = []
        self._peak = 0

    def take(self, events: list[runtime.Allocated | runtime.Freed], since: float) -> None:
        """Adds the values of events; of many events, only the highest values.

        Args:
          events: in the order in which they occurred.
          since: when the view's clock began, in seconds since the epoch.
        """
        step = -(-len(events) // NEW) or 1
        for at in range(0, len(events), step):
            event = max(events[at : at + step], key=lambda candidate: candidate.in_use)
            self._add(event.time - since, event.in_use, event.pool)

    def look(self, seconds: float, in_use: int, pool: int, peak: int) -> None:
        """Adds what the device currently reports, and a peak that no event reported."""
        if peak > self._peak and all(peak > point[1] for point in self.points):
            self._add(seconds, peak, max(pool, peak))
        self._peak = peak
        self._add(seconds, in_use, pool)

    def thin(self, limit: int) -> None:
        """Keeps at most `limit` points: all recent ones, and the highest of each stretch of time among the others."""
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
            points[-1] = point  # a flat line needs only its two ends
        else:
            points.append(point)


def share(devices: int) -> int:
    """Returns the maximum number of points for each of `devices` devices."""
    return max(FEWEST, min(MOST, ALL // max(1, devices)))
