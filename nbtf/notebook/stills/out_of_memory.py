"""Draws why a request did not fit: what would make it fit, the figures of the error, and the memory at that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nbtf._devices.sites import file_and_line
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.marks import WIDTH, Mark, Picture, Rectangle, Text, framed, lowered
from nbtf.notebook.stills.memory_axis import CodeLine
from nbtf.notebook.stills.memory_bands import LEFT, MARGIN, Words, picture_words
from nbtf.notebook.stills.memory_chunks import BAR, Scale, addresses, drawn_chunks
from nbtf.notebook.stills.memory_history import MemoryHistory, Refusal
from nbtf.notebook.stills.memory_plane import memory_plane
from nbtf.notebook.stills.memory_refusal import Fits, Hints, hints_of, request_in_words, shortage_in_words, shortage_of

NARROW = 440.0
"""Width of the form for narrow pages, in px."""

_LEAST_CHUNKS = 130.0
"""Minimum height of the chunks in the narrow form, in px."""


class OutOfMemory(NamedTuple):
    """The picture of a failed request, and its answer as a sentence."""

    picture: Picture
    answer: str


def out_of_memory(
    history: MemoryHistory,
    fits: Fits | None = None,
    is_late: Callable[[], bool] = lambda: False,
    words: Words | None = None,
    code_line: CodeLine = file_and_line,
) -> OutOfMemory:
    """Returns a picture of the last failed request in a history.

    Args:
      history: the history of one device, with at least one failed request.
      fits: tries other limits and deletions; None if that is not possible.
      is_late: returns whether the time for such trials is over.
      words: texts of the sections `timeline` and `memoryPicture`; None uses those of the environment's language.
      code_line: formats a line of the program as text.

    Raises:
      ValueError: if no request failed.
    """
    if not history.refusals:
        raise ValueError(f"No request for memory of {history.short_name} failed.")
    words, refusal = words or picture_words(), history.refusals[-1]
    hints = hints_of(history, refusal, fits, words, is_late)
    answer = hints.answer or f"{words['outOfMemory']}: {filled(words['asked'], size=_requested_size(refusal))}"
    plane = memory_plane(history, WIDTH, refusal.step, words=words, code_line=code_line, explained=False)
    head, y = _explanation(answer, hints, refusal, words, code_line, WIDTH)
    height = y + plane.height
    title = f"{plane.title} {answer}."
    narrow = _narrow(history, answer, refusal, words, height * NARROW / WIDTH)
    wide = framed(WIDTH, height, title, [*head, *lowered(plane.marks[1:], y)])  # without the plane's own frame
    return OutOfMemory(Picture(wide.width, wide.height, title, wide.marks, narrow), answer)


def _requested_size(refusal: Refusal) -> str:
    return shortage_of(refusal.event).sizes["asked"]


def _explanation(
    answer: str, hints: Hints, refusal: Refusal, words: Words, code_line: CodeLine, width: float
) -> tuple[list[Mark], float]:
    """Returns the answer in large letters and what it is based on, and the px below the last line."""
    line = code_line(refusal.event.site)
    more_hints = " · ".join(hint for hint in (hints.held_before, hints.limit) if hint and hint != answer)
    rows = [
        Text(0, 0, answer, size=19, weight=650),
        Text(0, 0, request_in_words(refusal.event) + shortage_in_words(refusal.event, words)),
        *([Text(0, 0, line, "soft", 11, mono=True)] if line else []),
        *([Text(0, 0, more_hints, "soft", 11)] if more_hints else []),
    ]
    return _beside_red_bar(rows, width)


def _beside_red_bar(rows: Sequence[Text], width: float) -> tuple[list[Mark], float]:
    marks: list[Mark] = []
    y = 18.0
    for row in rows:
        texts, y = flowed([row], MARGIN + 14, width - MARGIN, y + (18 if marks else row.size - 3))
        marks += texts
    return [Rectangle(MARGIN, 18, 5, y - 14, "hot", radius=2), *marks], y + 8


def _narrow(history: MemoryHistory, answer: str, refusal: Refusal, words: Words, height: float) -> Picture:
    """Returns the answer, the figures, and the chunks at the failure with the request over the largest hole."""
    rows = [
        Text(0, 0, answer, size=15, weight=650),
        Text(0, 0, request_in_words(refusal.event) + shortage_in_words(refusal.event, words), size=11),
    ]
    head, y = _beside_red_bar(rows, NARROW)
    room = max(height - y - 2 * MARGIN, _LEAST_CHUNKS)
    limit = max(history.limit, history.top, 1)
    scale = Scale(y + MARGIN + room, limit, room)
    holes = history.holes(refusal.step) or [(0, 0)]
    start, size = max(holes, key=lambda hole: (hole[1], -hole[0]))
    high = min(refusal.event.nbytes / limit * room, room)
    top = min(max(scale.y(start + size / 2) - high / 2, scale.top), scale.bottom - high)
    request = Rectangle(LEFT - 4, top, BAR + 8, high, stroke="hot", stroke_width=1.8, radius=3, dashed=True)
    chunks = drawn_chunks(history, refusal.step, scale, LEFT, NARROW - MARGIN, words)
    marks = [*head, *addresses(scale, LEFT - 8), *chunks, request]
    return framed(NARROW, max(height, scale.bottom + MARGIN), answer, marks)
