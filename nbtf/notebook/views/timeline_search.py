"""Searches a timeline for ops and copies. Counterpart of `static/timeline_search.js`.

A page searches short recordings alone; of a long one, it lacks most ops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nbtf.notebook.stills.device_facts import short_in_cluster
from nbtf.notebook.stills.schedule import PYTHON, Schedule, Transfer, Work
from nbtf.notebook.stills.timeline_data import CodeLine


class MatchRequest(NamedTuple):
    """Which match a page wants: the next one in a direction, in a circle."""

    step: int
    """1 for the next match, -1 for the previous one."""
    position: int | None
    """The position of the match from which to go on; None begins at a moment."""
    moment: float
    """The moment at which to begin, in seconds."""


def found_in(
    schedule: Schedule, code_line: CodeLine, text: str, words: Mapping[str, str], request: MatchRequest
) -> dict[str, Any]:
    """Returns how many ops and copies match, and one of them.

    Args:
      schedule: what ran and when.
      code_line: formats a line of the program as text.
      text: an op matches if all words of the text occur in its name, phase, layer, line or device; a copy matches if
        they occur in the word for a copy or in its devices.
      words: the page's words for phases, and for a `"copy"`.
      request: which match to return.

    Returns:
      `fits` of `all` ops match. `matches` ops and copies match that are drawn individually, in order of time. `at` is
      the position of the returned one among them; `lane`, `start`, `seconds` and `copy` identify it.
    """
    terms, ops, copies = text.lower().split(), schedule.ops, schedule.copies

    def fits(*texts: str) -> bool:
        return all(word in "\n".join(texts).lower() for word in terms)

    def op_fits(work: Work) -> bool:
        line = code_line(work.site) if work.site else ""
        return fits(work.op, words.get(work.phase, ""), work.layer, line, work.device, short_in_cluster(work.device))

    def copy_fits(copy: Transfer) -> bool:
        devices = copy.source, copy.target
        return fits(words.get("copy", "copy"), *devices, *map(short_in_cluster, devices))

    fitting = ops.of_each(op_fits, bool)
    is_on_device = ops.of_each(lambda work: work.device != PYTHON, bool)  # a call of Python is an op of a device too
    works = ops.at(fitting & ~ops.folded)
    transfers = copies.at(copies.of_each(copy_fits, bool) & ~copies.folded)
    starts = np.concatenate([works.start, transfers.start])
    order = starts.argsort(kind="stable")
    counts = {"fits": int((fitting & is_on_device).sum()), "all": int(is_on_device.sum()), "matches": len(order)}
    if not len(order):
        return counts
    first = int(starts[order].searchsorted(request.moment))
    at = (first - (request.step < 0) if request.position is None else request.position + request.step) % len(order)
    number = int(order[at])
    is_copy = number >= len(works)
    match: Work | Transfer = transfers[number - len(works)] if is_copy else works[number]
    device = match.target if isinstance(match, Transfer) else match.device
    lane = schedule.lanes.index(device)
    return counts | {"at": at, "lane": lane, "start": match.start, "seconds": match.seconds, "copy": is_copy}
