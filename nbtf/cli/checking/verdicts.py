"""What is said of a cell, and of a notebook?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from nbtf.cli.execution import Output


class State(Enum):
    """What has become of a cell."""

    SAME = "as recorded"
    RAN = "ran, not compared"
    SKIPPED = "skipped"
    NOT_RUN = "not run"
    DIFFERS = "differs"
    FAILED = "failed"
    NOT_REACHED = "not reached"

    @property
    def is_wrong(self) -> bool:
        """Whether somebody must look at it."""
        return self in (State.DIFFERS, State.FAILED, State.NOT_REACHED)


@dataclass(slots=True)
class CellVerdict:
    """What is said of a code cell; `number` counts them from 1, `index` counts all cells from 0.

    `missing` lists the modules that it alone needs and this Python does not have: then it was not run.
    """

    number: int
    index: int
    source: str
    state: State
    lines: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    recorded: list[Output] = field(default_factory=list[Output], repr=False)  # asyncio shows the results of its tasks
    printed: list[Output] = field(default_factory=list[Output], repr=False)
    seconds: float = 0.0
    missing: list[str] = field(default_factory=list[str])

    @property
    def reason(self) -> str:
        """Why it was not run, if a module is missing."""
        return f"not run: needs {' and '.join(self.missing)}"

    @property
    def first_line(self) -> str:
        """The first line that is code, as far as it fits beside the cell's number."""
        lines = [line.strip() for line in self.source.split("\n") if line.strip()]
        line = next((line for line in lines if not line.startswith("#")), lines[0] if lines else "")
        return line if len(line) <= SOURCE_SHOWN else line[: SOURCE_SHOWN - 1] + "…"


SOURCE_SHOWN = 60


@dataclass(slots=True)
class NotebookVerdict:
    """What is said of a notebook: of its cells, and of all of it.

    It is `unusable` when nothing could be said of cells, and `translated` when its original is run instead.
    Where modules that it needs are `missing` it was not run.
    """

    path: Path
    cells: list[CellVerdict] = field(default_factory=list[CellVerdict])
    problems: list[str] = field(default_factory=list[str])
    unusable: bool = False
    translated: bool = False
    missing: list[str] = field(default_factory=list[str])
    executed: Any = field(default=None, repr=False)
    seconds: float = 0.0
    updated: int = 0

    @property
    def is_wrong(self) -> bool:
        """Whether something differs, failed, or could not be looked at."""
        return self.unusable or bool(self.problems) or any(cell.state.is_wrong for cell in self.cells)

    @property
    def is_compared(self) -> bool:
        """Whether a cell was compared with what is recorded, or its original is."""
        return self.translated or any(cell.state is State.SAME or cell.state is State.DIFFERS for cell in self.cells)

    @property
    def status(self) -> int:
        """The exit status for this notebook alone."""
        return 2 if self.unusable else int(self.is_wrong)

    def wrong_cells(self) -> Iterator[CellVerdict]:
        """Yields the cells that somebody must look at, but for those that were not reached."""
        return (cell for cell in self.cells if cell.state in (State.DIFFERS, State.FAILED))

    def count(self, state: State) -> int:
        """Returns how many cells have this state."""
        return sum(cell.state is state for cell in self.cells)
