"""What does GitHub show beside the changed lines? Workflow commands on standard output.

Source: GitHub's documentation, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path

from nbtf._storage.reading import read_text
from nbtf.cli.checking.text import title
from nbtf.cli.checking.verdicts import NotebookVerdict
from nbtf.cli.printable import printable

_CELL_TYPE = re.compile(r'^[ \t]*"cell_type":', re.MULTILINE)


def commands(verdict: NotebookVerdict) -> Iterator[str]:
    """Yields a workflow command for each wrong cell, and for each problem of the whole notebook."""
    lines = _lines_of_cells(verdict.path)
    for problem in verdict.problems:
        yield _command(verdict.path, 1, "notebook", problem)
    for cell in verdict.wrong_cells():
        line = lines[cell.index] if cell.index < len(lines) else 1
        yield _command(verdict.path, line, title(cell), "\n".join(cell.lines))


def _lines_of_cells(path: Path) -> list[int]:
    """Returns the line at which each cell begins in a file that nbformat wrote; empty for a file in another format."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError):
        return []
    starts = [match.start() for match in _CELL_TYPE.finditer(text)]
    return [1 + lines for lines in accumulate(text.count("\n", *span) for span in pairwise([0, *starts]))]


def _command(path: Path, line: int, heading: str, message: str) -> str:
    start = os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    try:
        file = Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # on Windows, the file may be on another drive
        file = path.as_posix()
    properties = f"file={_property(file)},line={line},title={_property(printable(heading))}"
    return f"::error {properties}::{_data(printable(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
