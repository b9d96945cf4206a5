"""What is the verdict on a cell, and on a notebook?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from nbtf.cli.execution import Output
from nbtf.cli.printable import first_line


class State(Enum):
    """The result of a cell."""

    SAME = "as recorded"
    RAN = "ran, not compared"
    SKIPPED = "skipped"
    NOT_RUN = "not run"
    DIFFERS = "differs"
    FAILED = "failed"
    NOT_REACHED = "not reached"

    @property
    def is_wrong(self) -> bool:
        """Whether this result needs the user's attention."""
        return self in (State.DIFFERS, State.FAILED, State.NOT_REACHED)


@dataclass(slots=True)
class CellVerdict:
    """The verdict on a code cell; `number` counts code cells from 1, `index` counts all cells from 0.

    `name` is the cell's id in the notebook; empty in old formats. `missing` lists the modules that only this cell needs
    and that are not installed; the cell was then not run.
    """

    number: int
    index: int
    source: str
    state: State
    lines: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    # Not in the repr, because asyncio prints results of tasks.
    recorded: list[Output] = field(default_factory=list[Output], repr=False)
    printed: list[Output] = field(default_factory=list[Output], repr=False)
    seconds: float = 0.0
    missing: list[str] = field(default_factory=list[str])
    name: str = ""

    @property
    def reason(self) -> str:
        """Why it was not run, if a module is missing."""
        return f"not run: needs {' and '.join(self.missing)}"

    @property
    def first_line(self) -> str:
        """The first line of code, cut to fit beside the cell's number."""
        return first_line(self.source, SOURCE_SHOWN)


SOURCE_SHOWN = 60


@dataclass(slots=True)
class NotebookVerdict:
    """The verdict on a notebook: on its cells, and on the notebook as a whole.

    It is `unusable` if its cells could not be judged, and `translated` if its original is run instead.
    If modules that it needs are `missing`, it did not run. `skipped` is the reason why it was not checked, or
    not to its end.
    """

    path: Path
    cells: list[CellVerdict] = field(default_factory=list[CellVerdict])
    problems: list[str] = field(default_factory=list[str])
    unusable: bool = False
    translated: bool = False
    missing: list[str] = field(default_factory=list[str])
    skipped: str = ""
    executed: Any = field(default=None, repr=False)
    seconds: float = 0.0
    updated: int = 0

    @property
    def is_wrong(self) -> bool:
        """Whether something differs, failed, or could not be checked."""
        return self.unusable or bool(self.problems) or any(cell.state.is_wrong for cell in self.cells)

    @property
    def is_compared(self) -> bool:
        """Whether a cell was compared with its recorded outputs, or the original of this translation is."""
        return self.translated or any(cell.state is State.SAME or cell.state is State.DIFFERS for cell in self.cells)

    @property
    def status(self) -> int:
        """The exit status for this notebook alone."""
        return 2 if self.unusable else int(self.is_wrong)

    def wrong_cells(self) -> Iterator[CellVerdict]:
        """Yields the cells that need attention, except those that were not reached."""
        return (cell for cell in self.cells if cell.state in (State.DIFFERS, State.FAILED))

    def count(self, state: State) -> int:
        """Returns the number of cells with this state."""
        return sum(cell.state is state for cell in self.cells)
