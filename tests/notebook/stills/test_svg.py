"""Is the SVG of a picture well formed, safe, and complete without its style?"""

from __future__ import annotations

import re
from math import inf, nan
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._runtime.phases import PHASES
from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.marks import Boxes, Group, Line, Mark, Path, Picture, Rectangle, Text, texts_of
from nbtf.notebook.stills.memory_bands import OF_GROUP
from nbtf.notebook.stills.palette import FILLS, OF_PHASE, TOKENS, text_on
from nbtf.notebook.stills.svg import to_svg

MARKS: tuple[Mark, ...] = (
    Rectangle(1.26, 2, 30, 40, "fwd", "cpy", radius=2, opacity=0.5, dashed=True, title="a block"),
    Rectangle(0, 0, 10, 10, "hatch"),
    Group((Line(0, 0, 10, 20, "soft", arrow=True), Path(((0, 0), (5, 5)), stroke="cpy", title="a path")), "a group"),
    Text(4, 14, "MatMul", "on-fwd", weight=600, mono=True, halo=True),
)


def parsed(*marks: Mark, title: str = "A picture") -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(Picture(100, 50, title, marks)))


def named(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def test_picture_says_what_it_is() -> None:
    root = parsed(*MARKS, title='"Bytes" & <times>')

    assert ("img", '"Bytes" & <times>') == (root.get("role"), root.get("aria-label"))
    assert ['"Bytes" & <times>', "a block", "a group", "a path"] == [title.text for title in named(root, "title")]


@given(st.text())
def test_any_words_can_be_drawn(words: str) -> None:
    root = parsed(Text(0, 0, words), Group((), words), title=words)

    illegal = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
    expected = illegal.sub("\ufffd", re.sub("[\n\r\t]", " ", words))
    assert expected == (named(root, "text")[0].text or "") == root.get("aria-label")


def test_without_the_style_the_light_picture_is_left() -> None:
    root = parsed(*MARKS)
    colours = {colour.light for colour in TOKENS.values()} | {"none", "url(#nbtf-hatch)"}

    painted = [mark for name in ("rect", "path", "line", "text") for mark in named(root, name)]
    assert len(painted) == 8
    assert {mark.get("fill") for mark in painted} <= colours
    assert TOKENS["fwd"].light in {mark.get("fill") for mark in painted}


@pytest.mark.parametrize("token", TOKENS)
def test_every_token_has_its_dark_colour_where_it_is_used(token: str) -> None:
    svg = to_svg(Picture(9, 9, "", (Rectangle(0, 0, 1, 1, token, token),)))

    assert f".f-{token}{{fill:{TOKENS[token].dark}}}" in svg
    assert f".s-{token}{{stroke:{TOKENS[token].dark}}}" in svg
    assert f'class="f-{token} s-{token}" fill="{TOKENS[token].light}" stroke="{TOKENS[token].light}"' in svg


def test_boxes_of_a_colour_are_one_element() -> None:
    shape = named(parsed(Boxes(((1, 2, 3, 4), (5.55, 6, 7, 8)), "bwd")), "path")[0]

    assert ("M1 2h3v4h-3zM5.5 6h7v8h-7z", TOKENS["bwd"].light) == (shape.get("d"), shape.get("fill"))


def test_nothing_runs_and_nothing_is_loaded() -> None:
    svg = to_svg(Picture(9, 9, "<script>", MARKS))

    assert [] == re.findall(r"<script|\bon\w+=|href|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg\")", svg)


def test_texts_say_how_wide_they_are() -> None:
    text = named(parsed(*MARKS), "text")[0]

    assert text.get("textLength") == f"{width_of('MatMul', 12, 600, mono=True):.1f}"


@pytest.mark.parametrize(
    "mark", [Rectangle(0, 0, 1, 1, "blue"), Line(0, 0, 1, nan), Text(inf, 0, ""), Line(0, 0, 1, 1, "hatch")]
)
def test_what_cannot_be_drawn_is_refused(mark: Mark) -> None:
    with pytest.raises(ValueError, match=r"Unknown colour|Expected a number"):
        parsed(mark)


@pytest.mark.parametrize("side", ["light", "dark"])
def test_texts_can_be_read_on_every_fill(side: str) -> None:
    """By the ratios of WCAG 2: 4.5 for words, 3 for shapes."""
    paper = getattr(TOKENS["paper"], side)
    contrasts = {name: contrast(getattr(fill, side), paper) for name, fill in FILLS.items() if name != "cpyf"}
    texts = {name: contrast(getattr(fill, side), getattr(TOKENS[text_on(name)], side)) for name, fill in FILLS.items()}

    assert [] == [name for name, ratio in contrasts.items() if ratio < 3]
    assert [] == [name for name, ratio in texts.items() if ratio < 4.5]


def contrast(first: str, second: str) -> float:
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_phases_and_holders_share_their_colours() -> None:
    pairs = [
        ("forward", "activations"),
        ("backward", "gradients"),
        ("update", "optimizer slots"),
        ("input", "Python names"),
    ]

    assert set(OF_PHASE) == {*PHASES, ""}
    assert [OF_PHASE[phase] for phase, _ in pairs] == [OF_GROUP[holder] for _, holder in pairs]


@given(st.text(min_size=1), st.floats(0, 200))
def test_fitted_text_fits_and_is_never_a_stump(words: str, width: float) -> None:
    shorter = fitted(words, width)

    assert width_of(shorter) <= width
    assert shorter in ("", words) or (len(shorter) > 4 and words.startswith(shorter[:-1]))


def test_texts_are_found_inside_groups() -> None:
    inner, outer = Text(0, 0, "inner"), Text(0, 0, "outer", anchor="end")

    assert [inner, outer] == texts_of((Group((Group((inner,)),)), outer))
    assert (outer.begin, inner.begin) == (-outer.width, 0)


def looks_of(element: ElementTree.Element, outer: dict[str, str], order: list[tuple[str, dict[str, str]]]) -> None:
    """Adds the elements that are painted, in their order, with what groups around them say."""
    look = outer | {name: value for name, value in element.attrib.items() if name not in ("class", "textLength")}
    for child in element:
        looks_of(child, look, order)
    name = element.tag.rpartition("}")[2]
    if name in ("rect", "text"):
        order.append((name, look))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from(sorted(FILLS))), max_size=30))
