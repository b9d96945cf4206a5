"""Is a view being displayed, did it load in the page, and does the page keep it in sight?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from nbtf._displayed import is_in_ipython

PATIENCE = 3.0
"""Seconds that a front end has, while no cell runs, to load a view and report it; it usually takes tenths."""


class Audience:
    """Tracks who displays one model. A front end reports only while no cell runs; until then, a shown view counts."""

    def __init__(self) -> None:
        """Starts without any view shown."""
        self.views = 0
        self.told = 0  # the number of the last state that was sent
        self.nbytes = 0  # size of the last message
        self._reported = self._waiting = False
        self._panels: bool | None = None

    @property
    def looking(self) -> bool:
        """Whether a sent state may be seen."""
        return self.views > 0 or self._waiting

    def shown(self) -> None:
        """Records that the model was put into a cell's output."""
        self._waiting = True

    @property
    def without_panels(self) -> bool:
        """Whether no page that displays the model has a panel for it; pages that have not reported yet are guessed."""
        return self.looking and (outputs_stand_alone() if self._panels is None else not self._panels)

    def report(self, more: int, panels: bool | None = None) -> None:
        """Records a front end's report: one view more or less, and whether its page has panels."""
        self._reported, self._waiting = True, False
        self.views: int = max(0, self.views + more)
        if panels is not None:
            self._panels = panels or bool(self._panels)

    def give_up(self) -> bool:
        """Stops waiting; returns whether the view was shown but never loaded."""
        missing = self._waiting and not self._reported
        self._waiting = False
        return missing


class Patience:
    """Whether a front end had time to answer, by its own clock: requests carry their date, and cells have a length.

    The time during which a cell ran, or other cells waited behind it, does not count. A program that sends cells
    back to back (nbclient, nbval) is never waited for.
    """

    def __init__(self) -> None:
        """Starts before the first cell."""
        self._ended: float | None = None
        self._date: float | None = None
        self._began = 0.0

    def cell_begins(self, date: float | None) -> bool:
        """Records a cell's request; returns whether nothing had run for `PATIENCE` seconds before it was sent."""
        self._began = time.monotonic()
        idle = 0.0 if date is None or self._ended is None else date - self._ended
        self._date = date if date is None or self._ended is None else max(date, self._ended)
        return idle >= PATIENCE

    def cell_ends(self) -> None:
        """Records that the cell is over. A cell whose start was not seen is ignored."""
        if self._date is not None:
            self._ended = self._date + time.monotonic() - self._began
            self._date = None


def request_date(shell: Any) -> float | None:
    """Returns when the running cell was sent, by the front end's clock; None if no front end sent it."""
    ask: Callable[[], dict[str, Any] | None] = getattr(shell, "get_parent", dict)
    parent: dict[str, Any] = ask() or {}
    header: dict[str, Any] = parent.get("header") or {}
    date: Any = header.get("date")
    try:
        date = datetime.fromisoformat(date) if isinstance(date, str) else date
    except ValueError:
        return None
    return date.timestamp() if isinstance(date, datetime) else None


def outputs_stand_alone() -> bool:
    """Returns whether a view cannot find its picture in the page.

    In Colab and VS Code, outputs are documents of their own. In marimo, Panel and Solara, no shell of IPython sends the
    picture to the page.
    """
    if not is_in_ipython():
        return True
    shell: Any = sys.modules["IPython.core.interactiveshell"].InteractiveShell._instance
    return "google.colab" in sys.modules or "__vsc_ipynb_file__" in shell.user_ns
