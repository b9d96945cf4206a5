"""`%placement_log`: which ops ran where, and why, since `%load_ext nbtf`?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from nbtf import debugging, runtime
from nbtf._counts import counted
from nbtf._runtime.placement import is_view, op_matches
from nbtf._storage import files
from nbtf._storage.limits import UnsavableError
from nbtf.notebook.device_names import full_name, label
from nbtf.notebook.library_watch import library_watch_of
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.export import FORMATS, RECORDING, exported
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import Ending, Session, Undo, say
from nbtf.notebook.stills.schedule import CONSTANT
from nbtf.notebook.tables import MOST_ROWS, Column, Table, sizes, texts
from nbtf.notebook.usage_error import UsageError
from nbtf.notebook.views.steps import reason_in_words

ACTIONS = ("on", "off", "show", "clear", "table", "export", "watch", "unwatch")
MOST_LINES = 200
"""Lines printed in one cell; a loop prints hundreds of thousands, and they stay in the notebook's file."""

FILES = {
    "csv": "placement_log.csv",
    "json": "placement_log.json",
    "chrome": "placement_trace.json",
    RECORDING: "placement_log.nbtf",
}
"""The file for an export without a file name."""

EACH = texts("op", "node", "device", "why", "layer", "code")
GROUPED = (
    *texts("op", "device"),
    Column("count", "count", number=True),
    *sizes(nbytes="bytes out"),
    *texts("why"),
)


def add_log_magic(session: Session, printer: Printer) -> None:
    """Adds the magic."""
    choices = {"action": {"choices": ACTIONS}, "format": {"choices": FORMATS}}
    options = options_of("%placement_log", n=_count, device=full_name, **choices)
    add_line_magic(session, "placement_log", options, lambda chosen: _answer(session, printer, chosen))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"expected a number, 1 or more, got {text!r}.")
    return int(text)


def _answer(session: Session, printer: Printer, chosen: argparse.Namespace) -> Table | None:
    if chosen.target is not None and chosen.action not in ("export", "watch", "unwatch"):
        raise UsageError(f"%placement_log {chosen.action}: unexpected {chosen.target!r}. See %placement_log -h.")
    fold = not chosen.all and chosen.op == "*"
    match chosen.action:
        case "on":
            printer.on()
        case "off":
            printer.off()
        case "clear":
            say(f"cleared {counted(session.forget(), 'event')}")
        case "export":
            _export(session, chosen)
        case "watch" | "unwatch":
            _watch(session, chosen)
        case "table":
            return grouped(session.recorder.snapshot(0), chosen.op, chosen.device, fold)
        case _:
            return each(session.recorder.snapshot(), session.code_line, chosen.n, chosen.op, chosen.device, fold)
    return None


def _watch(session: Session, chosen: argparse.Namespace) -> None:
    try:
        if chosen.action == "watch":
            say(library_watch_of(session).begin(chosen.target or "torch"))
            return
        libraries = library_watch_of(session).end(chosen.target)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"%placement_log {chosen.action}: {error}") from error
    say(f"no longer recorded: {', '.join(libraries)}" if libraries else "no library was being recorded")


# Tables


def each(
    snapshot: runtime.Snapshot,
    code_line: Callable[[runtime.Site], str],
    last: int,
    op: str = "*",
    device: str | None = None,
    fold: bool = False,
) -> Table:
    """Returns a row for each of the last ops; constants are folded if `fold` is true."""
    placed = [event for event in snapshot.events if isinstance(event, runtime.OpPlaced)]
    is_whole = op == "*" and device is None
    matching = [event for event in placed if op_matches(event.op, op) and _is_on(event.device, device)][-last:]
    traces = [trace for trace in snapshot.traces if is_whole and (not matching or trace.seq > matching[0].seq)]
    rows = [
        _trace_row(event, code_line) if isinstance(event, runtime.Traced) else _row(event, code_line)
        for event in sorted([*matching, *traces], key=attrgetter("seq"))
    ]
    total = snapshot.placed if is_whole else sum(op_matches(e.op, op) and _is_on(e.device, device) for e in placed)
    extent = "" if len(matching) == total else f", the last {len(matching):,} shown"
    notes = [f"{counted(total, 'op')}{extent}", *_traced(traces), *_folds(rows, fold)]
    return Table(EACH, rows, notes, limit=max(last + len(traces), 1), folded=_is_folded if fold else None)


