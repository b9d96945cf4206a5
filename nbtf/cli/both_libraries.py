"""`nbtf run --compare`: in which cells do nbtf and TensorFlow differ, in where ops run or in what is printed?"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

from nbtf._counts import counted
from nbtf.cli.comparison import LINES_SHOWN, printed
from nbtf.cli.execution import CellRun
from nbtf.cli.line_changes import changed_lines
from nbtf.cli.placements import different
from nbtf.cli.printable import first_line, printable

SAME, PLACEMENT, OUTPUT, BOTH = "same", "placement differs", "output differs", "both differ"
_SOURCE_SHOWN = 50
_NOT_RUN = "not run"


class Runnable(Protocol):
    """A notebook that is ready to run on a library."""

    heading: str

    def run(self, tell: Callable[[CellRun], None]) -> None:
        """Runs the cells, and calls a function with each."""
        ...


class Comparison(NamedTuple):
    """One cell on both libraries; the lines begin with `-` for nbtf and with `+` for TensorFlow."""

    on_nbtf: CellRun | None
    on_tensorflow: CellRun | None
    placement: list[str]
    output: list[str]

    @property
    def verdict(self) -> str:
        """Whether the libraries agree, and what differs otherwise."""
        return {(0, 0): SAME, (1, 0): PLACEMENT, (0, 1): OUTPUT, (1, 1): BOTH}[bool(self.placement), bool(self.output)]

    def as_data(self) -> dict[str, Any]:
        """Returns the comparison for programs."""
        run = self.on_nbtf or self.on_tensorflow
        runs = {"nbtf": self.on_nbtf, "tensorflow": self.on_tensorflow}
        return {
            "cell": 0 if run is None else run.number,
            "source": "" if run is None else first_line(run.source, _SOURCE_SHOWN),
            "verdict": self.verdict,
            "placement_changes": self.placement,
            "output_changes": self.output,
            "placements": {name: None if each is None else each.placements for name, each in runs.items()},
            "errors": {
                name: None if each is None or each.error is None else each.error.name for name, each in runs.items()
            },
        }


def compare(name: str, on_nbtf: Runnable, on_tensorflow: Runnable, chosen: argparse.Namespace) -> int:
    """Runs a notebook on both libraries, prints the cells that differ and returns the exit status.

    Args:
      name: name of the notebook's file.
      on_nbtf: the notebook, ready to run on nbtf.
      on_tensorflow: the same, ready to run on TensorFlow.
      chosen: the options; `json` prints the report as JSON.
    """
    if not chosen.json:
        print(printable(f"{name}: - {on_nbtf.heading}\n{' ' * len(name)}  + {on_tensorflow.heading}"), flush=True)
    runs: tuple[list[CellRun], list[CellRun]] = ([], [])
    on_nbtf.run(runs[0].append)
    on_tensorflow.run(runs[1].append)
    cells = [compared(first, second) for first, second in zip_longest(*runs)]
    counts = Counter(cell.verdict for cell in cells)
    if chosen.json:
        libraries = {"nbtf": on_nbtf.heading, "tensorflow": on_tensorflow.heading}
        data = {"libraries": libraries, "cells": [cell.as_data() for cell in cells], "verdicts": dict(counts)}
        print(json.dumps(data, indent=2))
    else:
        for cell in cells:
            _show(cell)
        words = [f"{counts[verdict]} {verdict}" for verdict in (SAME, PLACEMENT, OUTPUT, BOTH) if counts[verdict]]
        print(f"{counted(len(cells), 'cell')}: {', '.join(words) or 'none'}")
    return 0 if counts[SAME] == len(cells) else 1


def compared(on_nbtf: CellRun | None, on_tensorflow: CellRun | None) -> Comparison:
    """Returns the comparison of a cell; None for a library whose kernel ended before the cell."""
    if on_nbtf is None or on_tensorflow is None:
        lines = [f"{sign} {_NOT_RUN}" for sign, run in (("-", on_nbtf), ("+", on_tensorflow)) if run is None]
        return Comparison(on_nbtf, on_tensorflow, [], lines)
    lines = changed_lines(_printed(on_nbtf), _printed(on_tensorflow))
    if len(lines) > LINES_SHOWN:
        lines[LINES_SHOWN:] = [f"… {counted(len(lines) - LINES_SHOWN, 'more line')}"]
    return Comparison(on_nbtf, on_tensorflow, different(on_nbtf.placements, on_tensorflow.placements), lines)


def _printed(run: CellRun) -> list[str]:
    """Returns what a cell printed, and the class of its error."""
    return [*printed(run.outputs), *([] if run.error is None else [f"raised {run.error.name}"])]


def _show(cell: Comparison) -> None:
    run = cell.on_nbtf or cell.on_tensorflow
    if run is not None:
        print(printable(f"[{run.number:2}] {cell.verdict:18} {first_line(run.source, _SOURCE_SHOWN)}".rstrip()))
    print(printable("".join(f"       {line}\n" for line in [*cell.placement, *cell.output])), end="", flush=True)
