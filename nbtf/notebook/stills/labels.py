"""Finds the marks that belong to a text: the square of a legend, a box of the text's size, its other lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from nbtf.notebook.stills.marks import Boxes, Group, Mark, Path, Picture, Rectangle, Text

_KEY = 10.0
"""Side of a square in a legend, in px."""


class Box(NamedTuple):
    """A rectangle by its sides, in px."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Returns whether both have an area in common."""
        is_beside = self.right <= other.left or other.right <= self.left
        return not (is_beside or self.bottom <= other.top or other.bottom <= self.top)

    def contains(self, other: Box) -> bool:
        """Returns whether another one is inside this one, apart from a px at each side."""
        is_across = self.left - 1 <= other.left and other.right <= self.right + 1
        return is_across and self.top - 1 <= other.top and other.bottom <= self.bottom + 1


class Key(NamedTuple):
    """An entry of a legend: its square and its text."""

    square: Rectangle
    text: Text


class Label(NamedTuple):
    """A text and the rectangles that exist for it alone."""

    text: Text
    tags: tuple[Rectangle, ...] = ()

    def box(self) -> Box:
        """Returns the sides of the text and its tags."""
        boxes = [box_of(self.text), *shapes_of(self.tags)]
        left, top, right, bottom = zip(*boxes, strict=True)
        return Box(min(left), min(top), max(right), max(bottom))

    def with_text(self, text: Text) -> Label:
        """Returns the label with another text; its tags keep their distances from the text's ends."""
        old, new = box_of(self.text), box_of(text)
        moved = (new.top + new.bottom - old.top - old.bottom) / 2
        tags: list[Rectangle] = []
        for tag in self.tags:
            is_around = tag.x + tag.width >= old.right
            width = tag.width + (text.width - self.text.width if is_around else 0)
            height = max(tag.height, new.bottom - new.top + 1) if is_around else tag.height
            x, y = tag.x + new.left - old.left, tag.y + tag.height / 2 - height / 2 + moved
            tags.append(replace(tag, x=x, y=y, width=width, height=height))
        return Label(text, tuple(tags))


def keys_of(picture: Picture) -> list[Key]:
    """Returns the entries of a picture's legends."""
    squares = {
        (mark.x + mark.width, round(mark.y + mark.height)): mark
        for mark in picture.marks
        if isinstance(mark, Rectangle) and mark.width == mark.height == _KEY
    }
    keys: list[Key] = []
    for text in picture.marks:
        if isinstance(text, Text):
            square = squares.get((text.x - 5, round(text.y + 1))) or squares.get((text.x - 6, round(text.y + 1)))
            if square is not None:
                keys.append(Key(square, text))
    return keys


def labels_of(marks: Iterable[Mark]) -> Iterator[Label]:
    """Yields all texts, each with its tags."""
    tags: list[Rectangle] = []
    for mark in marks:
        if isinstance(mark, Group):
            yield from labels_of(mark.marks)
        elif isinstance(mark, Rectangle) and mark.is_tag:
            tags.append(mark)
        elif isinstance(mark, Text):
            yield Label(mark, tuple(tags))
            tags = []


def replaced_marks(picture: Picture) -> Sequence[Mark]:
    """Returns the marks that each setting has in its own size: squares of legends, and tags with their texts."""
    tagged = [label for label in labels_of(picture.marks) if label.tags]
    return [key.square for key in keys_of(picture)] + [mark for text, tags in tagged for mark in (*tags, text)]


def chains_of(labels: Iterable[Label]) -> Iterator[list[Label]]:
    """Yields the lines of each text."""
    chain: list[Label] = []
    for label in labels:
        if chain and not label.text.continues:
            yield chain
            chain = []
        chain.append(label)
    if chain:
        yield chain


def box_of(text: Text) -> Box:
    """Returns the sides of a text's letters."""
    return Box(text.begin, text.y - 0.75 * text.size, text.begin + text.width, text.y + 0.2 * text.size)


def shapes_of(marks: Iterable[Mark]) -> Iterator[Box]:
    """Yields the boxes that a text must not cover unless it is inside."""
    for mark in marks:
        if isinstance(mark, Group):
            yield from shapes_of(mark.marks)
        elif isinstance(mark, Rectangle) and (mark.fill or mark.stroke):
            yield Box(mark.x, mark.y, mark.x + mark.width, mark.y + mark.height)
        elif isinstance(mark, Boxes):
            yield from (Box(x, y, x + width, y + height) for x, y, width, height in mark.sides)
        elif isinstance(mark, Path) and mark.fill:
            across, down = zip(*mark.points, strict=True)
            yield Box(min(across), min(down), max(across), max(down))
