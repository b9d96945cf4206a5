"""How does text get into a CSV file that a spreadsheet opens, without becoming a formula there?

Source: OWASP, CSV Injection.
"""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""How a cell begins that a spreadsheet computes, or splits first."""


def as_cell(value: Any) -> Any:
    """Returns a value for a cell of a CSV file: text that begins as a formula gets an apostrophe in front.

    Spreadsheets hide the apostrophe and show the text. Numbers stay as they are, even as text.

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
