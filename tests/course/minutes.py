"""How many minutes does a lesson take, from its length? And how many does it state?

A lesson takes a minute per `WORDS_A_MINUTE` words, `SECONDS_A_CELL` per code cell and `MINUTES_AN_EXERCISE` per
exercise. Folded text, folded cells and everything below a collapsed heading are optional, so they are left out.

    python -m tests.course.minutes    # prints a line for each lesson: calculated, stated
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.course.scenarios import NOTEBOOKS, lessons

WORDS_A_MINUTE = 180
SECONDS_A_CELL = 15
MINUTES_AN_EXERCISE = 3
START = NOTEBOOKS / "00_start_here.ipynb"

_NOT_READ = re.compile(
    r"<details>.*?</details>|^```.*?^```|!\[[^\]]*\]\([^)]*\)|(?<=\])\([^)]*\)", re.DOTALL | re.MULTILINE
)
"""Folded text, code, descriptions of pictures, and the addresses of links."""
_STATED = re.compile(r"^\*(\d+) minutes · ", re.MULTILINE)
_ROW = re.compile(r"^\| .* \| (.*\.ipynb.*) \| (\d+) \|$", re.MULTILINE)
_PART = re.compile(r"\bpart\b|\bsection\b")
"""A row that recommends a part of a lesson."""


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Returns the cells of a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell: dict[str, Any]) -> str:
    """Returns the text of a cell."""
    return "".join(cell["source"])


def open_cells(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the cells that are neither folded nor under a collapsed heading."""
    collapsed = 0  # the level of the heading
    for cell in cells:
        heading = re.match(r"(#+) ", source(cell)) if cell["cell_type"] == "markdown" else None
        if heading and (not collapsed or len(heading[1]) <= collapsed):
            collapsed = len(heading[1]) if cell["metadata"].get("jp-MarkdownHeadingCollapsed") else 0
        if not collapsed and not cell["metadata"].get("jupyter", {}).get("source_hidden"):
            yield cell


def minutes(path: Path) -> float:
    """Returns how many minutes a lesson takes."""
    cells = list(open_cells(cells_of(path)))
    texts = [_NOT_READ.sub("", source(cell)) for cell in cells if cell["cell_type"] == "markdown"]
    words = sum(len(re.findall(r"\S*\w\S*", text)) for text in texts)
    code = sum(cell["cell_type"] == "code" for cell in cells)
    exercises = sum("exercise" in cell["metadata"].get("nbtf", {}) for cell in cells)
    return words / WORDS_A_MINUTE + code * SECONDS_A_CELL / 60 + exercises * MINUTES_AN_EXERCISE


def stated(path: Path) -> int:
    """Returns how many minutes a lesson states in its first cell."""
    found = _STATED.search("\n".join(map(source, cells_of(path))))
    if found is None:
        raise ValueError(f"{path.name} states no minutes. Expected a line such as *12 minutes · no GPU needed*.")
    return int(found[1])


def rows() -> list[tuple[list[Path], int]]:
    """Returns the rows of the start page's table that name whole lessons: the lessons, and the minutes."""
    text = "\n".join(map(source, cells_of(START)))
    return [(_lessons_of(cell), int(count)) for cell, count in _ROW.findall(text) if not _PART.search(cell)]


def _lessons_of(cell: str) -> list[Path]:
    """Returns the lessons that a cell of the table links to; `01 to 06` is a range."""
    numbers = [int(number) for number in re.findall(r"\]\((\d\d)\w+\.ipynb\)", cell)]
    if re.search(r"\) to \[", cell):
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return [path for path in lessons() if int(path.stem[:2]) in numbers]


def main() -> None:
    """Prints the table."""
    print(f"{'lesson':35} {'calculated':>10} {'stated':>7}")
    for path in lessons():
        print(f"{path.stem:35} {minutes(path):10.1f} {stated(path):7}")
    print(f"\n{'row of 00':35} {'calculated':>10} {'stated':>7}")
    for paths, count in rows():
        print(f"{' '.join(path.stem[:2] for path in paths):35} {sum(map(minutes, paths)):10.1f} {count:7}")


if __name__ == "__main__":
    main()
