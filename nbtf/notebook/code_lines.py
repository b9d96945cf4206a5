"""Which line of the user's code caused an event, in words?"""

from __future__ import annotations

import linecache
import re
from typing import Any

from nbtf import runtime

LONGEST = 80
"""Characters of a code line that are shown: a terminal's width."""


def in_file(site: runtime.Site) -> str:
    """Returns a code line in words where there is no notebook: `train.py, line 2: c = tf.matmul(a, b)`."""
    return in_words(site, None)


def in_words(site: runtime.Site, shell: Any) -> str:
    """Returns a code line in words: `cell 4, line 2: c = tf.matmul(a, b)`.

    Args:
      site: file and line, as events tell it; None gives an empty text.
      shell: knows which cell a file name stands for; None for a program without one.
    """
    if site is None:
        return ""
    file, line = site
    code = linecache.getline(file, line).strip()
    if len(code) > LONGEST:
        code = f"{code[: LONGEST - 1]}…"
    return f"{_file_name(file, shell)}, line {line}{': ' if code else ''}{code}"


def _file_name(file: str, shell: Any) -> str:
    """Returns the name of a cell or a file; folders are left out, since they differ from machine to machine."""
    format_name: Any = getattr(getattr(shell, "compile", None), "format_code_name", None)  # IPython 7 has none
    code_name = file if format_name is None else (format_name(file) or ("", ""))[1]
    number = re.search(r"\[(\d+)\]|^<ipython-input-(\d+)-", code_name)
    return f"cell {number[1] or number[2]}" if number else file.replace("\\", "/").rpartition("/")[2]
