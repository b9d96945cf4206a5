"""Sets the texts of a picture anew for a narrow page: as large as a reader needs; what does not fit is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log
from typing import NamedTuple

from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.labels import (
    Box,
    Key,
    Label,
    box_of,
    chains_of,
    keys_of,
    labels_of,
    replaced_marks,
    shapes_of,
)
from nbtf.notebook.stills.marks import Mark, Picture, Text, texts_of

LEAST_TEXT, LEAST_WIDTH = 10.0, 400.0
"""Every visible text is at least that high on every page at least that wide, in px."""

_MOST_TEXTS = 120
"""A picture with more texts has no form for narrow pages, which would leave out most of them."""

_STEP = 1.3
"""How much larger the texts of one setting may be than those of the next wider one."""

_GAP, _EDGE = 3.0, 5.0
"""Minimum distance between texts, and distance from the picture's edge, in px."""

_BESIDE = 8.0
"""Distance that texts of a row keep from each other, if there is room, in px."""

_OVER = 14.0
"""How far a text may cover a shape beside it, in px."""

_BAR = 6.0
"""Width up to which a shape beside a text is a bar that marks it; the text never touches it, in px."""

_FIGURE = re.compile(r"\d[\d.,]*(\s?([KMGT]iB|B|%|[nµm]?s)\b)?")
"""A figure, which is never cut: the rest of it would be another figure."""


class Setting(NamedTuple):
    """The texts of a picture, their tags, and the squares of its legend, for pages up to a width in px."""

    most_width: float
    marks: tuple[Mark, ...]


def readable_width(picture: Picture) -> float:
    """Returns the width in px below which a picture's own texts become too small."""
    return picture.width * LEAST_TEXT / min((text.size for text in texts_of(picture.marks)), default=picture.width)


def settings(picture: Picture) -> list[Setting]:
    """Returns the texts for narrow pages, the widest first; none if its own are large enough, or very many."""
    width = readable_width(picture)
    ratio = width / LEAST_WIDTH
    if ratio <= 1 or len(texts_of(picture.marks)) > _MOST_TEXTS:
        return []
    count = ceil(log(ratio) / log(_STEP))
    factor = ratio ** (1 / count)
    return [
        Setting(width / factor ** (number - 1), tuple(_set(picture, factor**number))) for number in range(1, count + 1)
    ]


def _set(picture: Picture, factor: float) -> Iterator[Mark]:
    """Yields texts that are larger by a factor: the required ones are placed first, then the important, the legend."""
    page = _Page(picture, factor)
    keys = keys_of(picture)
    names = [key.text for key in keys]
    ranks: dict[int, list[list[Label]]] = {0: [], 1: [], 2: []}
    chains = list(chains_of(label for label in labels_of(picture.marks) if label.text not in names))
    for chain in chains:
        text = chain[0].text
        ranks[0 if text.required else 1 if text.size > 12 or text.weight > 600 else 2].append(chain)
    page.find_rows([label for chain in chains for label in chain])
    for rank, ranked in ranks.items():
        if rank == 2:
            yield from _legend(keys, page)
        for chain in ranked:
            for label in page.placed(chain):
                yield from (*label.tags, label.text)


