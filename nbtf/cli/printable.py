"""Which text may reach a terminal? Visible characters, in lines of its width; control characters are escaped."""

from __future__ import annotations

import io
import re
import shutil
import sys
import textwrap
from typing import TextIO

# Control characters (they begin escape sequences), characters that change the text direction, and lone surrogates.
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Returns a text that is safe to print on a terminal; line breaks and tabs stay.

    >>> print(printable("\x1b[2Jgone"))
    \x1b[2Jgone
    """
    return _STEERS.sub(lambda match: ascii(match[0])[1:-1], text)


def write_out_foreign_letters(stream: TextIO) -> None:
    r"""Makes a stream write letters that its encoding lacks as `\u2013`, as standard error does, instead of failing.

    On Windows, a pipe uses the country's encoding, which lacks even dashes.

    >>> stream = io.TextIOWrapper(io.BytesIO(), encoding="cp932")
    >>> write_out_foreign_letters(stream)
    >>> stream.write("– none")
    6
    """
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def columns() -> int:
    """Returns the width of the terminal; a huge number if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def wrapped(line: str) -> str:
    """Returns a line broken at spaces if it is wider than the terminal, with a deeper indent."""
    if len(line) <= columns() or not line.isascii():
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, columns(), subsequent_indent=indent, break_long_words=False)


def first_line(source: str, width: int) -> str:
    r"""Returns the first line of code in a cell, cut to a number of characters.

    >>> first_line("# Sums\n\nprint(1 + 1)", 9)
    'print(1 …'
    """
    lines = [line.strip() for line in source.split("\n") if line.strip()]
    line = next((line for line in lines if not line.startswith("#")), lines[0] if lines else "")
    return line if len(line) <= width else line[: width - 1] + "…"
