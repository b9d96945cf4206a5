"""`%explain` and `%%explain`: what does the last error or a pasted text mean, and what should you type next?"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from nbtf._error_texts.recognition import explain
from nbtf.notebook.error_reports.notebook_report import ErrorReport
from nbtf.notebook.error_reports.text import Wording
from nbtf.notebook.magics.cell_magics import CellMagics, add_line_magic
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import Session, say

_LONGEST_CHAIN = 32
"""Errors of a chain of causes that are read."""


def add_explain_magics(session: Session, cells: CellMagics) -> None:
    """Adds both magics."""
    add_line_magic(session, "explain", options_of("%explain"), lambda _: _explain_last())
    options = options_of("%%explain")
    cells.add("explain", options, lambda _: None, (lambda _: True, lambda _, body: ErrorReport(explain(body))))


def _explain_last() -> ErrorReport | None:
    """Returns the explanation of the last error; None, after a message, if no error was raised."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not isinstance(error, BaseException):
        say(Wording().phrase("noError"))
        return None
    return ErrorReport(explain("\n".join(_chain(error))))


def _chain(error: BaseException | None) -> Iterator[str]:
    """Yields the texts of an error and of its causes, the first cause first."""
    errors: list[BaseException] = []
    while error is not None and len(errors) < _LONGEST_CHAIN and not any(error is earlier for earlier in errors):
        errors.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for each in reversed(errors):
        yield f"{type(each).__module__}.{type(each).__qualname__}: {each}"
