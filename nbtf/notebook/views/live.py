"""What does `--live` answer: the live view, or the table with a line that says why not?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf.notebook.session import Session
from nbtf.notebook.tables import Table
from nbtf.notebook.views.pump import pump_of


def live(
    session: Session, view_name: str, table: Callable[[], Table], only: tuple[str, ...] = (), in_cell: bool = False
) -> Any:
    """Returns the view of a session, each time the same one; a table where nothing can be live.

    Args:
      session: whose view it is.
      view_name: `DeviceMap` or `MemoryView`.
      table: makes what stands in for it.
      only: the devices that are shown; all when empty.
      in_cell: whether it stays in its cell, also where the page has panels.

    Raises:
      ModuleNotFoundError: anywidget is not installed.
    """
    pump = pump_of(session)
    if pump.mode == "off":
        picture = table()
        picture.notes.append(f"Not live: {pump.why_off}.")
        return picture
    from nbtf.notebook.views import widgets  # late: only who wants a live view needs anywidget

    shared_view = pump.shared.get((view_name, only))
    if shared_view is None or shared_view.gone:
        shared_view = pump.shared[view_name, only] = getattr(widgets, view_name)(*only)
    shared_view.docked = not in_cell
    return shared_view
