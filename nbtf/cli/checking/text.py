"""What does the terminal show about checked notebooks? Plain text, with colours only on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from nbtf._counts import counted
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict, State
from nbtf.cli.printable import printable

WIDEST = 200
"""Characters of a line that are shown, because a whole HTML page may be one line."""

_COLOURS = {"- ": "31", "+ ": "32"}


def lines_of(verdict: NotebookVerdict) -> list[str]:
    """Returns the report on a notebook: a summary line, and its problems below."""
    lines = [f"{verdict.path}: {summary(verdict)}"]
    lines += [f"  {line}" for problem in verdict.problems for line in problem.splitlines()]
    for cell in verdict.cells:
        if cell.state in (State.DIFFERS, State.FAILED):
            lines += [f"  {title(cell)}", *(f"    {line}" for line in cell.lines)]
        if cell.state is State.NOT_RUN:
            lines.append(f"  cell {cell.number} {cell.reason}")
        lines += [f"  cell {cell.number}: {note}" for note in cell.notes]
    missed = verdict.count(State.NOT_REACHED)
    if missed:
        lines.append(f"  {counted(missed, 'cell')} after it not reached")
    return [_cut(printable(line[: WIDEST + 1])) for line in lines]


def title(cell: CellVerdict) -> str:
    """Returns the heading of a cell: its number, and its first line of code."""
    return f"cell {cell.number} {cell.state.value}: {cell.first_line}"


def summary(verdict: NotebookVerdict) -> str:
    """Returns the verdict on a notebook in a few words."""
    if verdict.unusable:
        return "cannot be checked"
    if verdict.is_wrong:
        return "differs"
    if verdict.translated:
        return "same as its original"
    if verdict.missing:
        return f"not run: {' and '.join(verdict.missing)} {'is' if len(verdict.missing) == 1 else 'are'} not installed"
    if verdict.skipped:
        return f"skipped: {verdict.skipped}"
    if not verdict.is_compared:
        return "ran; no recorded outputs to compare with"
    not_run = verdict.count(State.NOT_RUN)
    updated = [f"{counted(verdict.updated, 'cell')} updated"] * bool(verdict.updated)
    return "; ".join(["as recorded", *updated, *[f"{counted(not_run, 'cell')} not run"] * bool(not_run)])


def last_line(verdicts: Sequence[NotebookVerdict], not_started: int = 0) -> str:
    """Returns the totals: how many notebooks and cells were checked, and how many of them are wrong.

    Args:
      verdicts: the verdicts on the notebooks that were checked.
      not_started: number of notebooks that were not checked after the first that is wrong.
    """
    cells = [cell for verdict in verdicts for cell in verdict.cells]
    words = {State.DIFFERS: "differ"}
    states = [f"{sum(cell.state is state for cell in cells)} {words.get(state, state.value)}" for state in State]
    outcomes = [text for text in states if not text.startswith("0 ")]
    wrong = sum(verdict.is_wrong for verdict in verdicts)
    notebooks = counted(len(verdicts), "notebook")
    not_run = sum(bool(verdict.missing) for verdict in verdicts)
    skipped = sum(bool(verdict.skipped) and not verdict.is_wrong for verdict in verdicts)
    silent = [verdict for verdict in verdicts if not (verdict.missing or verdict.skipped)]
    unseen = sum(not (verdict.is_wrong or verdict.is_compared) for verdict in silent)
    numbers = {"with nothing to compare": unseen, "not run": not_run, "skipped": skipped}
    remarks = [f"{number} {words}" for words, number in numbers.items() if number]
    cells_not_run = sum(cell.state is State.NOT_RUN for cell in cells)
    remarks += [f"{counted(cells_not_run, 'cell')} not run"] * bool(cells_not_run)
    remark = ", ".join(remarks) or "all as recorded"
    result = f"{wrong} not as recorded" if wrong else remark
    result += f", {not_started} not checked (--fail-fast)" * bool(not_started)
    return f"{notebooks}, {result}; cells: {', '.join(outcomes) or 'none'}"


def coloured(line: str) -> str:
    """Returns a line in the colour of recorded or new output, if standard output is a terminal with colours."""
    colour = _COLOURS.get(line.lstrip()[:2])
    shows = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{colour}m{line}\x1b[0m" if colour and shows else line


def _cut(line: str) -> str:
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"
