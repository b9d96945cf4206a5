"""Draws the memory of a device in a snapshot over time, stacked, as the picture that readers without scripts see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.snapshots.grouping import Grouping
from nbtf.notebook.snapshots.history import DeviceHistory
from nbtf.notebook.snapshots.overview import column_tops, group_levels
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Picture, Text, framed
from nbtf.notebook.stills.memory_bands import LEFT, MARGIN, Words
from nbtf.notebook.stills.memory_history import rounded_up
from nbtf.notebook.stills.memory_stack import HEIGHT, SIDE, TOP, composed, listed, scale_of, stacked_areas

COLUMNS = 320
"""Columns of a picture: fewer than px, because a notebook that stores it should stay small."""


def snapshot_still(history: DeviceHistory, grouping: Grouping, words: Words) -> Picture:
    """Returns a picture of the groups' bytes over time, with a list of them at the peak.

    Args:
      history: the history of a device.
      grouping: the groups of its pieces.
      words: texts of the sections `memoryPicture` and `snapshot`.
    """
    in_use = int(history.in_use[history.peak])
    steps = column_tops(history.in_use, COLUMNS)
    levels = [level.tolist() for level in group_levels(history, grouping, steps)]
    at_peak = [int(level[0]) for level in group_levels(history, grouping, np.array([history.peak]))]
    rows = list(zip(grouping.fills, grouping.names, at_peak, strict=True))
    composition = composed(reversed(rows), in_use, words)
    side = max(SIDE, *(46 + name.width + figure.width for _, name, figure in composition))
    right, high = WIDTH - side - MARGIN, rounded_up(max(in_use, 1))
    width = (right - LEFT) / len(steps)
    sides = [(LEFT + width * at, LEFT + width * (at + 1)) for at in range(len(steps))]
    begin = LEFT + width * (int(steps.searchsorted(history.peak)) + 0.5)
    title = Text(MARGIN, 28, filled(words["whoOverTime"], name=history.name), size=15, weight=650)
    top = Text(0, TOP - 12, filled(words["peak"], size=gib(in_use)), weight=650)
    marks: list[Mark] = [
        title,
        Text(title.x + title.width + 12, 28, words["measured"], "soft", 11),
        *scale_of(high, right),
        *stacked_areas(zip(grouping.fills, grouping.names, levels, strict=True), sides, high),
        Line(begin, TOP - 8, begin, TOP + HEIGHT * (1 - in_use / high), "ink", 1.3),
        replace(top, x=min(max(begin - top.width / 2, LEFT), right - top.width)),
        *listed(composition, words, right + 20, WIDTH - MARGIN),
    ]
    about = filled(words["stackAbout"], name=history.name, size=gib(in_use))
    return framed(WIDTH, max(TOP + HEIGHT, TOP + 22 * (len(composition) + 1)) + 36, about, marks)
