"""The marks of a picture: shapes and texts whose colours are tokens of the palette."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nbtf.notebook.stills.glyphs import width_of

WIDTH = 690.0
"""Width of a picture, in px: that of a notebook's output in a window of usual size."""

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A box; `fill` and `stroke` are tokens, empty for none; the fill `hatch` is diagonal lines.

    `is_tag` marks a box that exists for the next text alone: its size is that of the text.
    """

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    stroke: str = ""
    stroke_width: float = 1.0
    radius: float = 0.0
    opacity: float = 1.0
    dashed: bool = False
    title: str = ""
    is_tag: bool = False


@dataclass(frozen=True, slots=True)
class Boxes:
    """Many boxes of one colour, without edges: x, y, width and height of each."""

    sides: tuple[tuple[float, float, float, float], ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line; `arrow` adds a head at its end."""

    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = "hair"
    width: float = 1.0
    dashed: bool = False
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """A line through points, or the enclosed area if `closed`: a ribbon, a curve, a bracket."""

    points: tuple[Point, ...]
    fill: str = ""
    stroke: str = ""
    stroke_width: float = 1.0
    opacity: float = 1.0
    closed: bool = False
    dashed: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` is its baseline. `halo` paints paper around the letters, where lines run below them.

    Narrow pages never leave out a `required` text, show a text that `continues` the one before only after all of it,
    and do not push a `fixed` one, such as a label of an axis, aside.
    """

    x: float
    y: float
    words: str
    fill: str = "ink"
    size: float = 12.0
    weight: int = 400
    anchor: Literal["start", "middle", "end"] = "start"
    mono: bool = False
    halo: bool = False
    required: bool = False
    continues: bool = False
    fixed: bool = False

    @property
    def width(self) -> float:
        """Its width, in px."""
        return width_of(self.words, self.size, self.weight, self.mono)

    @property
    def begin(self) -> float:
        """Its left edge, in px."""
        return self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]


@dataclass(frozen=True, slots=True)
class Group:
    """Marks that belong together; `title` is a sentence that describes them."""

    marks: tuple[Mark, ...]
    title: str = ""


Mark: TypeAlias = Rectangle | Boxes | Line | Path | Text | Group


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its size in px, a sentence that describes it, and its marks from back to front.

    `narrow` is the form to show where the picture is made so narrow that its texts cannot be read; it is scaled to the
    same proportions.
    """

    width: float
    height: float
    title: str
    marks: tuple[Mark, ...]
    narrow: Picture | None = None


_KINDS: dict[str, type[Mark]] = {"rectangle": Rectangle, "boxes": Boxes, "line": Line, "path": Path, "text": Text}
"""The classes of marks that contain no others, by their names in `static/picture.js`."""

_NAMES = {"strokeWidth": "stroke_width", "isTag": "is_tag"}


def picture_from(drawn: Mapping[str, Any]) -> Picture:
    """Returns a picture that `static/stills.js` has drawn."""
    narrow = drawn.get("narrow")
    marks = tuple(_marks_from(drawn["marks"]))
    return Picture(drawn["width"], drawn["height"], drawn["title"], marks, narrow and picture_from(narrow))


def _marks_from(drawn: Iterable[Mapping[str, Any]]) -> Iterator[Mark]:
    """Yields the marks; groups without a title only name the device of their marks, for a page."""
    for mark in drawn:
        if mark["mark"] != "group":
            yield _mark_from(mark)
        elif mark.get("title"):
            yield Group(tuple(_marks_from(mark["marks"])), mark["title"])
        else:
            yield from _marks_from(mark["marks"])


def _mark_from(drawn: Mapping[str, Any]) -> Mark:
    fields = {_NAMES.get(name, name): value for name, value in drawn.items() if name not in ("mark", "data")}
    for name in ("points", "sides"):
        if name in fields:
            fields[name] = tuple([tuple(numbers) for numbers in fields[name]])
    return _KINDS[drawn["mark"]](**fields)


def framed(width: float, height: float, title: str, marks: Iterable[Mark]) -> Picture:
    """Returns a picture with a frame around its marks."""
    return Picture(width, height, title, (Rectangle(0.5, 0.5, width - 1, height - 1, stroke="hair", radius=8), *marks))


def texts_of(marks: tuple[Mark, ...]) -> list[Text]:
    """Returns all texts, including those inside groups."""
    texts: list[Text] = []
    for mark in marks:
        if isinstance(mark, Group):
            texts += texts_of(mark.marks)
        elif isinstance(mark, Text):
            texts.append(mark)
    return texts
