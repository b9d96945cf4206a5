"""Which cell of which notebook runs now? On a terminal, a line below the verdicts shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

CellEnded = Callable[[Path, int, int], None]
"""Function of a notebook, the number of cells that have run in it, and the number of all its cells."""


@contextmanager
def progress(notebooks: int) -> Generator[CellEnded | None]:
    """Shows a line for each notebook that runs, until the block ends.

    Args:
      notebooks: the number of notebooks that are checked.

    Yields:
      The function to call after each cell; None if standard output is not a terminal, or rich is not installed.
    """
    if not notebooks or not sys.stdout.isatty() or find_spec("rich") is None:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("cells")
    with Progress(*columns, TimeElapsedColumn(), transient=True) as bars:
        tasks: dict[Path, TaskID] = {}

        def cell_ended(path: Path, count: int, total: int) -> None:
            if path not in tasks:
                tasks[path] = bars.add_task(path.name, total=total)
            bars.update(tasks[path], completed=count)
            if count == total:
                bars.remove_task(tasks.pop(path))

        yield cell_ended
