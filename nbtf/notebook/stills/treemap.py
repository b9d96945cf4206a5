"""Draws how much each holder has at one step: boxes of groups with boxes of pieces; area shows allocated bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.marks import WIDTH, Mark, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_bands import MARGIN, OF_GROUP, Band, Words, picture_words
from nbtf.notebook.stills.memory_chunks import shortened
from nbtf.notebook.stills.memory_history import MemoryHistory

HEIGHT = 300.0
_HEAD = 22.0


class Box(NamedTuple):
    """A rectangle, in px."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, margin: float, head: float = 0.0) -> Box:
        """Returns the box inside a margin, below a header."""
        width, height = self.width - 2 * margin, self.height - 2 * margin - head
        return Box(self.x + margin, self.y + margin + head, max(width, 0.0), max(height, 0.0))


def treemap(
    history: MemoryHistory, width: float = WIDTH, step: int | None = None, words: Words | None = None
) -> Picture:
    """Returns a picture of what holds a device's memory after a step.

    Args:
      history: the history of the device.
      width: in px; at least 320 are used.
      step: number of the step; None selects the one with the most memory in use.
      words: texts of the sections `timeline` and `memoryPicture`; None uses those of the environment's language.
    """
    words = words or picture_words()
    width, step = max(width, 320.0), history.peak if step is None else step
    pieces = history.alive(step)
    groups: dict[str, list[Band]] = {}
    for band in sorted(pieces, key=lambda band: -band.size):
        groups.setdefault(band.group, []).append(band)
    order = sorted(groups, key=lambda group: -_sum(groups[group]))
    in_use = _sum(pieces)
    title = filled(words["whoHolds"], name=history.short_name)
    count = filled(words["treemapCount"], size=gib(in_use), n=len(pieces))
    moment = [Text(0, 0, words["atPeak"], weight=600)] if step == history.peak else []
    heads = [Text(0, 0, title, size=15, weight=650), *moment, Text(0, 0, count, "soft")]
    head, y = flowed(heads, MARGIN, width - MARGIN, 28)
    marks: list[Mark] = [*head]
    area = Box(MARGIN, y + 16, width - 2 * MARGIN, HEIGHT)
    for group, box in zip(order, squarified([_sum(groups[group]) for group in order], area), strict=True):
        marks += _container(group, groups[group], box, words)
    height = area.y + HEIGHT + 14
    return framed(width, height, f"{title}: {' · '.join([*[each.words for each in moment], count])}", marks)


def squarified(sizes: Sequence[int], box: Box) -> list[Box]:
    """Returns boxes for sizes in descending order, with proportional areas, each as square as possible.

    Source: Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000.
    """
    boxes: list[Box] = []
    remaining, total = list(sizes), sum(sizes)
    while remaining and total and box.width > 0 and box.height > 0:
        scale, side = box.width * box.height / total, min(box.width, box.height)
        count = 1
        while count < len(remaining) and _worst(remaining[: count + 1], scale, side) <= _worst(
            remaining[:count], scale, side
        ):
            count += 1
        row, remaining = remaining[:count], remaining[count:]
        thickness, at = sum(row) * scale / side, 0.0
        for size in row:
            length = size * scale / thickness
            if box.width <= box.height:
                boxes.append(Box(box.x + at, box.y, length, thickness))
            else:
                boxes.append(Box(box.x, box.y + at, thickness, length))
            at += length
        total -= sum(row)
        if box.width <= box.height:
            box = Box(box.x, box.y + thickness, box.width, box.height - thickness)
        else:
            box = Box(box.x + thickness, box.y, box.width - thickness, box.height)
    return boxes + [Box(box.x, box.y, 0.0, 0.0)] * len(remaining)


def _worst(row: Sequence[int], scale: float, side: float) -> float:
    """Returns the aspect ratio of the least square box of a row."""
    area = sum(row) * scale
    return max(side**2 * row[0] * scale / area**2, area**2 / (side**2 * row[-1] * scale))


def _sum(bands: Sequence[Band]) -> int:
    return sum(band.size for band in bands)


def _container(group: str, bands: Sequence[Band], box: Box, words: Words) -> list[Mark]:
    """Returns the box of a group, with those of its pieces."""
    token, has_head = OF_GROUP[group], box.width > 90 and box.height > 44
    outer = box.inset(1)
    name, size = words[group], gib(_sum(bands))
    marks: list[Mark] = [Rectangle(*outer, stroke=token, stroke_width=1.5, radius=4, title=f"{name}: {size}")]
    if has_head:
        figure = Text(box.x + box.width - 8, box.y + 16, size, "soft", weight=600, anchor="end")
        head = Text(box.x + 8, box.y + 16, name, weight=650)
        has_both = head.width + 8 <= figure.begin - head.x
        marks += [figure, head] if has_both else [head if head.width <= box.width - 16 else figure]  # pieces have sizes
    inner = box.inset(3, _HEAD if has_head else 0.0)
    for band, piece in zip(bands, squarified([band.size for band in bands], inner), strict=True):
        if min(piece.width, piece.height) >= 1:  # smaller pieces are left to the box of their group
            marks += _piece(band, token, piece, words)
    return marks


def _piece(band: Band, token: str, box: Box, words: Words) -> list[Mark]:
    name = band.title(words)
    gap = 1.0 if min(box.width, box.height) > 4 else 0.0
    inside = box.inset(gap)
    title = f"{f'{name} {band.shape}'.rstrip()}: {band.size:,} B"
    marks: list[Mark] = [Rectangle(*inside, fill=token, radius=min(3.0, inside.width / 4), opacity=0.17, title=title)]
    if box.width > 8 and box.height > 8:
        marks.append(Rectangle(inside.x, inside.y, 4, inside.height, token, radius=1.5))
    size, room = gib(band.requested), box.width - 16
    figures = [Text(0, 0, words, "soft", 11) for words in (f"{size}  {band.shape}".rstrip(), size)]
    lines = [Text(0, 0, shortened(line, room), size=11, weight=600, mono=True) for line in name.split(" · ")]
    lines += [figure for figure in figures if figure.width <= room][:1]  # figures are never cut
    for at, line in enumerate(lines):
        y = box.y + 16 + 15 * at
        if line.words and y + 4 <= box.y + box.height:
            marks.append(replace(line, x=box.x + 11, y=y))
    return marks
