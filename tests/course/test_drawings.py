"""Does each lesson open with its current drawing, in the lesson's language, and is the drawing legible?"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("babel", reason='needs the extra "lab"')
nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

from nbtf.cli.images import images_of  # noqa: E402
from nbtf.notebook.stills.svg import to_svg  # noqa: E402
from tests.course.drawings import files  # noqa: E402
from tests.course.scenarios import NOTEBOOKS, lessons  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
ALT = re.compile(r"!\[([^\]]+)\]\(drawings/[^)]+\)")
LARGEST, SMALLEST_TEXT = 8192, 11.0
ELEMENTS = {"svg", "title", "style", "g", "rect", "text", "path", "line"}

each_language = pytest.mark.parametrize("language", files.LANGUAGES)
each_lesson = pytest.mark.parametrize("lesson", [path.stem for path in lessons()])


def notebook_of(lesson: str, language: str) -> Path:
    return files.file_of(lesson, language).parents[1] / f"{lesson}.ipynb"


def root_of(lesson: str, language: str) -> ET.Element:
    return ungrouped(ET.parse(files.file_of(lesson, language)).getroot())


def ungrouped(root: ET.Element) -> ET.Element:
    """Returns a drawing with the attributes of its groups moved to the elements inside."""
    for group in root.iter(f"{SVG}g"):
        for element in group.iter():
            element.attrib.update({**group.attrib, **element.attrib})
    return root


def box(text: ET.Element) -> tuple[float, float, float, float]:
    """Returns the left, top, right and bottom edges of a text."""
    x, y, size, width = (float(text.attrib[name]) for name in ("x", "y", "font-size", "textLength"))
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
    return left, y - 0.8 * size, left + width, y + 0.2 * size


@each_language
@each_lesson
def test_a_lesson_opens_with_its_drawing(lesson: str, language: str) -> None:
    notebook = nbformat.read(notebook_of(lesson, language), as_version=4)
    first = next(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    alternatives = ALT.findall(first)

    assert images_of(notebook) == [files.link_of(lesson)]
    assert [len(words) > 20 for words in alternatives] == [True]


@each_language
@each_lesson
def test_a_drawing_is_the_one_that_is_made(lesson: str, language: str) -> None:
    stored = files.file_of(lesson, language).read_text(encoding="utf-8")

    assert stored == files.svg(lesson, language), "run python -m tests.course.drawings"


def test_there_are_no_others() -> None:
    expected = {files.file_of(lesson, language) for lesson in files.DRAWINGS for language in files.LANGUAGES}

    assert set(NOTEBOOKS.rglob("*.svg")) == expected
    assert sorted(files.DRAWINGS) == [path.stem for path in lessons()]


@each_language
@each_lesson
def test_a_drawing_is_small_and_says_what_it_shows(lesson: str, language: str) -> None:
    root = root_of(lesson, language)
    title = root.findtext(f"{SVG}title")

    assert files.file_of(lesson, language).stat().st_size <= LARGEST
    assert root.attrib["role"] == "img"
    assert title
    assert root.attrib["aria-label"] == title


@each_language
@each_lesson
def test_a_drawing_is_inert_and_has_its_colours_without_a_style(lesson: str, language: str) -> None:
    root = root_of(lesson, language)
    names = {name.lower() for element in root.iter() for name in element.attrib}
    coloured = [element for element in root.iter() if element.get("class", "").startswith(("f-", "s-"))]

    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= set(
        "svg title style g rect text path line".split()
    )
    assert [name for name in names if name.startswith("on") or name.endswith("href")] == []
    assert [element.attrib for element in coloured if "fill" not in element.attrib] == []
    assert "prefers-color-scheme:dark" in (root.findtext(f"{SVG}style") or "")


def too_small(root: ET.Element) -> list[str | None]:
    return [text.text for text in root.iter(f"{SVG}text") if float(text.attrib["font-size"]) < SMALLEST_TEXT]


def outside(root: ET.Element) -> list[str | None]:
    """Returns the texts that extend beyond the drawing."""
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [(text.text, box(text)) for text in root.iter(f"{SVG}text")]
    return [words for words, b in boxes if b[0] < 8 or b[1] < 8 or b[2] > width - 8 or b[3] > height - 8]


def touching(root: ET.Element) -> list[tuple[str | None, str | None]]:
    """Returns the pairs of texts that overlap."""
    boxes = [(text.text, box(text)) for text in root.iter(f"{SVG}text")]
    return [
        (words, others)
        for (words, a), (others, b) in itertools.combinations(boxes, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


def cut(root: ET.Element) -> list[str | None]:
    """Returns the texts that are wider than the box in whose middle they are."""
    areas = [[float(area.attrib[name]) for name in ("x", "y", "width", "height")] for area in root.iter(f"{SVG}rect")]
    return [
        text.text
        for text in root.iter(f"{SVG}text")
        for left, top, right, bottom in [box(text)]
        for x, y, width, height in areas
        if x < (left + right) / 2 < x + width and y < (top + bottom) / 2 < y + height
        if left < x + 2 or right > x + width - 2
    ]


@each_language
@each_lesson
def test_texts_are_legible(lesson: str, language: str) -> None:
    root = root_of(lesson, language)

    assert list(root.iter(f"{SVG}text"))
    assert too_small(root) == []
    assert outside(root) == []
    assert touching(root) == []
    assert cut(root) == []


@each_lesson
def test_texts_that_are_too_long_would_be_noticed(lesson: str) -> None:
    picture = files.DRAWINGS[lesson](lambda words: f"{words} {words} {words}")
    root = ungrouped(ET.fromstring(to_svg(picture, narrow=False)))

    assert outside(root) + cut(root)


@pytest.mark.parametrize("language", [language for language in files.LANGUAGES if language != "en"])
def test_words_are_translated(language: str) -> None:
    say = files.speaker(language)

    assert [text for text in files.english() if say(text) == text] == []
