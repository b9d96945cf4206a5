"""Do the stored pictures of the lessons agree with the text next to them?

Texts quote pictures in italics. A quotation that contains a figure must appear in a picture next to the text, and each
picture must be quoted by a text next to it. This includes the picture that a live view leaves at the end of a run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from nbtf.cli.languages import translation_of
from tests.course.scenarios import lessons

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

SVG = "image/svg+xml"
QUOTATION = re.compile(r"(?<!\*)\*(?!\*)([^*\n]*\d[^*\n]*)(?<!\*)\*(?!\*)")

FACTS = re.compile(r"\*[^*]+\*")
"""A paragraph that is entirely in italics: minutes and machine, or a source."""


def words(svg: str) -> list[str]:
    """Returns all texts of a picture."""
    return [text.strip() for text in ET.fromstring(svg).itertext() if text.strip()]


def pictures(cell: Any) -> list[list[str]]:
    """Returns the texts of each picture that a cell has stored."""
    return [words(output["data"][SVG]) for output in cell.get("outputs", []) if SVG in output.get("data", {})]


def unlike(cells: list[Any]) -> list[str]:
    """Returns the problems: pictures that no text quotes, and quotations that no neighbouring picture contains."""
    texts = [index for index, cell in enumerate(cells) if cell.cell_type == "markdown"]
    beside: dict[int, list[list[str]]] = {index: [] for index in texts}
    problems: list[str] = []
    for before, after in zip(texts, [*texts[1:], len(cells)], strict=True):
        drawn = [picture for cell in cells[before + 1 : after] for picture in pictures(cell)]
        for text in (before, after):
            beside.get(text, []).extend(drawn)
        quoted = [quotation for text in (before, after) if text in beside for quotation in _quoted(cells[text])]
        problems += [f"no text quotes {p[0]!r}" for p in drawn if not any(_says(p, each) for each in quoted)]
    for text, drawn in beside.items():
        if drawn:
            problems += [f"no picture says {q!r}" for q in _quoted(cells[text]) if not any(_says(p, q) for p in drawn)]
    return problems


def _quoted(cell: Any) -> list[str]:
    paragraphs = cell.source.split("\n\n")
    return [words for text in paragraphs if not FACTS.fullmatch(text) for words in QUOTATION.findall(text)]


def _says(picture: list[str], quotation: str) -> bool:
    return any(re.search(rf"(?<![\d.,]){re.escape(quotation)}(?![\d.,]*\d)", text) for text in picture)


ILLUSTRATED = [path for path in lessons() if any(map(pictures, nbformat.read(path, as_version=4).cells))]


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_picture_says_what_the_text_beside_it_says(path: Path) -> None:
    assert unlike(nbformat.read(path, as_version=4).cells) == []


def test_most_lessons_have_a_picture() -> None:
    without = [path.stem[:2] for path in lessons() if path not in ILLUSTRATED]

    assert without == ["01", "07"]  # these two use lists and numbers, which tables show


@pytest.mark.parametrize("path", ILLUSTRATED, ids=lambda path: path.stem)
def test_a_picture_with_other_figures_is_noticed(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    for cell in cells:
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                output["data"][SVG] = re.sub(r">([^<]*\d[^<]*)<", ">77 PiB<", output["data"][SVG])

    assert unlike(cells) != []


@pytest.mark.parametrize("language", ["ja", "zh_CN"])
@pytest.mark.parametrize("path", ILLUSTRATED, ids=lambda path: path.stem)
def test_a_translation_quotes_the_same_figures(path: Path, language: str) -> None:
    original = nbformat.read(path, as_version=4).cells
    translation = nbformat.read(translation_of(path, language), as_version=4).cells
    drawn = [picture for cell in original for picture in pictures(cell)]

    for ours, theirs in zip(original, translation, strict=True):
        if ours.cell_type == "markdown":
            quoted = [quotation for quotation in _quoted(ours) if any(_says(picture, quotation) for picture in drawn)]
            assert [quotation for quotation in quoted if quotation not in theirs.source] == []
