"""What is a picture made of? Shapes and texts whose colours are tokens of the palette, not colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nbtf.notebook.stills.glyphs import width_of

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A box; `fill` and `stroke` are tokens, and empty where there is none; the fill `hatch` is diagonal lines."""

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


@dataclass(frozen=True, slots=True)
class Boxes:
    """Many boxes of a colour, without edges: x, y, width and height of each."""

    sides: tuple[tuple[float, float, float, float], ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line; with `arrow`, a head at its end."""

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
    """A line through points, or the area inside them where it is `closed`: a ribbon, a curve, a bracket."""

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
    """A line of words; `y` is its baseline. `halo` paints paper around the letters where lines run below them."""

    x: float
    y: float
    words: str
    fill: str = "ink"
    size: float = 12.0
    weight: int = 400
    anchor: Literal["start", "middle", "end"] = "start"
    mono: bool = False
    halo: bool = False

    @property
    def width(self) -> float:
        """How wide it is drawn, in px."""
        return width_of(self.words, self.size, self.weight, self.mono)

    @property
    def begin(self) -> float:
        """Where it begins, in px."""
        return self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]


@dataclass(frozen=True, slots=True)
class Group:
    """Marks that mean something together; `title` is the sentence that says it."""

    marks: tuple[Mark, ...]
    title: str = ""


Mark: TypeAlias = Rectangle | Boxes | Line | Path | Text | Group


@dataclass(frozen=True, slots=True)
class Picture:
    """A view at one moment: its size in px, the sentence that says what it shows, and its marks from back to front."""

    width: float
    height: float
    title: str
    marks: tuple[Mark, ...]


def texts_of(marks: tuple[Mark, ...]) -> list[Text]:
    """Returns all texts, those inside groups too."""
    texts: list[Text] = []
    for mark in marks:
        if isinstance(mark, Group):
            texts += texts_of(mark.marks)
        elif isinstance(mark, Text):
            texts.append(mark)
    return texts
