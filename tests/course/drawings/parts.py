"""The parts of the lessons' drawings: device panels, blocks of work, labels and arrows, made of the stills' marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from math import cos, pi
from typing import Literal, TypeAlias

from nbtf.notebook.stills.glyphs import width_of
from nbtf.notebook.stills.marks import Line, Mark, Path, Picture, Point, Rectangle, Text
from nbtf.notebook.stills.palette import text_on

WIDTH = 720.0
MARGIN = 20.0
LARGE, MIDDLE, SMALL = 15.0, 12.5, 11.5
"""Text sizes in px."""

Say: TypeAlias = Callable[[str], str]
"""Translates an English text into the language of a drawing."""

Anchor: TypeAlias = Literal["start", "middle", "end"]


def picture(idea: str, height: float, *marks: list[Mark]) -> Picture:
    """Returns a drawing with its idea as a sentence in the largest text.

    Args:
      idea: sentence that fits on one line: less than 100 letters.
      height: total height in px.
      *marks: marks from back to front; their area begins at 48 px.
    """
    card = Rectangle(0.5, 0.5, WIDTH - 1, height - 1, "paper", "hair2", radius=8)
    head = Text(MARGIN, 32, idea, size=LARGE, weight=600)
    return Picture(WIDTH, height, idea, (card, head, *(mark for group in marks for mark in group)))


def label(
    x: float, y: float, words: str, fill: str = "ink", size: float = MIDDLE, weight: int = 400, anchor: Anchor = "start"
) -> list[Mark]:
    """Returns a line of text."""
    return [Text(x, y, words, fill, size, weight, anchor)]


def code(x: float, y: float, words: str, fill: str = "ink", anchor: Anchor = "start") -> list[Mark]:
    """Returns a line of code."""
    return [Text(x, y, words, fill, SMALL, 400, anchor, mono=True)]


def paragraph(
    x: float, y: float, words: str, width: float, fill: str = "soft", size: float = SMALL, anchor: Anchor = "start"
) -> list[Mark]:
    """Returns a text in as many lines as it needs."""
    return [
        Text(x, y + number * (size + 4), line, fill, size, anchor=anchor)
        for number, line in enumerate(broken(words, width, size))
    ]


def broken(words: str, width: float, size: float) -> list[str]:
    """Returns the lines of a text; Chinese and Japanese may break between any two letters.

    >>> broken("one two three", 50, 12)
    ['one two', 'three']
    """
    lines = [""]
    for piece in _pieces(words):
        if lines[-1] and width_of((lines[-1] + piece).rstrip(), size) > width:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _pieces(words: str) -> list[str]:
    """Returns the parts of a text that may not be broken: words, or single wide letters with their punctuation."""
    pieces = [""]
    for letter in words:
        wide = unicodedata.east_asian_width(letter) in "WF"
        ends = pieces[-1].endswith(" ") or (pieces[-1] and unicodedata.east_asian_width(pieces[-1][-1]) in "WF")
        begins = letter != " " and unicodedata.category(letter) not in ("Pe", "Pf", "Po", "Lm")
        if (wide or ends) and begins:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def block(
    x: float, y: float, width: float, height: float, words: str, fill: str, size: float = SMALL, weight: int = 400
) -> list[Mark]:
    """Returns a filled area with centred text."""
    middle = (x + width / 2, y + height / 2 + size * 0.36)
    area = Rectangle(x, y, width, height, fill, radius=5)
    return [area, Text(*middle, words, text_on(fill), size, weight, "middle")]


def frame(
    x: float, y: float, width: float, height: float, dashed: bool = False, stroke: str = "line", fill: str = "tint"
) -> list[Mark]:
    """Returns a box; a dashed box means that the thing does not exist."""
    return [Rectangle(x, y, width, height, "" if dashed else fill, stroke, radius=8, dashed=dashed)]


def room(x: float, y: float, width: float, height: float, name: str, note: str = "") -> list[Mark]:
    """Returns a device panel with the device's name above it."""
    beside = [Text(x + width - 10, y + 18, note, "soft", 11, anchor="end")] if note else []
    return [*frame(x, y, width, height), Text(x + 10, y + 18, name, size=MIDDLE, weight=600), *beside]


def arrow(*points: Point, stroke: str = "line", width: float = 1.6, dashed: bool = False) -> list[Mark]:
    """Returns a line through points with an arrowhead at its end."""
    *before, (x1, y1), (x2, y2) = points
    way = [Path((*before, (x1, y1)), stroke=stroke, stroke_width=width, dashed=dashed)] if before else []
    return [*way, Line(x1, y1, x2, y2, stroke, width, dashed, arrow=True)]


def bow(start: Point, end: Point, stroke: str = "line", width: float = 1.6, dashed: bool = False) -> list[Mark]:
    """Returns a curved arrow that starts and ends horizontally."""
    (x1, y1), (x2, y2) = start, end
    steps = [number / 10 for number in range(10)]
    curve = [(x1 + (x2 - 7 - x1) * step, y1 + (y2 - y1) * (1 - cos(pi * step)) / 2) for step in steps]
    return arrow(*curve, (x2 - 7, y2), (x2, y2), stroke=stroke, width=width, dashed=dashed)
