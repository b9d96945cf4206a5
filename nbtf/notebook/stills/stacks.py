"""What is seen of pieces that are too short for a mark of their own? How busy each column of pixels was, by colour."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor

from nbtf.notebook.stills.marks import Boxes
from nbtf.notebook.stills.palette import OF_PHASE
from nbtf.notebook.stills.schedule import Schedule, Work

_FAMILIES = {
    "products": ("wgt", re.compile(r"MatMul|Conv|Einsum")),
    "reductions": ("upd", re.compile(r"^(Sum|Mean|Prod|Max|Min|All|Any|Arg\w+|\w*Pool\w*|Cum\w+)$")),
    "randoms": ("py", re.compile(r"Random|Multinomial")),
    "other": ("tmp", re.compile("")),
}
"""What an op is filled with where the program has no phases; the first pattern that fits counts."""

_PHASES = ("forward", "backward", "update", "input")


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a moment is drawn: the px of the beginning and of the end, and the seconds in between."""

    begin: float
    end: float
    seconds: float

    @property
    def width(self) -> float:
        """In px."""
        return self.end - self.begin

    def at(self, moment: float) -> float:
        """Returns where a moment is, to a tenth of a px: pieces that touch in time do so in the picture."""
        return round(self.exact(moment), 1)

    def exact(self, moment: float) -> float:
        """Returns where a moment would be if px had no end."""
        return self.begin + (moment / self.seconds if self.seconds else 0.0) * self.width


@dataclass(frozen=True, slots=True)
class Colouring:
    """Which op has which colour, and the words of the legend: by phase, or where there is none by family."""

    by_phase: bool
    ops: tuple[Work, ...]

    def of(self, work: Work) -> str:
        """Returns the token of an op."""
        return OF_PHASE.get(work.phase, "tmp") if self.by_phase else _FAMILIES[_family(work.op)][0]

    def keys(self) -> list[tuple[str, str]]:
        """Returns the names in the words, and the tokens, of those that occur."""
        if self.by_phase:
            names = {work.phase if work.phase in _PHASES else "other" for work in self.ops}
            return [(name, OF_PHASE.get(name, "tmp")) for name in (*_PHASES, "other") if name in names]
        names = {_family(work.op) for work in self.ops}
        return [(name, token) for name, (token, _) in _FAMILIES.items() if name in names]


def colouring(schedule: Schedule) -> Colouring:
    """Returns the colours of a schedule's ops."""
    return Colouring(schedule.has_phases, tuple(work for work in schedule.ops if not work.folded))


def _family(op: str) -> str:
    return next(name for name, (_, pattern) in _FAMILIES.items() if pattern.search(op))


_MOST_COLUMNS = 640
"""Columns that a picture has at most where many pieces are short; each is then some px wide."""


def column_width(columns: int, width: float) -> float:
    """Returns how wide columns are, in px, where so many of 1 px are needed and all lanes together are so long.

    >>> column_width(300, 3200), column_width(2900, 3200)
    (1.0, 5.0)
    """
    return 1.0 if columns <= _MOST_COLUMNS else float(max(1, ceil(width / _MOST_COLUMNS)))


def stacked(
    pieces: Iterable[tuple[float, float, str]], scale: Scale, y: float, height: float, step: float = 1.0
) -> Iterator[Boxes]:
    """Yields how busy each column was: begin, end and token of each piece, in seconds, stacked from below.

    Wide columns have heights in whole px: neighbours that are the same are one box.

    Args:
      pieces: of one lane; no two overlap.
      scale: of the picture.
      y: the lane's upper edge, in px.
      height: of the lane, in px.
      step: width of a column, in px.
    """
    digits = 1 if step == 1.0 else 0
    busy: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for start, end, token in pieces:
        begin, stop = ((scale.exact(moment) - scale.begin) / step for moment in (start, end))
        for column in range(floor(begin), ceil(stop)):
            busy[column][token] += max(0.0, min(stop, column + 1) - max(begin, column))
    columns = [(column, _levels(shares, height, digits)) for column, shares in sorted(busy.items())]
    boxes: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for (_, levels), run in groupby(enumerate(columns), lambda entry: (entry[1][0] - entry[0], entry[1][1])):
        numbers = [column for _, (column, _) in run]
        x, base = scale.begin + numbers[0] * step, y + height
        for token, size in levels:
            base -= size
            boxes[token].append((x, base, min(len(numbers) * step, scale.end - x), size))
    yield from (Boxes(tuple(sides), token) for token, sides in boxes.items())


def _levels(shares: dict[str, float], height: float, digits: int) -> tuple[tuple[str, float], ...]:
    """Returns the parts of a column from below, in px; sorted, so that neighbours with the same parts are the same."""
    levels = [(token, round(height * min(share, 1.0), digits)) for token, share in sorted(shares.items())]
    return tuple((token, size) for token, size in levels if size > 0)
