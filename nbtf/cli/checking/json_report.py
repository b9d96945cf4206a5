"""What does another program read of a check? JSON with a verdict on each notebook and each cell.

`nbtf/cli/schemas/check.json` is its JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from nbtf.cli.checking.text import summary
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict


def as_json(verdicts: Sequence[NotebookVerdict]) -> str:
    """Returns the report.

    Args:
      verdicts: the notebooks' verdicts, in order.
    """
    return json.dumps({"notebooks": [_notebook(verdict) for verdict in verdicts]}, indent=1, ensure_ascii=False)


def _notebook(verdict: NotebookVerdict) -> dict[str, object]:
    return {
        "path": verdict.path.as_posix(),
        "verdict": summary(verdict),
        "status": verdict.status,
        "skipped": verdict.skipped or None,
        "missing": verdict.missing,
        "problems": verdict.problems,
        "seconds": round(verdict.seconds, 3),
        "cells": [_cell(cell) for cell in verdict.cells],
    }


def _cell(cell: CellVerdict) -> dict[str, object]:
    return {
        "number": cell.number,
        "id": cell.name or None,
        "state": cell.state.value,
        "code": cell.first_line,
        "lines": cell.lines,
        "notes": cell.notes,
        "missing": cell.missing,
        "seconds": round(cell.seconds, 3),
    }
