"""What does a page show of a memory snapshot? A head, the memory, the holders at the peak, and what the file lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.sizes import gib
from nbtf._snapshots.holders import BEFORE, NO_STACK, holders_at
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.snapshots.history import DeviceHistory, Window
from nbtf.notebook.snapshots.memory import memory_of
from nbtf.notebook.snapshots.naming import Naming
from nbtf.notebook.stills.memory_bands import Words

MOST_HOLDERS = 40
"""Rows of a table of holders; the remaining is one row, so that the table adds up."""


def snapshot_scene(
    snapshot: MemorySnapshot,
    histories: Sequence[DeviceHistory],
    windows: Sequence[Window],
    naming: Naming,
    what_ifs: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Returns the data of a page.

    Args:
      snapshot: the snapshot.
      histories: the history of each device that is shown, the one that is shown first at the beginning.
      windows: the steps of each of which all pieces are shown.
      naming: how stacks are written.
      what_ifs: tables of replays with other settings, for each device.
    """
    words = {**catalogue.words("timeline"), **catalogue.words("snapshot")}
    scene: dict[str, Any] = {
        "file": _head(snapshot, histories, windows, words),
        "memory": [memory_of(*both, naming, words) for both in zip(histories, windows, strict=True)],
        "holders": [{"name": each.name, "tables": [_holders(each, naming, words)]} for each in histories],
    }
    return scene | ({"whatIf": list(what_ifs)} if what_ifs else {})


def _head(
    snapshot: MemorySnapshot, histories: Sequence[DeviceHistory], windows: Sequence[Window], words: Words
) -> dict[str, Any]:
    """Returns name, figures and limits of a file."""
    facts: list[tuple[str, str]] = []
    for history in histories:
        name = f"{history.name}: " if len(histories) > 1 else ""
        account = history.account
        facts.append((name + words["peakUse"], gib(account.peak.allocated)))
        facts.append((name + words["peakReserved"], gib(account.peak_reserved.reserved)))
        if account.failures:
            facts.append((name + words["failures"], f"{len(account.failures):,}"))
    notes = [note for both in zip(histories, windows, strict=True) for note in _notes(*both, words)]
    settings = ", ".join(f"{name}={value}" for name, value in snapshot.settings.items() if value)
    if settings:
        notes.append(filled(words["settings"], settings=settings))
    return {
        "title": snapshot.source,
        "about": filled(words["about"], form=snapshot.form),
        "facts": facts,
        "notes": list(dict.fromkeys(notes)),
    }


def _notes(history: DeviceHistory, window: Window, words: Words) -> list[str]:
    """Returns what the file does not contain, and what the page does not show."""
    notes = [filled(words[name], **values) for name, values in limits_of(history)]
    if window.end - window.first < history.steps and len(history.trace):
        values = {"n": history.steps, "first": window.first + 1, "end": window.end}
        notes.append(filled(words["window"], **values))
    return notes


def limits_of(history: DeviceHistory) -> list[tuple[str, dict[str, Any]]]:
    """Returns the facts that a file lacks about a device: names of texts in the section `snapshot`, and values."""
    if not len(history.trace):
        return [("noHistory", {"name": history.name})]
    account = history.account
    counts = {
        "beginsHere": int((history.pieces.event < 0).sum()),
        "inexact": int(account.pieces.is_inexact.sum()),
        "contradictions": sum(account.contradictions),
        "leftOut": sum(history.trace.left_out.values()),
    }
    extra = {"beginsHere": {"name": history.name}, "leftOut": {"names": ", ".join(history.trace.left_out)}}
    limits = [(name, {"n": count, **extra.get(name, {})}) for name, count in counts.items() if count]
    return limits if (history.trace.stack >= 0).any() else [*limits, ("noStacks", {})]


def _holders_at_peak(history: DeviceHistory, naming: Naming, words: Words) -> list[tuple[str, int, int]]:
    """Returns line, bytes and pieces of all memory allocated at the peak, the most bytes first."""
    account = history.account
    names = {BEFORE: words["before"], NO_STACK: words["noStack"]}
    holders = holders_at(account, naming.origins, account.peak.state)
    return [(names.get(each.name, each.name), each.nbytes, each.pieces) for each in holders]


def _holders(history: DeviceHistory, naming: Naming, words: Words) -> dict[str, Any]:
    """Returns a table of the lines that hold memory at the peak, whose rows add up to the bytes in use."""
    holders = _holders_at_peak(history, naming, words)
    total = sum(nbytes for _, nbytes, _ in holders)

    def row(name: str, nbytes: int, count: int) -> list[str]:
        share = f"{100 * nbytes / total:.1f} %" if total else "–"
        return [name, f"{nbytes:,}", gib(nbytes), share, f"{count:,}"]

    rows = [row(name, nbytes, count) for name, nbytes, count in holders[:MOST_HOLDERS]]
    remaining = holders[MOST_HOLDERS:]
    if remaining:
        name = filled(words["others"], n=len(remaining))
        rows.append(row(name, sum(each[1] for each in remaining), sum(each[2] for each in remaining)))
    rows.append(row(words["total"], total, sum(count for _, _, count in holders)))
    number = [{"label": words[name], "number": True} for name in ("bytes", "size", "share", "pieces")]
    step = history.step_after(history.account.peak.state) + 1
    caption = filled(words["holdersAbout"], name=history.name, step=step, size=gib(total))
    return {"caption": caption, "columns": [words["line"], *number], "rows": rows, "notes": [words["addsUp"]]}
