"""The data of a long recording's timeline: the longest ops of a part, and how busy the devices were otherwise.

The complete timeline would be too large for a page and its server. Pieces without a row of their own are summed up in
columns: several hundred for the visible part, several hundred for the rest. Zooming requests the next part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtf._locks import computed_once
from nbtf.notebook.stills.lane_groups import LaneGroup, lane_groups
from nbtf.notebook.stills.op_colours import COPIES, Colouring, colouring
from nbtf.notebook.stills.schedule import PYTHON, Integers, Numbers, Pieces, Schedule, Transfer, Work, is_host
from nbtf.notebook.stills.timeline_data import CodeLine, packed, timeline_data

MOST_PIECES = 1200
"""Ops and copies per answer that have a row of their own: 40 bytes each."""

SHORTEST_ROW = 1 / 500
"""If there are more, a piece needs this share of the part's length to get a row: about 2 px."""

MOST_COLUMNS = 640
MOST_SHARES = 60_000
"""Columns per answer, for the visible part and for the whole together: 3 bytes each, most of them zeros."""

SHARE_UNIT = 16383
"""Value of a column that one piece fills; a host may copy to four cards at once."""

MOST_EXCHANGES = 100

MOST_SPANS = 100
"""Groups of ops per answer that have a name."""

ROWS_IN_SIGHT = 24
"""Devices and folded groups that a page shows at once; it requests others when they come into sight."""

GAP = 1 / 30
"""Maximum gap between the ops of a group, relative to the total time."""

UNDERLINED = ("forward", "backward", "update")
"""The phases whose ops form groups."""

Span = tuple[float, float]
Times = dict[str, tuple[Numbers, Numbers]]
"""Start and end times of each token's pieces, in seconds; both sorted."""

Rows = dict[tuple[int, str], tuple[Numbers, Numbers]]


