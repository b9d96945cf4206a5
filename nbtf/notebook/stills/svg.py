"""Converts pictures into SVG that is safe to show anywhere.

Attributes give the colours on light paper, so a page that strips styles shows the light picture. A style sheet changes
them by class for readers who prefer dark paper. The SVG contains no script and loads nothing. Texts state
their width, so the layout holds with any font. Marks that look the same share a group that states their look once;
overlapping marks keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import atan2, cos, isfinite, pi, sin
from typing import NamedTuple, TypeAlias

from nbtf.notebook.stills.labels import replaced_marks
from nbtf.notebook.stills.marks import Boxes, Group, Line, Mark, Path, Picture, Rectangle, Text
from nbtf.notebook.stills.narrow import readable_width, settings
from nbtf.notebook.stills.palette import CODE_FONT, TOKENS

_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_HEAD = 6.0
"""Length of an arrow's head, in px."""

_EDGE, _HALO = 1.0, 4.0
"""Px by which lines and letters extend beyond their bounds, and those with a halo or an arrow's head.
Adjacent boxes have edges of the same width and colour, so their drawing order makes no difference.
"""

_FAR = 60
"""Maximum number of groups that a mark may move back to join one that looks the same."""

Bounds: TypeAlias = tuple[float, float, float, float]


class _Element(NamedTuple):
    """An element; `look` are the attributes that a surrounding group can set instead."""

    name: str
    attributes: str
    look: str
    content: str = ""

    def text(self, look: str) -> str:
        """Returns it as XML, with the part of its look that no group sets."""
        begin = f"<{self.name}{self.attributes}{look}"
        return f"{begin}>{self.content}</{self.name}>" if self.content else f"{begin}/>"


def to_svg(picture: Picture, narrow: bool = True) -> str:
    """Returns a picture as SVG text: one element, valid as XML.

    Args:
      picture: the picture.
      narrow: whether to add the form that readers see where the picture is too narrow for its texts.

    Raises:
      ValueError: if a mark has an unknown colour, or a coordinate is not a number.

    >>> from nbtf.notebook.stills.marks import Picture, Text
    >>> svg = to_svg(Picture(80, 20, "An example", (Text(4, 14, "a < b"),)))
    >>> svg.startswith("<svg "), "a &lt; b" in svg
    (True, True)
    """
    forms, rules = _forms(picture) if narrow else ("", "")
    replaced = replaced_marks(picture) if forms else ()
    body = _drawn([mark for mark in picture.marks if mark not in replaced])
    if forms:
        body = f'<g class="nbtf-wide">{body}<g class="nbtf-keys">{_drawn(replaced)}</g></g>{forms}'
    paper = _drawn([Rectangle(0, 0, picture.width, picture.height, "paper")])
    title, width, height = _escaped(picture.title), _number(picture.width), _number(picture.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="nbtf-still" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{title}" font-family="{_SANS}"><title>{title}</title>'
        f"{_style(paper + body, rules)}{_hatch(body)}{paper}{body}</svg>"
    )


def _forms(picture: Picture) -> tuple[str, str]:
    """Returns what is shown instead on narrow pages, hidden where no styles apply, and the rules that show it.

    In an image, the width in these rules is that of the image.
    """
    if picture.narrow is not None:
        inner, width, height = picture.narrow, _number(picture.width), _number(picture.height)
        sides = f'viewBox="0 0 {_number(inner.width)} {_number(inner.height)}" width="{width}" height="{height}"'
        form = f'<svg class="nbtf-narrow" display="none" {sides}>{_drawn(inner.marks)}</svg>'
        rules = ".nbtf-wide{display:none}.nbtf-narrow{display:inline}"
        return form, f"@media(max-width:{_below(readable_width(picture))}px){{{rules}}}"
    forms, rules = "", ""
    for number, setting in enumerate(settings(picture)):
        forms += f'<g class="nbtf-narrow-{number}" display="none">{_drawn(setting.marks)}</g>'
        previous = f".nbtf-narrow-{number - 1}{{display:none}}" if number else ""
        setting_rules = f".nbtf-wide text,.nbtf-keys{{display:none}}{previous}.nbtf-narrow-{number}{{display:inline}}"
        rules += f"@media(max-width:{_below(setting.most_width)}px){{{setting_rules}}}"
    return forms, rules


def _below(width: float) -> str:
    return f"{width - 0.01:.2f}"


