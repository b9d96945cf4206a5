"""The gallery's pictures: runs the page's code in IPython and keeps what each cell shows.

`python pictures.py PAGE FOLDER` writes a file for each `{image}` or `{raw}` directive that follows a `python` block.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n+```(?:\{image\} (?P<image>\S+)|\{raw\} html\n:file: (?P<table>\S+))$)?",
    re.DOTALL | re.MULTILINE,
)

SAMPLE = Path(__file__).parent / "_static" / "snapshot.json.gz"
"""A memory snapshot that the page opens by its name."""


class Cell(NamedTuple):
    """A `python` block of the page."""

    code: str
    file: str
    """Where the page expects what it shows, as a path inside the documentation; empty if it shows nothing."""


def cells(page: str) -> Iterator[Cell]:
    """Yields the `python` blocks of a page, each with the file that the directive after it names."""
    for found in BLOCK.finditer(page):
        yield Cell(found["code"], found["image"] or found["table"] or "")


def shown(shell: InteractiveShell, cell: Cell) -> str:
    """Runs a cell and returns the SVG or the HTML that it shows; empty if the page shows nothing of it.

    Raises:
      RuntimeError: if the code fails, or shows neither.
    """
    with capture_output():
        ran = shell.run_cell(cell.code, store_history=True)
    if not ran.success:
        raise RuntimeError(f"a cell of the gallery fails: {cell.code}") from (
            ran.error_in_exec or ran.error_before_exec
        )
    if not cell.file:
        return ""
    bundle, _ = shell.display_formatter.format(ran.result)
    kind = "image/svg+xml" if cell.file.endswith(".svg") else "text/html"
    if kind not in bundle:
        raise RuntimeError(f"a cell of the gallery shows no {kind}: {cell.code}")
    return str(bundle[kind]) if kind == "image/svg+xml" else f'<div class="nbtf-output">{bundle[kind]}</div>'


def write_pictures(page: Path, folder: Path) -> None:
    """Runs the code of a page and writes its pictures and tables.

    Args:
      page: the page, with paths relative to `folder`.
      folder: where the documentation is laid out. Files that the code itself writes go to its folder `extra`.
    """
    shell = InteractiveShell.instance()
    (folder / "extra").mkdir(exist_ok=True)
    os.chdir(folder / "extra")
    sample = shutil.copy(SAMPLE, ".")
    for cell in cells(page.read_text(encoding="utf-8")):
        text = shown(shell, cell)
        if text:
            path = folder / cell.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    Path(sample).unlink()


if __name__ == "__main__":
    write_pictures(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