def _is_on(device: str, asked_device: str | None) -> bool:
    """Returns whether a device is the requested one; a card outside nbtf is `cuda:0` to its library, `GPU:0` to us."""
    return asked_device in (None, device, device.replace(":cuda:", ":GPU:"))


def _row(event: runtime.OpPlaced, code_line: Callable[[runtime.Site], str]) -> dict[str, Any]:
    row = {
        "op": event.op,
        "device": label(event.device),
        "why": reason_in_words(event.op, event.device, event.reason),
        "code": code_line(event.site),
    }
    names = {"node": event.node, "layer": event.layer, "view": is_view(event.reason)}
    return row | {name: value for name, value in names.items() if value}


def _trace_row(trace: runtime.Traced, code_line: Callable[[runtime.Site], str]) -> dict[str, Any]:
    return {"op": "(trace)", "device": "", "why": trace_in_words(trace), "code": code_line(trace.site)}


_CAUSES = {
    "variables": "the previous trace created variables",
    "replica": "another replica or strategy runs it",
    "failure": "the previous trace failed",
}


def trace_in_words(trace: runtime.Traced) -> str:
    """Returns which function was traced, for which arguments, and what was new if it was traced before."""
    if trace.cause == "first":
        return f"{trace.function}({', '.join(trace.arguments)})"
    reasons = [f"{argument} is {now} and was {before}" for argument, now, before in trace.differences]
    reasons = reasons or [_CAUSES[trace.cause]]
    return f"{trace.function} again, trace {trace.trace}: {', '.join(reasons)}"


def _traced(traces: Sequence[runtime.Traced]) -> list[str]:
    """Returns a line with the number of traces of each function; empty if none was traced."""
    counts = Counter(trace.function for trace in traces)
    texts = [f"{name} {'once' if count == 1 else f'{count:,} times'}" for name, count in counts.items()]
    return [f"traced: {', '.join(texts)}"] if texts else []


def grouped(snapshot: runtime.Snapshot, op: str = "*", device: str | None = None, fold: bool = False) -> Table:
    """Returns a row for each op, device and reason, and one for each pair of devices that tensors were copied between.

    The copies are listed last, or first if rows are cut, so that they are always visible. `fold` folds constants and
    copies under 4 KiB, which then have their own rows.
    """
    rows: list[dict[str, Any]] = [
        {
            "op": name,
            "device": label(place_name),
            "count": count,
            "nbytes": None if snapshot.unsized.get(placed) else snapshot.nbytes.get(placed, 0),
            "why": reason_in_words(name, place_name, reason),
        }
        | ({"view": True} if is_view(reason) else {})
        for placed, count in sorted(snapshot.ops.items())
        for name, place_name, reason in (placed,)
        if op_matches(name, op) and _is_on(place_name, device)
    ]
    total = sum(row["count"] for row in rows)
    moves = sorted(snapshot.moves.items()) if op == "*" and device is None else []
    copy_rows: list[dict[str, Any]] = []
    for route, count in moves:
        nbytes = snapshot.moved_bytes[route]
        small = (snapshot.small_moves.get(route, 0), snapshot.small_moved_bytes.get(route, 0)) if fold else (0, 0)
        if count > small[0]:
            copy_rows.append(_copies(route, count - small[0], nbytes - small[1]))
        if small[0]:
            copy_rows.append(_copies(route, *small) | {"small": True})
    row_count = sum(not _is_folded(row) for row in rows + copy_rows) if fold else len(rows) + len(copy_rows)
    rows = rows + copy_rows if row_count <= MOST_ROWS else copy_rows + rows
    copies = sum(count for _, count in moves)
    traces = snapshot.traces if op == "*" and device is None else ()
    notes = [f"{counted(total, 'op')}, {counted(copies, 'copy', 'copies')} of tensors"]
    notes += [*_traced(traces), *_folds(rows, fold)]
    return Table(GROUPED, rows, notes, folded=_is_folded if fold else None)


