"""How are many devices drawn: as squares, each filled as high as what it sent and got?"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.decision import Words
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts, short_in_cluster
from nbtf.notebook.stills.device_rooms import main_op
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import Group, Mark, Rectangle, Text

GAP, ROOM = 6.0, 72.0
"""Between rooms that stand in rows, and the least width of one, in px."""

SQUARE, _LABELS, _NARROWEST, _PER_ROW = 48.0, 72.0, 60.0, 8
_ASCENT, _DESCENT = 10.0, 3.0
"""How far letters reach above and below their baseline, in px."""

_UNLIKE = 1.5
"""So many times the median is worth a sentence."""


def count_per_row(width: float, narrowest: float) -> int:
    """Returns how many squares or rooms stand beside one another.

    Args:
      width: of a row with a gap behind each, in px.
      narrowest: the least width of each.
    """
    return max(1, min(_PER_ROW, int(width // (narrowest + GAP))))


def drawn_grid(facts: MapFacts, x: float, y: float, width: float, words: Words) -> tuple[list[Mark], float]:
    """Returns squares in rows of at most eight, and where they end.

    Args:
      facts: of the devices.
      x: where the grid begins, in px.
      y: likewise.
      width: of all.
      words: the texts of the section `deviceMap`.
    """
    per_row = count_per_row(width - _LABELS + GAP, _NARROWEST)
    across = (width - _LABELS + GAP) / per_row - GAP
    traffic = {card.name: facts.traffic(card.name) for card in facts.cards}
    most_bytes = max(traffic.values(), default=0)
    marks: list[Mark] = []
    rows = [facts.cards[begin : begin + per_row] for begin in range(0, len(facts.cards), per_row)]
    for number, row in enumerate(rows):
        top = y + number * (SQUARE + GAP)
        total = bytes_in_words(sum(traffic[card.name] for card in row))
        label = filled(words["row"], n=number)
        marks += [Text(x, top + 18, label, size=11, weight=650), Text(x, top + 33, total, "soft", 11)]
        for column, card in enumerate(row):
            begin = x + _LABELS + column * (across + GAP)
            marks.append(drawn_square(card, begin, top, across, traffic[card.name], most_bytes, words))
    return marks, y + len(rows) * (SQUARE + GAP) - GAP


def drawn_square(
    card: DeviceFacts, x: float, y: float, width: float, nbytes: int, most_bytes: int, words: Words
) -> Group:
    """Returns a square with its name and bytes, filled as high as these are of the most bytes; a lost one says so.

    Args:
      card: whose square it is.
      x: where it begins, in px.
      y: likewise.
      width: of the square.
      nbytes: that it sent and got.
      most_bytes: of all squares.
      words: the texts of the section `deviceMap`.
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
    """Returns the sentence about the device that is not like the others; empty where all are alike."""
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
