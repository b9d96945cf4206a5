"""Are the translated lessons complete, up to date, and the same in code and outputs?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.course.scenarios import NOTEBOOKS, lessons

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
translation = pytest.importorskip("nbtf.cli.translation", reason='needs the extra "lab"')

from nbtf.cli.languages import catalogue_of, differs, language_of, translation_of  # noqa: E402

LANGUAGES = ("zh_CN", "ja")
each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@each_language
def test_every_lesson_is_there(language: str) -> None:
    assert [path.name for path in sorted((NOTEBOOKS / language).glob("*.ipynb"))] == [path.name for path in lessons()]


@each_language
@each_lesson
def test_no_text_is_untranslated_or_stale(path: Path, language: str) -> None:
    lacks = translation.missing(translation.read(catalogue_of(path, language)), read(path))

    assert lacks == ([], [])


@each_language
@each_lesson
def test_code_and_outputs_are_those_of_the_original(path: Path, language: str) -> None:
    assert not differs(read(path), read(translation_of(path, language)))


@each_language
@each_lesson
def test_the_notebook_is_the_one_that_its_catalogue_makes(path: Path, language: str) -> None:
    made = translation.translated(read(path), translation.read(catalogue_of(path, language)), language)

    assert [cell.source for cell in made.cells] == [cell.source for cell in read(translation_of(path, language)).cells]


@each_language
@each_lesson
def test_the_notebook_says_its_language(path: Path, language: str) -> None:
    assert language_of(read(translation_of(path, language))) == language.replace("_", "-")


@each_language
@each_lesson
def test_links_lead_to_files(path: Path, language: str) -> None:
    folder = translation_of(path, language).parent
    texts = [cell.source for cell in read(translation_of(path, language)).cells if cell.cell_type == "markdown"]

    linked = {target for text in texts for target in _targets(text)}

    assert {target for target in linked if not (folder / target).exists()} == set()


@each_lesson
def test_links_of_originals_lead_to_files(path: Path) -> None:
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]

    assert {target for text in texts for target in _targets(text) if not (NOTEBOOKS / target).exists()} == set()


def _targets(text: str) -> list[str]:
    targets = [part.partition(")")[0] for part in text.split("](")[1:]]
    return [target for target in targets if target.endswith(".ipynb") and ":" not in target]
