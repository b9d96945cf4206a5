"""From when on does a view show what ran: in the last cell, since the view was shown, or all on this machine?"""

from __future__ import annotations

from typing import NamedTuple

from nbtf import runtime

SCOPES = CELL, HERE, ALL = "cell", "here", "all"
"""What a reader may choose."""


class Beginning(NamedTuple):
    """Where a scope begins: what was heard before it, and the cell that begins there if one does."""

    before: runtime.Snapshot
    first: int
    """The least number of an event."""
    cell: str = ""

    def rest(self, snapshot: runtime.Snapshot) -> runtime.Snapshot:
        """Returns what a snapshot has of the scope, totals and events."""
        since = snapshot.since(self.before)
        return since._replace(events=snapshot.events[max(0, len(snapshot.events) - since.heard) :])


def beginning(recorder: runtime.Recorder, scope: str, shown_in: runtime.Scene | None) -> Beginning:
    """Returns where a scope begins; a restart begins all of them anew.

    Args:
      recorder: of the session.
      scope: one of `SCOPES`.
      shown_in: the run of the cell that has shown the view, if there was one.
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
    """Returns the beginning of the last run of a cell in which anything was heard."""
    event_count, last = recorder.snapshot(0).heard, machine
    for scene in reversed(recorder.scenes):
        totals = recorder.totals_before(scene)
        if totals is None or totals.heard < machine.before.heard:
            break
        last = Beginning(totals, scene.first, scene.cell)
        if totals.heard < event_count:
            break
    return last