def test_groups_keep_every_look_and_the_order_of_what_overlaps(boxes: list[tuple[int, int, str]]) -> None:
    marks = [Rectangle(x, y, 7 + number / 10, 5, fill) for number, (x, y, fill) in enumerate(boxes)]
    order: list[tuple[str, dict[str, str]]] = []

    looks_of(parsed(*marks), {}, order)

    drawn = [(float(each["x"]), float(each["y"]), float(each["width"]), each["fill"]) for _, each in order[1:]]
    expected = [(mark.x, mark.y, mark.width, TOKENS[mark.fill].light) for mark in marks]
    assert sorted(expected) == sorted(drawn)
    for at, (x, y, width, _) in enumerate(expected):
        for other in expected[at + 1 :]:
            if x < other[0] + other[2] and other[0] < x + width and abs(y - other[1]) < 5:
                assert drawn.index(expected[at]) < drawn.index(other)


def test_what_texts_have_in_common_is_said_once() -> None:
    texts = [Text(4, 20 * row, f"MatMul {row}", "soft", mono=True) for row in range(50)]
    blocks = [Rectangle(200, 20 * row, 30, 10, "fwd", "paper", 0.8) for row in range(50)]

    svg = to_svg(Picture(100, 50, "", tuple(mark for pair in zip(texts, blocks, strict=True) for mark in pair)))

    assert [1, 1, 1] == [svg.count(each) for each in (' font-family="monospace"', ' font-size="12"', 'class="f-fwd ')]
