"""Text for CSV files, written so that spreadsheets do not evaluate it as a formula.

Source: OWASP, CSV Injection.
"""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""First characters of cells that spreadsheets evaluate, or that they split."""


def as_cell(value: Any) -> Any:
    """Returns a value for a CSV cell: text that starts like a formula gets an apostrophe in front.

    Spreadsheets hide the apostrophe and show the text. Numbers are unchanged, even as text.

    >>> [as_cell(value) for value in ("=1+1", "@tf.function", "-x", "-1.5", -1.5, "MatMul")]
    ["'=1+1", "'@tf.function", "'-x", '-1.5', -1.5, 'MatMul']
    """
    if isinstance(value, str) and "\r" in value:  # spreadsheets begin a row there, and Python's writer adds no quotes
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
