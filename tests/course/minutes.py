"""Calculates a lesson's duration in minutes from its length, and compares it with the stated one.

A lesson takes a minute per `WORDS_A_MINUTE` words, `SECONDS_A_CELL` per code cell and `MINUTES_AN_EXERCISE` per
exercise. Folded text, folded cells and everything below a collapsed heading are optional, so they are left out.

    python -m tests.course.minutes    # prints one line per lesson: calculated, stated, listed on the start page
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
_ROW = re.compile(r"^\| \[\d\d\]\((\w+)\.ipynb\) \| .* \| (\d+) \|$", re.MULTILINE)


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
    """Returns a lesson's calculated duration in minutes."""
    cells = list(open_cells(cells_of(path)))
    texts = [_NOT_READ.sub("", source(cell)) for cell in cells if cell["cell_type"] == "markdown"]
    words = sum(len(re.findall(r"\S*\w\S*", text)) for text in texts)
    code = sum(cell["cell_type"] == "code" for cell in cells)
    exercises = sum("exercise" in cell["metadata"].get("nbtf", {}) for cell in cells)
    return words / WORDS_A_MINUTE + code * SECONDS_A_CELL / 60 + exercises * MINUTES_AN_EXERCISE


def stated(path: Path) -> int:
    """Returns the duration that a lesson states in its first cell, in minutes."""
    found = _STATED.search("\n".join(map(source, cells_of(path))))
    if found is None:
        raise ValueError(f"{path.name} states no minutes. Expected a line such as *12 minutes · no GPU needed*.")
    return int(found[1])


def listed() -> dict[str, int]:
    """Returns the minutes in the start page's table, by lesson."""
    return {lesson: int(count) for lesson, count in _ROW.findall("\n".join(map(source, cells_of(START))))}


def main() -> None:
    """Prints the table."""
    print(f"{'lesson':35} {'calculated':>10} {'stated':>7} {'in 00':>7}")
    for path in lessons():
        print(f"{path.stem:35} {minutes(path):10.1f} {stated(path):7} {listed().get(path.stem, '')!s:>7}")


if __name__ == "__main__":
    main()
