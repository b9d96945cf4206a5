"""How is the line of the user's code that caused an event written?"""

from __future__ import annotations

import linecache
from collections.abc import Callable

from nbtf import runtime

LONGEST = 80
"""Characters of a code line that are shown: the width of a terminal."""


def in_file(site: runtime.Site) -> str:
    """Returns the description of a code line outside a notebook: `train.py, line 2: c = tf.matmul(a, b)`."""
    return in_words(site)


def in_words(site: runtime.Site, cell_of: Callable[[str], str] | None = None) -> str:
    """Returns the description of a code line: `cell 4, line 2: c = tf.matmul(a, b)`.

    Args:
      site: file and line, as events have them; None returns an empty string.
      cell_of: returns the cell that a file name means, such as `cell 4`, or an empty string for a file; None outside
        notebooks.
    """
    if site is None:
        return ""
    file, line = site
    code = linecache.getline(file, line).strip()
    if len(code) > LONGEST:
        code = f"{code[: LONGEST - 1]}…"
    cell = cell_of(file) if cell_of is not None else ""
    name = cell or file.replace("\\", "/").rpartition("/")[2]  # folders differ between machines
    return f"{name}, line {line}{': ' if code else ''}{code}"
