"""What does a page get of the timeline of a long recording? The longest ops of a part, and how busy the devices were.

All of it would be too much for a page and its server. What has no row of its own is summed up in columns: some hundred
for the part that is shown, some for all of it. When a reader zooms, the page asks for the next part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtf.notebook.stills.palette import FILLS
from nbtf.notebook.stills.schedule import CONSTANT, Schedule, Transfer, Work
from nbtf.notebook.stills.stacks import Colouring, colouring
from nbtf.notebook.views.timeline_data import CodeLine, packed, timeline_data

MOST_PIECES = 1200
"""Ops and copies of an answer that have a row of their own: 40 bytes each."""

SHORTEST_ROW = 1 / 500
"""Of its part that a piece is long which has a row where there are more: some 2 px."""

MOST_COLUMNS = 640
MOST_SHARES = 12_000
"""Of all columns of an answer's part, and of its whole, together: 3 bytes each."""

SHARE_UNIT = 16383
"""What stands for a column that is full of a piece; a host may copy to four cards at once."""

MOST_EXCHANGES = 100

COPIES = "cpyf"

Numbers = NDArray[np.float64]
Span = tuple[float, float]


class LongTimeline:
    """The ops and copies of a schedule as columns of numbers."""

    def __init__(self, schedule: Schedule, code_line: CodeLine) -> None:
        """Reads them once; some 2 µs each."""
        self._schedule, self._code_line = schedule, code_line
        self._colours = colouring(schedule)
        self._pieces = [*schedule.ops, *schedule.copies]
        self._start: Numbers = np.array([piece.start for piece in self._pieces])
        self._end: Numbers = np.array([piece.end for piece in self._pieces])
        self._folded = np.array([piece.folded for piece in self._pieces])
        self._longest_op = schedule.longest.seconds if schedule.longest else 0.0
        self._rows = _rows(schedule, self._colours)

    def data(self, begin: float = 0.0, end: float = float("inf")) -> dict[str, Any]:
        """Returns what `static/timeline_scene.js` takes: all of it roughly, and a part more exactly.

        Args:
          begin: of the part, in seconds.
          end: of the part; it may lie behind the end of all.
        """
        duration = self._schedule.seconds
        window = max(0.0, min(begin, duration)), min(max(end, 0.0), duration)
        numbers, summed = self._longest_in(window)
        remaining = np.ones(len(self._pieces), bool)
        remaining[numbers] = False
        chosen = [self._pieces[number] for number in numbers]
        ops = tuple(piece for piece in chosen if isinstance(piece, Work))
        copies = tuple(piece for piece in chosen if isinstance(piece, Transfer))
        data = timeline_data(replace(self._schedule, ops=ops, copies=copies), self._code_line, self._colours)
        exchanges = [each for each in self._schedule.exchanges if each.start <= window[1] and each.end >= window[0]]
        return data | {
            "seconds": duration,
            "exchanges": sorted(exchanges, key=lambda each: each.start - each.end)[:MOST_EXCHANGES],
            "folded": self._folded_counts,
            "unclocked": self._schedule.unclocked,
            "detail": {"from": window[0], "to": window[1], "summed": summed},
            "sums": [self._sums(span, columns, remaining) for span, columns in self._spans(window)],
        }

    def _spans(self, window: Span) -> Iterator[tuple[Span, int]]:
        """Yields a part, what is before it and what is behind it, each with its number of columns."""
        duration = self._schedule.seconds
        column_limit = max(2, min(MOST_COLUMNS, MOST_SHARES // max(1, 2 * len(self._rows))))
        for span in ((0.0, window[0]), window, (window[1], duration)):
            if span[1] > span[0]:
                yield (
                    span,
                    column_limit if span == window else max(1, round(column_limit * (span[1] - span[0]) / duration)),
                )

    def _longest_in(self, window: Span) -> tuple[list[int], int]:
        """Returns the numbers of the longest pieces of a part, in order, and how many other ops there have a mark."""
        inside = np.flatnonzero((self._start <= window[1]) & (self._end >= window[0]) & ~self._folded)
        numbers, lengths = inside, (self._end - self._start)[inside]
        if len(numbers) > MOST_PIECES:
            longest = np.argsort(-lengths, kind="stable")[:MOST_PIECES]
            shortest = min(SHORTEST_ROW * (window[1] - window[0]), self._longest_op)
            numbers = np.sort(inside[longest[lengths[longest] >= shortest]])
        ops = len(self._schedule.ops)
        return numbers.tolist(), int((inside < ops).sum() - (numbers < ops).sum())

    def _sums(self, span: Span, columns: int, remaining: NDArray[np.bool_]) -> dict[str, Any]:
        """Returns how busy each device was in each column of a span, by colour.

        Args:
          span: from when to when.
          columns: how many.
          remaining: which pieces count.
        """
        width = (span[1] - span[0]) / columns
        edges: Numbers = np.linspace(*span, columns + 1)
        busy: list[tuple[int, str, Numbers]] = []
        for (lane, token), numbers in self._rows.items():
            in_span = numbers[remaining[numbers]]
            seconds = _busy(self._start[in_span], self._end[in_span], edges)
            if (seconds > 0).any():
                busy.append((lane, token, np.clip(seconds / width, 0.0, 4.0)))
        shares = np.concatenate([row for *_, row in busy]) if busy else np.zeros(0)
        rounded = np.rint(shares * SHARE_UNIT).astype(np.uint16)
        return {
            "from": span[0],
            "width": width,
            "columns": columns,
            "rows": [[lane, token] for lane, token, _ in busy],
            "shares": packed("H", rounded.tolist()),
            "unit": SHARE_UNIT,
        }

    @cached_property
    def _folded_counts(self) -> dict[str, int]:
        ops = [work for work in self._schedule.ops if work.folded]
        constants = sum(work.op == CONSTANT for work in ops)
        copies = sum(copy.folded for copy in self._schedule.copies)
        return {"constants": constants, "ops": len(ops) - constants, "copies": copies}


def _rows(schedule: Schedule, colours: Colouring) -> dict[tuple[int, str], NDArray[np.int64]]:
    """Returns the numbers of the pieces of each device and colour, in the order of their starts."""
    lanes = {name: number for number, name in enumerate(schedule.lanes)}
    rows: dict[tuple[int, str], list[int]] = {}
    for number, work in enumerate(schedule.ops):
        rows.setdefault((lanes[work.device], colours.of(work)), []).append(number)
    for number, copy in enumerate(schedule.copies, len(schedule.ops)):
        for device in {copy.source, copy.target}:
            rows.setdefault((lanes[device], COPIES), []).append(number)
    order = sorted(rows, key=lambda row: (row[0], sorted(FILLS).index(row[1])))
    return {row: np.array(rows[row]) for row in order}


def _busy(start: Numbers, end: Numbers, edges: Numbers) -> Numbers:
    """Returns the seconds that pieces fill between each two edges; pieces may overlap, and lie outside."""
    origin = edges[0]
    begins, ends = np.sort(np.maximum(start, origin) - origin), np.sort(np.maximum(end, origin) - origin)
    return np.diff(_time_before(begins, edges - origin) - _time_before(ends, edges - origin))


def _time_before(moments: Numbers, edges: Numbers) -> Numbers:
    """Returns, for each edge, how long ago all moments before it are together."""
    sums = np.concatenate([[0.0], np.cumsum(moments)])
    count = np.searchsorted(moments, edges)
    return count * edges - sums[count]