def _copies(route: tuple[str, str], count: int, nbytes: int) -> dict[str, Any]:
    source, target = map(label, route)
    reason = "input elsewhere"
    return {"op": "(copy)", "device": f"{source} → {target}", "count": count, "nbytes": nbytes, "why": reason}


def _is_folded(row: Mapping[str, Any]) -> bool:
    return row["op"] == CONSTANT or "small" in row or "view" in row


def _folds(rows: Sequence[Mapping[str, Any]], fold: bool) -> list[str]:
    """Returns a line with the number of folded constants and copies; empty if there are none."""
    constants = sum([row.get("count", 1) for row in rows if row["op"] == CONSTANT])
    copies = sum([row["count"] for row in rows if "small" in row])
    texts = [counted(constants, "constant")] if constants else []
    views = sum([row.get("count", 1) for row in rows if "view" in row])
    texts += [counted(views, "view")] if views else []
    texts += [f"{counted(copies, 'copy', 'copies')} < 4 KiB"] if copies else []
    return [f"folded: {', '.join(texts)} (`--all` shows them)"] if fold and texts else []


# Export


def _export(session: Session, chosen: argparse.Namespace) -> None:
    target = chosen.target or chosen.format
    if target is None:
        raise UsageError("%placement_log export: name a file, or one of csv, json, chrome, nbtf.")
    is_format = target in FORMATS
    file = FILES[target] if is_format else target
    form = chosen.format or (target if is_format else Path(file).suffix[1:].lower())
    if form not in FORMATS:
        raise UsageError(f"%placement_log export: {file!r} does not end in .csv, .json or .nbtf. Add --format.")
    snapshot = session.recorder.snapshot()
    path = Path(file).expanduser()
    try:
        if form == RECORDING:
            session.recording.save(path)
        else:
            files.write(path, exported(snapshot, form, runtime.devices(), session.code_line))
    except UnsavableError as error:
        raise UsageError(f"%placement_log export: {error}") from None
    except OSError as error:
        raise UsageError(f"%placement_log export: cannot write {file}: {error.strerror or error}") from None
    older = f" ({counted(snapshot.cut, 'older one was', 'older ones were')} dropped)" if snapshot.cut else ""
    say(f"wrote {counted(len(snapshot.events), 'event')} to {file}{older}")


# Printing


class Printer:
    """Prints `Executing op ... in device ...` for each op before it runs, into the output of the cell."""

    def __init__(self, session: Session) -> None:
        """Prints nothing yet."""
        self._session = session
        self._stop: Undo | None = None
        self._cells = 0  # number of running cells that requested the lines
        self._always = False
        self._lines = 0
        self._closing = False
        session.on_stop(self._end)

    def on(self) -> None:
        """Prints in all cells from now on."""
        self._always = True
        self._listen()

    def off(self) -> None:
        """Prints only in cells that request it."""
        self._always = False
        self._settle()

    def start(self) -> Undo:
        """Prints until the returned function is called."""
        self._cells += 1
        self._listen()

        def undo() -> None:
            self._cells -= 1
            self._settle()

        return undo

    def _listen(self) -> None:
        if self._stop is None:
            self._stop = runtime.observe(self._tell)

    def _settle(self) -> None:
        if not self._always and not self._cells:
            self._end()

    def _end(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def _tell(self, event: runtime.Event) -> None:
        # tf.debugging's own log prints the same line when it is on.
        if not isinstance(event, runtime.OpPlaced) or debugging.get_log_device_placement():
            return
        if not self._closing:
            self._closing = True
            self._session.at_end_of_cell(Ending(lambda: None, self._close))
        self._lines += 1
        if self._lines <= MOST_LINES:
            node = f", node {event.node}" if event.node else ""
            say(f"Executing op {event.op} in device {event.device}{node}")

    def _close(self, _: bool) -> None:
        if self._lines > MOST_LINES:
            say(f"… {self._lines - MOST_LINES:,} more in this cell: %placement_log table")
        self._lines, self._closing = 0, False
