"""Draws many devices as squares, each filled in proportion to the bytes it sent and received."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.decision import Words
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts, short_in_cluster
from nbtf.notebook.stills.device_rooms import main_op
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import Group, Mark, Point, Rectangle, Text

GAP, ROOM = 6.0, 72.0
"""Gap between rooms in rows, and the minimum width of a room, in px."""

SQUARE, _LABELS, _NARROWEST, _PER_ROW = 48.0, 72.0, 60.0, 8
_ASCENT, _DESCENT = 10.0, 3.0
"""Extent of letters above and below their baseline, in px."""

_UNLIKE = 1.5
"""Multiple of the median from which a device is worth mentioning."""


class Cells(NamedTuple):
    """Equal cells in rows: the upper left corner and the width of each, and where the last row ends, in px."""

    corners: list[Point]
    width: float
    per_row: int
    bottom: float


def cells(count: int, x: float, y: float, width: float, narrowest: float, height: float = SQUARE) -> Cells:
    """Returns cells in rows of at most eight, as wide as fits.

    Args:
      count: number of cells.
      x: left edge of the rows, in px.
      y: upper edge of the first row.
      width: width of a row.
      narrowest: minimum width of a cell.
      height: height of a cell.
    """
    per_row = max(1, min(_PER_ROW, int((width + GAP) // (narrowest + GAP))))
    across = (width + GAP) / per_row - GAP
    corners = [(x + at % per_row * (across + GAP), y + at // per_row * (height + GAP)) for at in range(count)]
    return Cells(corners, across, per_row, y + -(-count // per_row) * (height + GAP) - GAP)


def drawn_grid(facts: MapFacts, x: float, y: float, width: float, words: Words) -> tuple[list[Mark], float]:
    """Returns squares in rows of at most eight, and the y coordinate below them.

    Args:
      facts: the facts of the map.
      x: left edge of the grid, in px.
      y: its upper edge, in px.
      width: width of the grid, in px.
      words: texts of the section `deviceMap`.
    """
    grid = cells(len(facts.cards), x + _LABELS, y, width - _LABELS, _NARROWEST)
    traffic = {card.name: facts.traffic(card.name) for card in facts.cards}
    most_bytes = max(traffic.values(), default=0)
    marks: list[Mark] = []
    for number, begin in enumerate(range(0, len(facts.cards), grid.per_row)):
        row, corners = facts.cards[begin:][: grid.per_row], grid.corners[begin:]
        top = corners[0][1]
        total = bytes_in_words(sum(traffic[card.name] for card in row))
        label = filled(words["row"], n=number)
        marks += [Text(x, top + 18, label, size=11, weight=650), Text(x, top + 33, total, "soft", 11)]
        for card, corner in zip(row, corners, strict=False):
            marks.append(drawn_square(card, *corner, grid.width, traffic[card.name], most_bytes, words))
    return marks, grid.bottom


def drawn_square(
    card: DeviceFacts, x: float, y: float, width: float, nbytes: int, most_bytes: int, words: Words
) -> Group:
    """Returns a square with its name and bytes, filled relative to the most bytes; lost devices are marked.

    Args:
      card: the card to draw.
      x: left edge, in px.
      y: upper edge, in px.
      width: width of the square, in px.
      nbytes: bytes that the card sent and received.
      most_bytes: the largest number of bytes of any card.
      words: texts of the section `deviceMap`.
    """
    op = main_op(card)
    title = f"{card.name}: {op.op if op else '–'}, {bytes_in_words(nbytes)}"
    if card.is_lost:
        title += f", {words['lost']}"
    height = max(1.5, (SQUARE - 1) * nbytes / most_bytes) if nbytes else 0.0
    name = card.name.rpartition("/")[2] if ":" in card.name else card.name
    marks: list[Mark] = [Rectangle(x + 0.5, y + 0.5, width - 1, SQUARE - 1, "paper", "hair2", radius=4)]
    if height:
        marks.append(Rectangle(x + 0.5, y + SQUARE - 0.5 - height, width - 1, height, "cpyf", "cpy", 0.8, 2))
    second = words["lost"] if card.is_lost else bytes_in_words(nbytes)
    for baseline, text, weight in ((15.0, name, 650), (29.0, second, 400)):
        is_on_fill = height > SQUARE - baseline + _ASCENT
        is_on_edge = not is_on_fill and height > SQUARE - baseline - _DESCENT
        fill = "on-cpyf" if is_on_fill else "hot" if card.is_lost else "ink"
        marks.append(Text(x + 8, y + baseline, text, fill, 11, weight, halo=is_on_edge))
    return Group(tuple(marks), title)


def what_is_unlike(facts: MapFacts, words: Words) -> str:
    """Returns a sentence about the device that stands out; empty if none does."""
    comparisons = (
        (facts.traffic, words["copiesTimes"], words["copiesAlone"]),
        (_executed(facts), words["runsTimes"], words["runsAlone"]),
    )
    for measure, several_times, alone in comparisons:
        figures = {card.name: measure(card.name) for card in facts.cards}
        middle, name = median(figures.values()), max(figures, key=lambda name: figures[name])
        if middle and figures[name] >= _UNLIKE * middle:
            return filled(several_times, name=short_in_cluster(name), n=_times_in_words(figures[name] / middle))
        if list(figures.values()).count(0) == len(figures) - 1:
            return filled(alone, name=short_in_cluster(name))
    return ""


def _times_in_words(times: float) -> str:
    return f"{int(times + 0.5):,}" if times >= 10 else f"{times:.2g}"


def _executed(facts: MapFacts) -> Callable[[str], int]:
    counts = {card.name: card.executed for card in facts.cards}
    return counts.__getitem__
