"""How does the memory of a whole history look in a few hundred columns? Each shows the step with the most in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._snapshots.lifetimes import Integers
from nbtf.notebook.snapshots.grouping import Grouping
from nbtf.notebook.snapshots.history import DeviceHistory, Window
from nbtf.notebook.stills.timeline_data import packed

COLUMNS = 960
"""Columns of an overview: one for each px of a usual page."""


def column_tops(in_use: Integers, columns: int = COLUMNS) -> Integers:
    """Returns the step with the most in use within each of some columns of equal width."""
    bounds = np.linspace(0, len(in_use), min(columns, len(in_use)) + 1).astype(np.int64)
    highest = np.maximum.reduceat(in_use, bounds[:-1])
    number = np.repeat(np.arange(len(highest)), np.diff(bounds))
    steps = np.flatnonzero(in_use == highest[number])
    return steps[np.unique(number[steps], return_index=True)[1]]


def group_levels(history: DeviceHistory, grouping: Grouping, steps: Integers) -> list[Integers]:
    """Returns the bytes of each group at some steps."""
    pieces = history.pieces
    return [pieces.at(grouping.of == number).levels(history.steps)[steps] for number in range(len(grouping.names))]


def overview_of(history: DeviceHistory, window: Window, every: Sequence[Grouping]) -> dict[str, Any]:
    """Returns the overview of a long history, with the window of which a page shows every piece."""
    steps = column_tops(history.in_use)
    levels = {each.by: [packed("d", level) for level in group_levels(history, each, steps)] for each in every}
    return {"steps": history.steps, "window": list(window), "columns": len(steps), "levels": levels}