class LongTimeline:
    """The ops and copies of a schedule as columns of numbers."""

    def __init__(self, schedule: Schedule, code_line: CodeLine, folded: dict[str, int] | None = None) -> None:
        """Converts the ops and copies of a schedule.

        Args:
          schedule: what ran and when.
          code_line: formats a line of the program as text.
          folded: how many ops and copies the page says are not drawn individually; None counts those of the schedule.
        """
        self.schedule, self._code_line = schedule, code_line
        self._folded_counts = folded or schedule.folded
        self._colours = colouring(schedule)
        both = schedule.ops, schedule.copies
        self._start, self._end, self._folded = (
            np.concatenate([getattr(pieces, name) for pieces in both]) for name in ("start", "end", "folded")
        )
        ops, (source, target) = schedule.lanes_of_ops, schedule.lanes_of_copies
        self._lane = np.concatenate([ops, source]), np.concatenate([ops, target])
        self._rows = _rows(schedule, self._colours)
        self._spans_by_lane: dict[int, tuple[Pieces[Work], Integers, Integers]] = {}

    def data(
        self,
        begin: float = 0.0,
        end: float = float("inf"),
        lanes: Sequence[int] | None = None,
        groups: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """Returns the input of `static/timeline_scene.js`: everything coarsely, and one part in more detail.

        Args:
          begin: start of the part, in seconds.
          end: end of the part; it may lie beyond the end of the recording.
          lanes: numbers of the devices in sight; None means those that a page shows first.
          groups: numbers of the groups of devices in sight; None means those that a page shows first.
        """
        duration = self.schedule.seconds
        window = max(0.0, min(begin, duration)), min(max(end, 0.0), duration)
        in_sight = _existing(self._first_lanes if lanes is None else lanes, len(self.schedule.lanes))
        shown_groups = _existing(range(len(self._groups)) if groups is None else groups, len(self._groups))
        numbers, summed = self._longest_in(window, in_sight)
        executed = len(self.schedule.ops)
        ops, copies = numbers[numbers < executed], numbers[numbers >= executed] - executed
        chosen = replace(self.schedule, ops=self.schedule.ops.at(ops), copies=self.schedule.copies.at(copies))
        drawn = _rows(chosen, self._colours)
        rows = {row: pieces for row, pieces in self._rows.items() if row[0] in in_sight}
        group_rows = {
            (number, token): pieces
            for number in shown_groups
            for token, pieces in self._merged(self._groups[number].lanes).items()
        }
        sizes = [len(group.lanes) for group in self._groups]
        windows = list(self._windows(window, len(rows) + len(group_rows)))
        data = timeline_data(chosen, self._code_line, self._colours)
        exchanges = [each for each in self.schedule.exchanges if each.start <= window[1] and each.end >= window[0]]
        return data | {
            "seconds": duration,
            "exchanges": sorted(exchanges, key=lambda each: each.start - each.end)[:MOST_EXCHANGES],
            "folded": self._folded_counts,
            "unclocked": self.schedule.unclocked,
            "detail": {
                "from": window[0],
                "to": window[1],
                "summed": summed,
                "lanes": in_sight,
                "groups": shown_groups,
            },
            "sums": [self._sums(span, columns, rows, drawn) for span, columns in windows],
            "spans": self._spans_in(window, in_sight),
            "percentages": {number: self._percentages(number) for number in in_sight if window == (0.0, duration)},
            "groupSums": [self._sums(span, columns, group_rows, {}, sizes) for span, columns in windows],
            "mean": self._mean,
        }

    @computed_once
    def _groups(self) -> list[LaneGroup]:
        return lane_groups(self.schedule.lanes)

    @computed_once
    def _first_lanes(self) -> list[int]:
        """The devices that a page shows first: those without a group, and those of the first group, which is open."""
        folded = {number for group in self._groups[1:] for number in group.lanes}
        return [number for number in range(len(self.schedule.lanes)) if number not in folded]

    @computed_once
    def _mean(self) -> dict[str, Any]:
        """How busy the GPUs were on average, by colour; the hosts if there are none."""
        cards = [number for number, lane in enumerate(self.schedule.lanes) if not is_host(lane) and lane != PYTHON]
        chosen = cards or range(len(self.schedule.lanes))
        rows = {(0, token): pieces for token, pieces in self._merged(chosen).items()}
        return self._sums((0.0, self.schedule.seconds), MOST_COLUMNS, rows, {}, [max(1, len(chosen))])

    def _merged(self, lanes: Iterable[int]) -> dict[str, tuple[Numbers, Numbers]]:
        """Returns the start and end times of several devices' pieces, each in order, by colour."""
        chosen, pieces = {*lanes}, dict[str, list[tuple[Numbers, Numbers]]]()
        for (lane, token), row in self._rows.items():
            if lane in chosen:
                pieces.setdefault(token, []).append(row)
        return {
            token: (
                np.sort(np.concatenate([row[0] for row in each])),
                np.sort(np.concatenate([row[1] for row in each])),
            )
            for token, each in pieces.items()
        }

    def _windows(self, window: Span, rows: int) -> Iterator[tuple[Span, int]]:
        """Yields the part before a window, the window and the part after it, each with its number of columns."""
        duration = self.schedule.seconds
        column_limit = max(2, min(MOST_COLUMNS, MOST_SHARES // max(1, 2 * rows)))
        for span in ((0.0, window[0]), window, (window[1], duration)):
            if span[1] > span[0]:
                yield (
                    span,
                    column_limit if span == window else max(1, round(column_limit * (span[1] - span[0]) / duration)),
                )

    def _longest_in(self, window: Span, lanes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
        """Returns the numbers of a part's longest pieces on some lanes, in order, and the number of its other ops."""
        is_in_sight = np.isin(self._lane[0], lanes) | np.isin(self._lane[1], lanes)
        inside = np.flatnonzero((self._start <= window[1]) & (self._end >= window[0]) & ~self._folded & is_in_sight)
        numbers, lengths = inside, (self._end - self._start)[inside]
        if len(numbers) > MOST_PIECES:
            longest, longest_op = np.argpartition(-lengths, MOST_PIECES)[:MOST_PIECES], self.schedule.longest
            shortest = min(SHORTEST_ROW * (window[1] - window[0]), longest_op.seconds if longest_op else 0.0)
            numbers = np.sort(inside[longest[lengths[longest] >= shortest]])
        ops, longest_at = len(self.schedule.ops), self.schedule.longest_at
        summed = int((inside < ops).sum() - (numbers < ops).sum())
        if window == (0.0, self.schedule.seconds) and longest_at is not None and longest_at not in numbers:
            summed -= int(is_in_sight[longest_at])
            numbers = np.union1d(numbers, [longest_at])  # it is described, on whatever device it ran
        return numbers, summed

    def _percentages(self, lane: int) -> list[int]:
        """Returns the percentages of the recording that a device's ops and copies take."""
        name = self.schedule.lanes[lane]
        return [self.schedule.share(self.schedule.ops_on(name)), self.schedule.share(self.schedule.copies_of(name))]

    def _spans_in(self, window: Span, lanes: Sequence[int]) -> list[list[Any]]:
        """Returns the longest groups of ops: lane, start, end, start of the next group, phase and line."""
        spans: list[tuple[float, list[Any]]] = []
        for lane in lanes:
            ops, firsts, lasts = self._spans_of(lane)
            starts, ends = ops.start[firsts], ops.end[lasts]
            is_long = ends - starts >= SHORTEST_ROW * (window[1] - window[0])
            for at in np.flatnonzero(is_long & (starts <= window[1]) & (ends >= window[0])).tolist():
                following = next((float(start) for start in starts[at + 1 : at + 2] if start <= window[1]), None)
                work = ops[int(firsts[at])]
                line = self._code_line(work.site) if work.site and not self._colours.by_phase else ""
                row = [lane, float(starts[at]), float(ends[at]), following, work.phase, line]
                spans.append((float(ends[at] - starts[at]), row))
        longest = sorted(spans, key=lambda span: -span[0])[:MOST_SPANS]
        return sorted((row for _, row in longest), key=lambda row: row[:2])

    def _spans_of(self, lane: int) -> tuple[Pieces[Work], Integers, Integers]:
        """Returns the ops of a device, and the positions of the first and the last one of each group, in order."""
        if lane not in self._spans_by_lane:
            ops = self.schedule.ops_on(self.schedule.lanes[lane])
            self._spans_by_lane[lane] = ops, *_spans(ops, self._colours.by_phase, GAP * self.schedule.seconds)
        return self._spans_by_lane[lane]

    def _sums(
        self, span: Span, columns: int, rows: Rows, drawn: Rows, devices: Sequence[int] | None = None
    ) -> dict[str, Any]:
        """Returns how busy each device, or each group on average, was in each column of a span, by colour.

        Args:
          span: start and end.
          columns: number of columns.
          rows: all pieces.
          drawn: pieces to leave out, because they have their own rows.
          devices: number of devices of each group; None means that each row is that of one device.
        """
        edges: Numbers = np.linspace(*span, columns + 1)
        shares: dict[tuple[int, str], Numbers] = {}
        for row, pieces in rows.items():
            seconds = _busy_between(*pieces, edges)
            if row in drawn:
                seconds -= _busy_between(*drawn[row], edges)
            busy = seconds * columns / (span[1] - span[0] or 1.0) / (devices[row[0]] if devices else 1)
            share = np.rint(np.clip(busy, 0.0, 4.0) * SHARE_UNIT)
            if share.any():
                shares[row] = share
        return {
            "from": span[0],
            "width": (span[1] - span[0]) / columns,
            "columns": columns,
            "rows": [*shares],
            "shares": packed("H", np.concatenate([*shares.values(), np.zeros(0)])),
            "unit": SHARE_UNIT,
        }


def _existing(numbers: Sequence[int], count: int) -> list[int]:
    """Returns those of some numbers that are below a count and at least 0, as many as a page shows at once."""
    return [number for number in numbers if 0 <= number < count][:ROWS_IN_SIGHT]


def _spans(ops: Pieces[Work], by_phase: bool, gap: float) -> tuple[Integers, Integers]:
    """Returns the positions of the first and the last op of each group: a phase, or a line of the program.

    Args:
      ops: the ops of one device, in order.
      by_phase: whether the ops of a phase form a group.
      gap: maximum time between two ops of a group, in seconds.
    """
    drawn = np.flatnonzero(~ops.folded)
    groups: dict[object, int] = {None: 0}
    group = ops.of_each(lambda work: groups.setdefault(_group(work, by_phase), len(groups)), np.int64)[drawn]
    far = ops.start[drawn[1:]] - ops.end[drawn[:-1]] >= gap
    begins = np.flatnonzero(np.concatenate([[True], far | (group[1:] != group[:-1])])[: len(drawn)])
    ends = np.append(begins[1:], len(drawn)) - 1
    is_named = group[begins] > 0
    return drawn[begins[is_named]], drawn[ends[is_named]]


def _group(work: Work, by_phase: bool) -> object:
    if by_phase:
        return work.phase if work.phase in UNDERLINED else None
    return work.site


def _rows(schedule: Schedule, colours: Colouring) -> Rows:
    """Returns the start and end times of each device's pieces, by colour."""
    return {
        (lane, token): span
        for lane, name in enumerate(schedule.lanes)
        for token, span in sorted(_times(schedule.ops_on(name), schedule.copies_of(name), colours).items())
    }


def _times(ops: Pieces[Work], copies: Pieces[Transfer], colours: Colouring) -> Times:
    """Returns the start and end times of a lane's ops and copies, by token."""
    tokens = sorted({colours.of(work) for work in ops.distinct()})
    number = ops.of_each(lambda work: tokens.index(colours.of(work)), np.int64)
    pieces = {token: ops.at(number == at) for at, token in enumerate(tokens)}
    spans = {token: (each.start, np.sort(each.end)) for token, each in (*pieces.items(), (COPIES, copies))}
    return {token: span for token, span in spans.items() if len(span[0])}


def _busy_between(starts: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """Returns the total duration of pieces between adjacent edges; pieces may overlap, and may lie outside."""
    return np.diff(_time_since(starts, edges) - _time_since(ends, edges))


def _time_since(moments: Numbers, edges: Numbers) -> Numbers:
    """Returns, for each edge, the sum of the times since all earlier moments; none is before the first edge."""
    origin = edges[0]
    first, last = moments.searchsorted(edges[[0, -1]])
    inside = moments[first:last] - origin  # sums from the very beginning would be less exact
    count = inside.searchsorted(edges - origin)
    return (first + count) * (edges - origin) - np.concatenate([[0.0], np.cumsum(inside)])[count]
