"""Draws why a request did not fit: what would make it fit, the figures of the error, and the memory at that time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nbtf._devices.sites import file_and_line
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture
from nbtf.notebook.stills.memory_bands import picture_words
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import CodeLine, MemoryHistory
from nbtf.notebook.stills.memory_refusal import Fits, hints_of, request_in_words, shortage_in_words, shortage_of


class OutOfMemory(NamedTuple):
    """The picture of a failed request, and its answer as a sentence."""

    picture: Picture
    answer: str


def out_of_memory(
    history: MemoryHistory,
    fits: Fits | None = None,
    is_late: Callable[[], bool] = lambda: False,
    code_line: CodeLine = file_and_line,
) -> OutOfMemory:
    """Returns a picture of the last failed request in a history.

    Args:
      history: the history of one device, with at least one failed request.
      fits: tries other limits and deletions; None if that is not possible.
      is_late: returns whether the time for such trials is over.
      code_line: formats a line of the program as text.

    Raises:
      ValueError: if no request failed.
    """
    if not history.refusals:
        raise ValueError(f"No request for memory of {history.short_name} failed.")
    words, event = picture_words(), history.refusals[-1].event
    hints = hints_of(history, history.refusals[-1], fits, words, is_late)
    request = filled(words["asked"], size=shortage_of(event).sizes["asked"])
    answer = hints.answer or f"{words['outOfMemory']}: {request}"
    explanation = {
        "answer": answer,
        "request": request_in_words(event) + shortage_in_words(event, words),
        "line": code_line(event.site),
        "hints": " · ".join(hint for hint in (hints.held_before, hints.limit) if hint and hint != answer),
    }
    return OutOfMemory(drawn("refusal", memory_data(history, code_line=code_line), explanation, WIDTH), answer)
