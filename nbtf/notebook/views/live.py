"""The answer to `--live`: the live view, or a table with a line that explains why it is not live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf.notebook.session import Session
from nbtf.notebook.tables import Table
from nbtf.notebook.views.pump import pump_of


def live(
    session: Session, view_name: str, table: Callable[[], Table], only: tuple[str, ...] = (), in_cell: bool = False
) -> Any:
    """Returns a session's view, the same one at each call; a table if nothing can be live.

    Args:
      session: the session that the view shows.
      view_name: `DeviceMap` or `MemoryView`.
      table: makes the table that replaces the view.
      only: devices to show; all if empty.
      in_cell: whether the view stays in its cell even if the page has panels.

    Raises:
      ModuleNotFoundError: if anywidget is not installed.
    """
    pump = pump_of(session)
    if pump.mode == "off":
        picture = table()
        picture.notes.append(f"Not live: {pump.why_off}.")
        return picture
    from nbtf.notebook.views import widgets  # imported late: only live views need anywidget

    shared_view = pump.shared.get((view_name, only))
    if shared_view is None or shared_view.gone:
        shared_view = pump.shared[view_name, only] = getattr(widgets, view_name)(*only)
    shared_view.docked = not in_cell
    return shared_view