def to_html(picture: Picture) -> str:
    """Returns a picture as an HTML image, which JupyterLab shows even in notebooks that it does not trust.

    >>> from nbtf.notebook.stills.marks import Picture
    >>> to_html(Picture(80, 20, "An example", ())).startswith("<img alt='An example' src='data:image/svg+xml,<svg ")
    True
    """
    address = to_svg(picture).replace("%", "%25").replace("#", "%23")
    source = address.replace("&", "&amp;").replace("'", "&#39;")
    title = _escaped(picture.title).replace("'", "&#39;")
    return f"<img alt='{title}' src='data:image/svg+xml,{source}'>"


def _style(body: str, forms: str) -> str:
    """Returns the colours of the used tokens on dark paper, and the rules for narrow pages."""
    properties = {"fill": "f", "stroke": "s"}
    rules = "".join(
        f".nbtf-still .{letter}-{token}{{{name}:{colour.dark}}}"
        for token, colour in TOKENS.items()
        for name, letter in properties.items()
        if f"{letter}-{token} " in body or f'{letter}-{token}"' in body or (token == "line" and "#nbtf-hatch" in body)
    )
    return (
        "<style>.nbtf-still text{white-space:pre;font-variant-numeric:tabular-nums}"
        f".nbtf-still [font-family=monospace]{{font-family:{CODE_FONT}}}"
        f"@media(prefers-color-scheme:dark){{{rules}}}{forms}</style>"
    )


def _hatch(body: str) -> str:
    if "#nbtf-hatch" not in body:
        return ""
    line = f'<path d="M0 0V6" stroke-width="1.6"{_painted("", "line")}/>'
    return (
        '<defs><pattern id="nbtf-hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
        f' patternTransform="rotate(45)">{line}</pattern></defs>'
    )


def _drawn(marks: Iterable[Mark]) -> str:
    """Returns marks as XML; marks that look the same are grouped if none lies between them."""
    runs: list[tuple[str, list[_Element], list[Bounds]]] = []
    for mark in marks:
        bounds = _bounds(mark)
        for element in _elements(mark):
            run = _run_of(element.look, bounds, runs)
            run[1].append(element)
            run[2].append(bounds)
    return "".join(_joined(look, run) for look, run, _ in runs)


def _run_of(
    look: str, bounds: Bounds, runs: list[tuple[str, list[_Element], list[Bounds]]]
) -> tuple[str, list[_Element], list[Bounds]]:
    """Returns the last run of a look on which nothing lies that touches the mark, or else a new one."""
    for run in reversed(runs[-_FAR:]):
        if look and run[0] == look:
            return run
        if any(_overlap(bounds, bound) for bound in run[2]):
            break
    runs.append((look, [], []))
    return runs[-1]


def _joined(look: str, run: list[_Element]) -> str:
    if not look or len(run) == 1:
        return "".join(element.text(look) for element in run)
    return f"<g{look}>{''.join(element.text('') for element in run)}</g>"


def _overlap(first: Bounds, second: Bounds) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _bounds(mark: Mark) -> Bounds:
    """Returns the bounds of a mark: left, top, right and bottom, in px."""
    if isinstance(mark, Group):
        corners = [corner for each in map(_bounds, mark.marks) for corner in (each[:2], each[2:])]
        return _around(corners) if corners else (0.0, 0.0, 0.0, 0.0)
    left, top, right, bottom = _around(_corners(mark))
    if isinstance(mark, Rectangle | Boxes):
        return left, top, right, bottom
    edge = _HALO if (isinstance(mark, Line) and mark.arrow) or (isinstance(mark, Text) and mark.halo) else _EDGE
    return left - edge, top - edge, right + edge, bottom + edge


def _around(points: Iterable[tuple[float, float]]) -> Bounds:
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def _corners(mark: Rectangle | Boxes | Line | Path | Text) -> Iterable[tuple[float, float]]:
    if isinstance(mark, Text):
        return (mark.begin, mark.y - mark.size), (mark.begin + mark.width, mark.y + 0.3 * mark.size)
    if isinstance(mark, Line):
        return (mark.x1, mark.y1), (mark.x2, mark.y2)
    if isinstance(mark, Path):
        return mark.points
    sides = mark.sides if isinstance(mark, Boxes) else ((mark.x, mark.y, mark.width, mark.height),)
    return [corner for x, y, width, height in sides for corner in ((x, y), (x + width, y + height))]


def _elements(mark: Mark) -> list[_Element]:
    if isinstance(mark, Rectangle):
        return [_rectangle(mark)]
    if isinstance(mark, Boxes):
        return [_boxes(mark)]
    if isinstance(mark, Line):
        return [_line(mark), *([_path(_head(mark))] if mark.arrow else [])]
    if isinstance(mark, Path):
        return [_path(mark)]
    if isinstance(mark, Text):
        return [_text(mark)]
    return [_Element("g", "", "", _title(mark.title) + _drawn(mark.marks))]


