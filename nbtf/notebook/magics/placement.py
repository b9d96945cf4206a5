"""`%%placement`: where did this cell's ops run, what changed since its last run, and is the result as expected?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping

from nbtf import runtime
from nbtf.notebook.device_names import label
from nbtf.notebook.library_watch import library_watch_of
from nbtf.notebook.magics.cell_magics import CellMagics
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.magics.placement_log import each, grouped
from nbtf.notebook.session import Session, say, show
from nbtf.notebook.tables import MOST_ROWS
from nbtf.notebook.views.steps import reason_in_words

Lines = Counter[str]


def add_placement_magic(session: Session, cells: CellMagics) -> None:
    """Adds the magic."""
    options = options_of("%%placement", expect=_rule)
    earlier: dict[str, Lines] = {}
    cells.add("placement", options, lambda chosen: _begin(session, chosen, earlier))


def _rule(text: str) -> str:
    try:
        runtime.Recording(runtime.Recorder()).expect(text)  # nothing is recorded: only an invalid rule raises
    except runtime.ExpectationError:
        pass
    return text


def _begin(session: Session, chosen: argparse.Namespace, earlier: dict[str, Lines]) -> None:
    info = session.cell
    names = [] if info is None else [name for name in (getattr(info, "cell_id", None), info.raw_cell) if name]
    library_watch_of(session).of_cell(chosen.without)
    session.record_cell(lambda record, failed: _close(session, chosen, earlier, names, record, failed))


def _close(
    session: Session,
    chosen: argparse.Namespace,
    earlier: dict[str, Lines],
    names: list[str],
    record: runtime.Recording,
    failed: bool,
) -> None:
    snapshot = record.snapshot()
    checked = bool(chosen.expect) or chosen.no_copies
    if not checked:
        for sentence in record.watch.unrecorded(chosen.without):
            say(sentence)
    now = _lines(snapshot.ops)
    if chosen.diff:
        previous = next((earlier[name] for name in names if name in earlier), None)
        for line in _changes(previous, now):
            say(line)
    elif chosen.table:
        show(grouped(snapshot))
    elif not checked:
        show(each(snapshot, session.code_line, MOST_ROWS))
    earlier |= dict.fromkeys(names, now)  # a cell with another id and the same text is the same cell
    if checked and not failed:  # a cell that failed already shows its error
        record.expect(*chosen.expect, no_copies=chosen.no_copies, without=chosen.without)


def _changes(earlier: Lines | None, now: Lines) -> list[str]:
    """Returns the differences between two runs; the order of the ops does not matter."""
    if earlier is None:
        return ["First run of this cell: the next run will be compared with it."]
    lines = [f"- {line}" for line in _counted(earlier - now)] + [f"+ {line}" for line in _counted(now - earlier)]
    return lines or ["No change since the last run of this cell."]


def _lines(ops: Mapping[tuple[str, str, runtime.Reason], int]) -> Lines:
    """Returns counts of ops by device and reason, as text, because their machine may be gone when they are shown."""
    lines: Lines = Counter()
    for (op, device, reason), count in ops.items():
        lines[f"{op} on {label(device)}: {reason_in_words(op, device, reason)}"] += count
    return lines


def _counted(lines: Lines) -> list[str]:
    return [f"{line} ({count:,} times)" if count > 1 else line for line, count in sorted(lines.items())]
