"""Does anybody look at a view, did it load where the notebook is shown, and does it stay in sight there?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from IPython import get_ipython

PATIENCE = 3.0
"""Seconds that a front end has, while no cell runs, to load a view and to say so; it takes tenths."""


class Audience:
    """Who looks at one model. A front end is heard only while no cell runs: until then a view that was shown counts."""

    def __init__(self) -> None:
        """Has shown nothing yet."""
        self.views = 0
        self.told = 0  # the number of the last state that was sent
        self.nbytes = 0  # of the last message
        self._reported = self._waiting = False
        self._panels: bool | None = None

    @property
    def looking(self) -> bool:
        """Whether what is sent may be seen."""
        return self.views > 0 or self._waiting

    def shown(self) -> None:
        """Takes down that the model was put into a cell's output."""
        self._waiting = True

    @property
    def without_panels(self) -> bool:
        """Whether it is seen in pages alone that have no panel for it; those that have not said so yet are guessed."""
        return self.looking and (outputs_stand_alone() if self._panels is None else not self._panels)

    def report(self, more: int, panels: bool | None = None) -> None:
        """Takes down what a front end says: one more view, or one less; and whether its page has panels."""
        self._reported, self._waiting = True, False
        self.views: int = max(0, self.views + more)
        if panels is not None:
            self._panels = panels or bool(self._panels)

    def give_up(self) -> bool:
        """Waits no longer; says whether the view was shown and has never been loaded."""
        missing = self._waiting and not self._reported
        self._waiting = False
        return missing


class Patience:
    """Whether a front end had time to answer, by its own clock: requests carry their date, and cells have a length.

    Time in which a cell ran, or others waited behind it, does not count. A program that sends cells one right after
    the other (nbclient, nbval) is never waited for.
    """

    def __init__(self) -> None:
        """Knows of no cell yet."""
        self._ended: float | None = None
        self._date: float | None = None
        self._began = 0.0

    def cell_begins(self, date: float | None) -> bool:
        """Takes a cell's request down; says whether nothing had run for `PATIENCE` seconds before it was made."""
        self._began = time.monotonic()
        idle = 0.0 if date is None or self._ended is None else date - self._ended
        self._date = date if date is None or self._ended is None else max(date, self._ended)
        return idle >= PATIENCE

    def cell_ends(self) -> None:
        """Takes down that the cell is over. One whose beginning was not seen tells nothing."""
        if self._date is not None:
            self._ended = self._date + time.monotonic() - self._began
            self._date = None


def request_date(shell: Any) -> float | None:
    """Returns when the cell that runs was sent, by the front end's clock; None where no front end sent it."""
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
    """Tells whether outputs are no part of the notebook's page: in Colab and VS Code each has a document."""
    namespace: dict[str, Any] = getattr(get_ipython(), "user_ns", {})
    return "google.colab" in sys.modules or "__vsc_ipynb_file__" in namespace