def _rectangle(mark: Rectangle) -> _Element:
    sides = _attributes(x=mark.x, y=mark.y, width=max(mark.width, 0.0), height=max(mark.height, 0.0))
    radius = _attributes(rx=mark.radius) if mark.radius else ""
    look = _painted(mark.fill, mark.stroke) + _pen(mark.stroke, mark.stroke_width, mark.dashed)
    return _Element("rect", sides + radius + _see_through(mark.opacity), look, _title(mark.title))


def _boxes(mark: Boxes) -> _Element:
    """Returns one element for all boxes, a fifth of the size of single ones."""
    numbers = (tuple(map(_number, sides)) for sides in mark.sides)
    shape = "".join(f"M{x} {y}h{width}v{height}h-{width}z" for x, y, width, height in numbers)
    return _Element("path", f' d="{shape}"', _painted(mark.fill, ""))


def _line(mark: Line) -> _Element:
    ends = _attributes(x1=mark.x1, y1=mark.y1, x2=mark.x2, y2=mark.y2)
    return _Element("line", ends, _painted("", mark.stroke) + _pen(mark.stroke, mark.width, mark.dashed))


def _head(mark: Line) -> Path:
    """Returns the head of an arrow."""
    angle = atan2(mark.y2 - mark.y1, mark.x2 - mark.x1)
    sides = [(mark.x2 - _HEAD * cos(angle + turn), mark.y2 - _HEAD * sin(angle + turn)) for turn in (-pi / 7, pi / 7)]
    return Path(((mark.x2, mark.y2), *sides), mark.stroke, closed=True)


def _path(mark: Path) -> _Element:
    points = "L".join(f"{_number(x)} {_number(y)}" for x, y in mark.points)
    shape = f' d="M{points}{"Z" if mark.closed else ""}"'
    look = _painted(mark.fill, mark.stroke) + _pen(mark.stroke, mark.stroke_width, mark.dashed)
    return _Element("path", shape + _see_through(mark.opacity), look, _title(mark.title))


def _text(mark: Text) -> _Element:
    width = f' textLength="{_number(mark.width)}" lengthAdjust="spacingAndGlyphs"' if mark.words else ""
    weight = f' font-weight="{mark.weight}"' if mark.weight != 400 else ""
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    family = ' font-family="monospace"' if mark.mono else ""  # the style sheet names better fonts
    halo = _pen("paper", 4, False) + ' paint-order="stroke" stroke-linejoin="round"' if mark.halo else ""
    letters = _attributes(font__size=mark.size) + weight + anchor + family
    look = letters + _painted(mark.fill, "paper" if mark.halo else "") + halo
    return _Element("text", _attributes(x=mark.x, y=mark.y) + width, look, _escaped(mark.words))


def _painted(fill: str, stroke: str) -> str:
    """Returns the colours on light paper, and the classes that set others on dark paper."""
    for token in ("" if fill == "hatch" else fill, stroke):
        if token and token not in TOKENS:
            raise ValueError(f"Unknown colour {token!r}. Expected one of {', '.join(TOKENS)}.")
    names = [f"{letter}-{token}" for letter, token in (("f", fill), ("s", stroke)) if token in TOKENS]
    classes = f' class="{" ".join(names)}"' if names else ""
    inside = "url(#nbtf-hatch)" if fill == "hatch" else TOKENS[fill].light if fill else "none"
    outline = f' stroke="{TOKENS[stroke].light}"' if stroke else ""
    return f'{classes} fill="{inside}"{outline}'


def _pen(stroke: str, width: float, dashed: bool) -> str:
    if not stroke:
        return ""
    thickness = _attributes(stroke__width=width) if width != 1 else ""
    return thickness + (' stroke-dasharray="4 3"' if dashed else "")


def _see_through(opacity: float) -> str:
    return f' opacity="{round(opacity, 2):g}"' if opacity != 1 else ""


def _title(words: str) -> str:
    return f"<title>{_escaped(words)}</title>" if words else ""


def _attributes(**numbers: float) -> str:
    return "".join(f' {name.replace("__", "-")}="{_number(number)}"' for name, number in numbers.items())


def _number(number: float) -> str:
    if not isfinite(number):
        raise ValueError(f"Expected a number as a coordinate, got {number}.")
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")


def _escaped(words: str) -> str:
    """Returns text escaped for XML texts and attributes; characters that XML cannot represent are replaced."""
    return "".join(_letters(words))


_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": " ", "\r": " ", "\t": " "}


def _letters(words: Iterable[str]) -> Iterator[str]:
    for letter in words:
        code = ord(letter)
        legal = code >= 0x20 and not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
        yield _ESCAPES.get(letter, letter if legal else "\ufffd")
