"""The data from which a page draws a device's memory at any step: numbers, and texts that only Python knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf import runtime
from nbtf._devices.sites import file_and_line
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.memory_bands import Band, Words, picture_words
from nbtf.notebook.stills.memory_history import CodeLine, Extent, MemoryHistory, Refusal
from nbtf.notebook.stills.memory_refusal import Fits, hints, request_in_words, shortage_in_words, shortage_of

Lines = Mapping[int, tuple[runtime.Site, runtime.Site]]

PIECE = ("start", "size", "requested", "group", "birth", "death", "title", "shape", "line", "fate", "seq")
"""The columns of pieces; `seq` is the number of the event that reported it, and texts are indices into `texts`."""

EXTENT = Extent._fields


def memory_data(
    history: MemoryHistory, fits: Fits | None = None, code_line: CodeLine = file_and_line
) -> dict[str, Any]:
    """Returns the contents of a picture of memory, as plain JSON data with texts in the environment's language.

    Args:
      history: the history of one device.
      fits: tries other limits and deletions for requests that failed.
      code_line: formats a line of the program as text.

    Returns:
      `pieces` are rows of the columns `PIECE`, `extents` of `EXTENT`, and `spans` of first step, end, phase and line.
    """
    words = picture_words()
    texts: dict[str, int] = {}
    lines = _lines_of_frees(history)

    def row(band: Band) -> list[int]:
        made_by = code_line(band.event.site) if band.event is not None else ""
        texts_of_band = (band.title(words), band.shape, made_by, _fate(history, band, lines, words, code_line))
        group, *numbers = (texts.setdefault(text, len(texts)) for text in (band.group, *texts_of_band))
        seq = band.event.seq if band.event is not None else 0
        return [band.start, band.size, band.requested, group, band.birth, band.death, *numbers, seq]

    pieces = [row(band) for band in history.bands]
    return {
        "name": history.short_name,
        "limit": history.limit,
        "top": history.top,
        "steps": history.steps,
        "pieces": pieces,
        "texts": list(texts),
        "extents": [list(extent) for extent in history.extents],
        "spans": [[span.first, span.end, span.phase, code_line(span.site)] for span in history.spans],
        "refusals": [_refusal(history, each, fits, words, code_line) for each in history.refusals],
    }


def _refusal(
    history: MemoryHistory, refusal: Refusal, fits: Fits | None, words: Words, code_line: CodeLine
) -> dict[str, Any]:
    is_last = refusal is history.refusals[-1]  # hints are shown for the last failed request only
    return {
        "step": refusal.step,
        "nbytes": refusal.event.nbytes,
        "asked": shortage_of(refusal.event).sizes["asked"],
        "request": request_in_words(refusal.event),
        "sentence": shortage_in_words(refusal.event, words),
        "line": code_line(refusal.event.site),
        "hints": hints(history, refusal, fits, words) if is_last else [],
    }


def _lines_of_frees(history: MemoryHistory) -> Lines:
    """Returns the lines that ran before and after each step's frees, because the exact time was not recorded."""
    numbers = {step: event.seq for step, event in enumerate(history.changes) if isinstance(event, runtime.Freed)}
    return dict(zip(numbers, history.lines.neighbours([*numbers.values()]), strict=True))


def _fate(history: MemoryHistory, band: Band, lines: Lines, words: Words, code_line: CodeLine) -> str:
    """Returns the line that freed a piece, as far as it is known."""
    if band.death == history.steps:
        return words["kept"]
    last, freed_at = (code_line(site) for site in lines[band.death])
    if last and freed_at and last != freed_at:
        return filled(words["freedBetween"], before=last, after=freed_at)
    return filled(words["freedIn" if freed_at else "freedAfter"], line=freed_at or last) if freed_at or last else ""
