"""What does the head of a page say about a trace or a recording? The file, its figures, and what is not shown."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from nbtf import runtime
from nbtf._devices.sizes import gib
from nbtf._traces.figures import Share, TraceFigures
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.quantities import seconds_in_words
from nbtf.notebook.stills.schedule import timed

_MOST_DEVICES = 8
"""Devices whose shares are in a head; all others have theirs on the timeline."""

_MOST_WAITS = 3
_MOST_LEFT_OUT = 6


def file_head(record: runtime.OpenedRecording, form: str) -> dict[str, Any]:
    """Returns title, description, figures and notes, as `fileHead` in `static/snapshot_views.js` reads them.

    Args:
      record: the opened file.
      form: `trace`, or any other word for a recording of nbtf.
    """
    schedule, totals, figures = timed(record.snapshot()), record.snapshot(0), record.figures
    words = catalogue.words("fileHead")
    clock = catalogue.words("timeline")[schedule.clock]
    facts = [(words["duration"], seconds_in_words(schedule.seconds))] if schedule.lanes else []
    facts += [(words["ops"], f"{totals.executed:,}"), (words["copies"], f"{sum(totals.copies.values()):,}")]
    if figures is not None:
        facts += [(share.device, _share(share, words)) for share in figures.shares[:_MOST_DEVICES]]
    peaks = [*totals.peaks.items(), *[(device, size) for (_, device), size in totals.library_peaks.items()]]
    facts += [
        (filled(words["peak"], name=runtime.short_name(device)), gib(size)) for device, size in peaks[:_MOST_DEVICES]
    ]
    return {
        "title": PurePath(record.source).name,  # not its folder, which may be personal
        "about": filled(words["trace"] if form == "trace" else words["recording"], clock=clock),
        "facts": facts,
        "notes": [] if figures is None else _notes(figures, words),
    }


def trace_in_words(figures: TraceFigures) -> list[str]:
    """Returns the most important figures of a trace as lines of text."""
    words = catalogue.words("fileHead")
    shares = [
        f"{share.device}: {filled(words['shareOf'], share=_share(share, words), time=seconds_in_words(share.seconds))}"
        for share in figures.shares
    ]
    return shares + _sentences(figures, words)


def _notes(figures: TraceFigures, words: dict[str, str]) -> list[str]:
    remaining = len(figures.shares) - _MOST_DEVICES
    return _sentences(figures, words) + ([filled(words["others"], n=remaining)] if remaining > 0 else [])


def _share(share: Share, words: dict[str, str]) -> str:
    amounts = {name: getattr(share, name) for name in ("compute", "copies", "idle")}
    total = share.seconds
    return filled(
        words["share"], **{name: f"{100 * amount / total if total else 0:.0f} %" for name, amount in amounts.items()}
    )


def _sentences(figures: TraceFigures, words: dict[str, str]) -> list[str]:
    """Returns where the host waited, the largest gap, and what is not shown."""
    sentences: list[str] = []
    for wait in figures.waits[:_MOST_WAITS]:
        values = {"time": seconds_in_words(wait.seconds), "calls": wait.calls, "call": wait.call, "op": wait.op}
        sentences.append(filled(words["waitIn"] if wait.op else words["wait"], **values))
    for gap in figures.gaps[:1]:
        ends = {"preceding": gap.preceding, "following": gap.following}
        sentences.append(filled(words["gap"], name=gap.device, time=seconds_in_words(gap.seconds), **ends))
    if figures.left_out:
        names = ", ".join(f"{count:,} {name}" for name, count in [*figures.left_out.items()][:_MOST_LEFT_OUT])
        sentences.append(filled(words["leftOut"], names=names))
    return [*sentences, words["cut"]] if figures.is_cut else sentences
