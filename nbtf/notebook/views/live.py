"""What does `--live` answer: the live view, or the table with a line that says why not?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf.notebook.session import Session
from nbtf.notebook.tables import Table
from nbtf.notebook.views.pump import pump_of


def live(
    session: Session, kind: str, table: Callable[[], Table], only: tuple[str, ...] = (), here: bool = False
) -> Any:
    """Returns the view of a session, each time the same one; a table where nothing can be live.

    Args:
      session: whose view it is.
      kind: `DeviceMap` or `MemoryView`.
      table: makes what stands in for it.
      only: the devices that are shown; all when empty.
      here: whether it stays in its cell, also where the page has panels.

    Raises:
      ModuleNotFoundError: anywidget is not installed.
    """
    pump = pump_of(session)
    if pump.mode == "off":
        still = table()
        still.notes.append(f"Not live: {pump.why_off}.")
        return still
    from nbtf.notebook.views import widgets  # late: only who wants a live view needs anywidget

    known = pump.shared.get((kind, only))
    if known is None or known.gone:
        known = pump.shared[kind, only] = getattr(widgets, kind)(*only)
    known.docked = not here
    return known
