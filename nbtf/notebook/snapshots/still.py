"""Draws the memory of a device in a snapshot over time, stacked, as the picture that readers without scripts see."""

from __future__ import annotations

import numpy as np

from nbtf.notebook.snapshots.grouping import Grouping
from nbtf.notebook.snapshots.history import DeviceHistory
from nbtf.notebook.snapshots.overview import column_tops, group_levels
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture

COLUMNS = 320
"""Columns of a picture: fewer than px, because a notebook that stores it should stay small."""


def snapshot_still(history: DeviceHistory, grouping: Grouping) -> Picture:
    """Returns a picture of the groups' bytes over time, with a list of them at the peak.

    Args:
      history: the history of a device.
      grouping: the groups of its pieces.
    """
    steps = column_tops(history.in_use, COLUMNS)
    memory = {
        "name": history.name,
        "groups": [{"name": name, "fill": fill} for name, fill in zip(grouping.names, grouping.fills, strict=True)],
        "levels": [level.tolist() for level in group_levels(history, grouping, steps)],
        "atPeak": [int(level[0]) for level in group_levels(history, grouping, np.array([history.peak]))],
        "inUse": int(history.in_use[history.peak]),
        "peak": int(steps.searchsorted(history.peak)),
    }
    return drawn("snapshot", memory, WIDTH)
