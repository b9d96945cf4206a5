"""How are the answers of replays with other settings written? As tables of a page and as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nbtf._devices.sizes import gib
from nbtf._runtime.what_ifs import WhatIf
from nbtf._snapshots.replay import ContradictoryHistoryError
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf._snapshots.what_if import usual_settings
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.snapshots.history import DeviceHistory
from nbtf.notebook.stills.memory_bands import Words
from nbtf.notebook.tables import display_width

_NOTES = ("before", "anew", "part", "noCard", "noEffect", "granted", "differs")
_COLUMNS = ("inUse", "reserved", "unallocated", "largestFree", "retries", "released")


class Question(NamedTuple):
    """Other circumstances for a replay; see `what_if`.

    Attributes:
      settings: the allocator's settings, as `PYTORCH_ALLOC_CONF` has them; None for those of the file.
      card: a size, or the name of a card; None for the one of the file.
      without: a line whose allocations are left out, such as `model.py:57`; None for none.
    """

    settings: str | None = None
    card: str | None = None
    without: str | None = None


def what_if_table(
    snapshot: MemorySnapshot, history: DeviceHistory, answers: Sequence[WhatIf], card: str | None = None
) -> dict[str, Any]:
    """Returns a table for a device: the usual settings, and answers to questions of the user.

    Args:
      snapshot: the snapshot.
      history: the history of the device, which is not empty.
      answers: the answers to other questions. One about usual settings replaces their row.
      card: the card for the usual settings; see `what_if`.
    """
    try:
        usual = usual_settings(snapshot, history.device, card)
    except ContradictoryHistoryError:
        return {**table_of(history.name, []), "notes": [catalogue.words("whatIf")["contradictory"]]}
    rows = {(each.settings, each.card, each.without, each.as_recorded): each for each in [*usual, *answers]}
    return table_of(history.name, [*rows.values()])


def table_of(name: str, results: Sequence[WhatIf]) -> dict[str, Any]:
    """Returns the results for a device as a table of a page, with one row each."""
    words = catalogue.words("whatIf")
    columns = [{"label": words[column], "number": True} for column in _COLUMNS]
    has_spans = len({_span_of(each) for each in results}) > 1
    return {
        "caption": filled(words["caption"], name=name),
        "columns": [words["settings"], *columns, words["refusal"]],
        "rows": [_row(each, words, has_spans) for each in results],
        "notes": _notes(results, words),
    }


def lines_of(results: Sequence[WhatIf]) -> list[str]:
    """Returns results as lines of text, with a paragraph each, and the notes on all of them."""
    words = catalogue.words("whatIf")
    has_spans = len({_span_of(each) for each in results}) > 1
    lines = [line for each in results for line in (*_paragraph(each, words, has_spans), "")]
    return [*lines, *_notes(results, words)]


def in_words(result: WhatIf) -> str:
    """Returns a result as text, in the language that the environment or the notebook requests."""
    return "\n".join(lines_of([result]))


def _paragraph(result: WhatIf, words: Words, has_spans: bool) -> Iterator[str]:
    yield f"{result.device}: {_question(result, words, has_spans)}"
    figures = [(words[label], figure) for label, figure in zip(_COLUMNS, _figures(result, words), strict=False)]
    refusal = result.refusal
    if refusal is not None:
        sizes = {"free": refusal.free, "unallocated": refusal.unallocated, "largest": refusal.largest_free}
        figures += [
            (words["refusal"], _refusal(result, words, with_line=False)),
            ("", refusal.line),
            (words["freeThen"], filled(words["sizesThen"], **{name: gib(size) for name, size in sizes.items()})),
        ]
    width = max(display_width(label) for label, _ in figures)
    for label, figure in figures:
        if figure:
            yield f"  {label}{' ' * (width - display_width(label))}  {figure}"


def _row(result: WhatIf, words: Words, has_spans: bool) -> list[str]:
    return [_question(result, words, has_spans), *_figures(result, words)]


def _figures(result: WhatIf, words: Words) -> list[str]:
    """Returns the figures in the order of the columns, with the refused request; unknown ones are empty."""
    retries = "" if result.retries is None else f"{result.retries:,}"
    sizes = (result.peak_allocated, result.peak_reserved, result.unallocated, result.largest_free)
    return [*[gib(size) for size in sizes], retries, f"{result.released:,}", _refusal(result, words)]


def _question(result: WhatIf, words: Words, has_spans: bool) -> str:
    """Returns what was changed, and which events were replayed if that differs between the results."""
    span = _span_of(result) if has_spans else None
    events = "" if span is None else filled(words["range"], first=span[0], last=span[1])
    if result.as_recorded:
        return " · ".join(filter(None, (words["asRecorded"], events)))
    card = "" if result.card is None else filled(words["card"], size=gib(result.card))
    without = filled(words["without"], line=result.without) if result.without else ""
    return " · ".join(filter(None, (result.settings or words["defaults"], card, without, events)))


def _span_of(result: WhatIf) -> tuple[int, int] | None:
    """Returns the first and the last event that were replayed; None for all."""
    spans = [(note.values["first"], note.values["last"]) for note in result.notes if note.name == "part"]
    return spans[0] if spans else None


def _refusal(result: WhatIf, words: Words, with_line: bool = True) -> str:
    refusal = result.refusal
    if refusal is None:
        return ""
    cause = words["fragmentation"] if refusal.cause == "fragmentation" else words["full"]
    moment = filled(words["event"], event=f"{refusal.event:,}") if refusal.event >= 0 else words["beginning"]
    return " · ".join(filter(None, (moment, gib(refusal.requested), refusal.line if with_line else "", cause)))


def _notes(results: Sequence[WhatIf], words: Words) -> list[str]:
    """Returns the sentences about what limits the results."""
    limits = {name: words[name] for name in _NOTES}
    notes = [filled(words["about"], library=library) for library in dict.fromkeys(each.allocator for each in results)]
    for note in [note for each in results for note in each.notes]:
        sizes = {name: gib(value) for name, value in note.values.items() if name == "size"}
        notes.append(filled(limits[note.name], **{**note.values, **sizes}))
    if any(each.stopped for each in results):
        notes.append(words["ended"])
    return list(dict.fromkeys(notes))
