"""Notebooks of the kind that people publish: what do they compute, and what do they print?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

NOTEBOOKS = sorted((Path(__file__).parent / "notebooks").glob("*.ipynb"))


class Ran(NamedTuple):
    """What a notebook left: the list that it ends with, and its text."""

    losses: list[float]
    text: str


def code_cells(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in _cells(path) if cell["cell_type"] == "code"]


def count_cells_and_lines(path: Path) -> tuple[int, int]:
    cells = _cells(path)
    return len(cells), sum(1 for cell in cells for line in cell["source"] if line.strip())


def run(path: Path) -> Ran:
    """Runs its cells, as they stand, in a namespace of their own."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as text:
        for number, source in enumerate(code_cells(path), start=1):
            exec(compile(source, f"{path.stem}, cell {number}", "exec"), variables)
    return Ran(variables["losses"], text.getvalue())


def _cells(path: Path) -> list[Any]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]
