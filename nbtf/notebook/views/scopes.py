"""Which ops does a view show: those of the last cell, those since it was displayed, or all since the last restart?"""

from __future__ import annotations

from typing import NamedTuple

from nbtf import runtime

SCOPES = CELL, HERE, ALL = "cell", "here", "all"
"""The scopes that a reader may choose."""


class Beginning(NamedTuple):
    """The start of a scope: what was recorded before it and, if a cell begins there, that cell."""

    before: runtime.Snapshot
    first: int
    """The smallest number of an event."""
    cell: str = ""

    def part_of(self, snapshot: runtime.Snapshot) -> runtime.Snapshot:
        """Returns the part of a snapshot in the scope: totals and events."""
        since = snapshot.since(self.before)
        return since._replace(events=snapshot.events[max(0, len(snapshot.events) - since.heard) :])


def beginning(recorder: runtime.Recorder, scope: str, shown_in: runtime.Scene | None) -> Beginning:
    """Returns where a scope begins; a restart resets all of them.

    Args:
      recorder: the session's recorder.
      scope: one of `SCOPES`.
      shown_in: the run of the cell that displayed the view, if any.
    """
    machine = Beginning(recorder.totals_before_machine(), recorder.machine_first)
    if scope == CELL:
        return _last_cell(recorder, machine)
    if scope == HERE and shown_in is not None:
        totals = recorder.totals_before(shown_in)
        if totals is not None and totals.heard >= machine.before.heard:
            return Beginning(totals, shown_in.first, shown_in.cell)
    return machine


def _last_cell(recorder: runtime.Recorder, machine: Beginning) -> Beginning:
    """Returns the beginning of the last run of a cell in which anything was recorded."""
    event_count, last = recorder.snapshot(0).heard, machine
    for scene in reversed(recorder.scenes):
        totals = recorder.totals_before(scene)
        if totals is None or totals.heard < machine.before.heard:
            break
        last = Beginning(totals, scene.first, scene.cell)
        if totals.heard < event_count:
            break
    return last