class _Page:
    """Places larger texts, each as near to its own place as those before allow."""

    def __init__(self, picture: Picture, factor: float) -> None:
        replaced = replaced_marks(picture)
        self.smallest = ceil(min(text.size for text in texts_of(picture.marks)) * factor * 10) / 10
        self.sides = Box(_EDGE, _EDGE, picture.width - _EDGE, picture.height - 2)
        self.used: list[tuple[Box, Box]] = []
        """The boxes of the placed texts, each with that in the picture."""

        self._shapes = list(shapes_of(mark for mark in picture.marks if mark not in replaced))
        self._begins: dict[Label, float] = {}

    def find_rows(self, labels: Sequence[Label]) -> None:
        """Finds where each text begins if no text of its row is left out: behind the one before."""
        ends: list[tuple[Box, Box, float]] = []
        for label in sorted(labels, key=lambda label: label.box().left):
            box, room = label.box(), self._room(label.box())
            begin = box.left
            for other, other_room, end in ends:
                is_same_row = other.top < (box.top + box.bottom) / 2 < other.bottom and other_room == room
                if is_same_row and not label.text.fixed and other.right <= box.left + 1:
                    begin = max(begin, end + min(_BESIDE, box.left - other.right))
            self._begins[label] = begin
            if label.text.anchor == "start" and not label.text.fixed:
                longer = self._enlarged(label.text).width - label.text.width
                ends.append((box, room, begin + box.right - box.left + longer))

    def placed(self, chain: Sequence[Label]) -> list[Label]:
        """Returns the lines of a text up to the first one that is shortened, or that has no room."""
        lines: list[Label] = []
        for label in chain:
            line = self._placed(label, self._enlarged(label.text))
            if line is None and lines:  # an ellipsis replaces what follows
                self.used.pop()
                last = chain[len(lines) - 1]
                cut = self._placed(last, replace(self._enlarged(last.text), words=f"{last.text.words} …"))
                return lines[:-1] + ([cut] if cut else [])
            if line is None:
                break
            lines.append(line)
            if line.text.words != label.text.words:
                break
        return lines

    def _enlarged(self, text: Text) -> Text:
        return replace(text, size=max(text.size, self.smallest))

    def _room(self, box: Box) -> Box:
        around = [shape for shape in self._shapes if shape.contains(box)]
        return min(around, key=lambda shape: shape.right - shape.left, default=self.sides)

    def _placed(self, label: Label, text: Text) -> Label | None:
        """Returns a label with a larger text at its place, shortened if necessary; None if no part of it fits."""
        old, box, size, height = box_of(label.text), label.box(), text.size, text.size * 0.95
        room = self._room(box)
        if height > room.bottom - room.top + 1:
            return None
        top = min(max((old.top + old.bottom - height) / 2, room.top), room.bottom - height)
        indent, outdent = old.left - box.left, box.right - old.right
        left, right = self._free(box, room, top, top + height)
        left, right = left + indent, right - outdent
        begin = self._begins[label] + indent
        if text.anchor == "start" and (text.width <= right - begin or text.width > right - left):
            left = max(left, begin)
        words = _shortened(text, right - left, size)
        if not words:
            return None
        text = replace(text, words=words)
        if text.anchor != "start":
            begin = (old.left + old.right - text.width) / 2 if text.anchor == "middle" else old.right - text.width
        at = min(max(begin, left), right - text.width)
        if text.fixed and abs(at - begin) > _OVER:
            return None
        placed = label.with_text(replace(text, x=at, y=top + 0.75 * size, anchor="start"))
        if any(placed.box().overlaps(new) for _, new in self.used):
            return None
        self.used.append((box, placed.box()))
        return placed

    def _free(self, box: Box, room: Box, top: float, bottom: float) -> tuple[float, float]:
        """Returns the left and right end of the room for a text; who is beside it is decided by the picture."""
        inset = 0.0 if room is self.sides else 2.0
        lefts, rights = [room.left + inset], [room.right - inset]
        shapes = [shape for shape in self._shapes if not shape.overlaps(box) and shape.right - shape.left > 2 * _OVER]
        beside = [(shape, Box(shape.left + _OVER, shape.top, shape.right - _OVER, shape.bottom)) for shape in shapes]
        beside += [(each, Box(new.left - _GAP, new.top, new.right + _GAP, new.bottom)) for each, new in self.used]
        bars = [
            shape for shape in self._shapes if shape.right - shape.left <= _BAR and shape.bottom - shape.top > _OVER
        ]
        beside += [(bar, bar._replace(right=bar.right + _GAP)) for bar in bars]
        for each, new in beside:
            if new.top < bottom and top < new.bottom:
                if each.right <= box.left + 1:
                    lefts.append(new.right)
                elif each.left >= box.right - 1:
                    rights.append(new.left)
        return max(lefts), min(rights)


def _shortened(text: Text, width: float, size: float) -> str:
    """Returns as much of a text as fits; of a figure all, and of "39 % of 64 MiB" the first figure.

    Empty if that is less than four letters.
    """
    words = fitted(text.words, width, size, text.weight, text.mono)
    end = len(words) - 1
    if not words or words == text.words:
        return words
    for figure in _FIGURE.finditer(text.words):
        if figure.start() < end < figure.end():
            end = figure.start()
    first = _FIGURE.match(text.words)
    if first and first[1] and end < first.end() + 10:
        return first[0] if width_of(first[0], size, text.weight, text.mono) <= width else ""
    prefix = text.words[:end].rstrip(" ,:;·×→←([")
    return f"{prefix}…" if len(prefix) > 3 else ""


def _legend(keys: list[Key], page: _Page) -> Iterator[Mark]:
    """Yields the entries of legends side by side, from where each legend begins; a square never stands alone."""
    size, sides = page.smallest, page.sides
    rows: dict[float, list[Key]] = {}
    for key in keys:
        rows.setdefault(key.text.y, []).append(key)
    for y, row in rows.items():
        is_list = len(row) == 1  # entries below one another stay where they are
        x = row[0].square.x if is_list else min(row[0].square.x, sides.right / 4)
        for key in row:
            text = replace(key.text, x=x + size + 4, y=y, size=size)
            if text.x + text.width > sides.right and not is_list and sides.bottom - y > 1.4 * size:
                x, y = min(row[0].square.x, sides.right / 4), y + 1.3 * size
                text = replace(text, x=x + size + 4, y=y)
            words = fitted(text.words, sides.right - text.x, size, text.weight)
            text = replace(text, words=words)
            if not words or any(box_of(text).overlaps(box) for _, box in page.used):
                continue
            side = 0.85 * size
            old = Box(key.square.x, key.square.y, key.text.x + key.text.width, key.square.y + key.square.height)
            page.used.append((old, Box(x, y - side + 1, text.x + text.width, y + 0.2 * size)))
            yield replace(key.square, x=x, y=y - side + 1, width=side, height=side)
            yield text
            x = text.x + text.width + 10
