"""Which line of the user's code caused an event, in words?"""

from __future__ import annotations

import linecache
from collections.abc import Callable

from nbtf import runtime

LONGEST = 80
"""Characters of a code line that are shown: a terminal's width."""


def in_file(site: runtime.Site) -> str:
    """Returns a code line in words where there is no notebook: `train.py, line 2: c = tf.matmul(a, b)`."""
    return in_words(site)


def in_words(site: runtime.Site, cell_of: Callable[[str], str] | None = None) -> str:
    """Returns a code line in words: `cell 4, line 2: c = tf.matmul(a, b)`.

    Args:
      site: file and line, as events tell it; None gives an empty text.
      cell_of: returns the cell that a file name stands for, such as `cell 4`, and an empty text for a file; None
        where there are no cells.
    """
    if site is None:
        return ""
    file, line = site
    code = linecache.getline(file, line).strip()
    if len(code) > LONGEST:
        code = f"{code[: LONGEST - 1]}…"
    cell = cell_of(file) if cell_of is not None else ""
    name = cell or file.replace("\\", "/").rpartition("/")[2]  # folders differ from machine to machine
    return f"{name}, line {line}{': ' if code else ''}{code}"
