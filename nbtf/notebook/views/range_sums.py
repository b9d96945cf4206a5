"""Sums up what ran in a range of time: in total, by device and by op. Counterpart of `static/timeline_range.js`.

A page sums up short recordings alone; of a long one, it lacks most ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtf.notebook.stills.schedule import Pieces, Schedule, Transfer, Work


def sums_of_range(schedule: Schedule, begin: float, end: float) -> dict[str, Any]:
    """Returns what the page's `sumsOfRange` returns.

    Args:
      schedule: what ran and when.
      begin: start of the range, in seconds. An op or a copy counts as one if it overlaps the range.
      end: end of the range.
    """
    works, copies = schedule.ops.at(_inside(schedule.ops, begin, end)), schedule.copies
    copies = copies.at(_inside(copies, begin, end))
    busy = np.maximum(np.minimum(works.end, end) - np.maximum(works.start, begin), 0.0)
    nbytes = copies.of_each(lambda copy: copy.nbytes, np.int64)
    devices: list[tuple[str, int, float, int, int]] = []
    for lane in schedule.lanes:
        on_lane = works.of_each(lambda work: work.device == lane, bool)  # noqa: B023  # called at once
        copied = copies.of_each(lambda copy: lane in (copy.source, copy.target), bool)  # noqa: B023
        devices.append(
            (lane, int(on_lane.sum()), float(busy[on_lane].sum()), int(copied.sum()), int(nbytes[copied].sum()))
        )
    return {
        "ops": len(works),
        "busy": float(busy.sum()),
        "copies": len(copies),
        "nbytes": int(nbytes.sum()),
        "devices": [device for device in devices if device[1] or device[3]],
        "names": _by_name(works, busy),
    }


def _inside(pieces: Pieces[Work] | Pieces[Transfer], begin: float, end: float) -> NDArray[np.bool_]:
    return (pieces.start < end) & ((pieces.start >= begin) | (pieces.end > begin))


def _by_name(works: Pieces[Work], busy: NDArray[np.float64]) -> list[tuple[str, int, float]]:
    names = sorted({work.op for work in works.distinct()})
    number = works.of_each(lambda work: names.index(work.op) if work.op in names else -1, np.int64)
    counts, seconds = np.bincount(number, minlength=len(names)), np.bincount(number, busy, len(names))
    rows = zip(names, counts.tolist(), seconds.tolist(), strict=True)
    return sorted(rows, key=lambda row: (-row[2], -row[1]))
