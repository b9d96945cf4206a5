"""Draws a recording's timeline: where the time went, and which device waited for which."""

from __future__ import annotations

from typing import Any

from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.lane_groups import MOST_UNGROUPED
from nbtf.notebook.stills.long_timeline import LongTimeline
from nbtf.notebook.stills.marks import WIDTH, Picture
from nbtf.notebook.stills.schedule import Schedule
from nbtf.notebook.stills.timeline_data import CodeLine, timeline_data

MOST_DRAWN = 20_000
"""Ops and copies up to which a picture is drawn from all of them, and no sums: a tenth of a second."""


def timeline(schedule: Schedule, width: float = WIDTH, code_line: CodeLine = str) -> Picture:
    """Returns a picture of what ran when, with a lane for each device.

    Args:
      schedule: the schedule of a recording, from `schedule_of`.
      width: in px; at least 480 are used.
      code_line: formats a line of the program as text.
    """
    if len(schedule.ops) + len(schedule.copies) <= MOST_DRAWN:
        return _picture(timeline_data(schedule, code_line), width)
    return long_still(LongTimeline(schedule, code_line), width)


def long_still(recorded: LongTimeline, width: float = WIDTH) -> Picture:
    """Returns the picture of a long recording, drawn from its longest ops and the sums of all others."""
    return _picture(recorded.data(lanes=range(MOST_UNGROUPED), groups=()), width)


def _picture(data: dict[str, Any], width: float) -> Picture:
    return drawn("timeline", data, width)
