"""Does each question come before its cell, and are its answer and the guide's mistakes folded?"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.course.scenarios import lessons

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

from nbtf.cli.languages import translation_of  # noqa: E402
from nbtf.notebook.checks.questions import QUESTIONS, judge_choice  # noqa: E402
from nbtf.notebook.magics.check import exercise_names  # noqa: E402

ASKED = {"": "**Predict:**", "ja": "**予想**", "zh_CN": "**预测**"}
ANSWER = {"": "Answer", "ja": "答え", "zh_CN": "答案"}
SLIP = {"": r"What the (?:guides?|notes) got wrong: ", "ja": "(?:ガイド|メモ)の間違い", "zh_CN": "(?:指南|笔记)的错误"}
OPEN_SLIP = re.compile(r"spot the error|間違い探し|找错", re.IGNORECASE)
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)

each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
each_language = pytest.mark.parametrize("language", list(ASKED), ids=["en", "ja", "zh_CN"])


def cells_of(path: Path, language: str = "") -> list[Any]:
    return nbformat.read(translation_of(path, language) if language else path, as_version=4).cells


def questions(cells: list[Any]) -> list[tuple[Any, Any, list[Any], Any]]:
    """Returns each question's text, the cell for its choice, the cells with the result, and the text after them."""
    asked: list[tuple[Any, Any, list[Any], Any]] = []
    for index, cell in enumerate(cells):
        if "choice" in cell.metadata.get("nbtf", {}):
            after = next(i for i in range(index, len(cells)) if cells[i].cell_type == "markdown")
            asked.append((cells[index - 1], cell, cells[index + 1 : after], cells[after]))
    return asked


@each_language
@each_lesson
def test_a_choice_stands_below_each_question(path: Path, language: str) -> None:
    cells = cells_of(path, language)
    texts = [cell.source for cell in cells if cell.cell_type == "markdown" and ASKED[language] in cell.source]

    assert [text.count(ASKED[language]) for text in texts] == [1] * len(texts)
    assert texts == [text.source for text, *_ in questions(cells)]


@each_language
@each_lesson
def test_the_letters_to_choose_from_are_those_of_the_check(path: Path, language: str) -> None:
    for text, choice, *_ in questions(cells_of(path, language)):
        question = text.source[text.source.index(ASKED[language]) :]
        name = choice.metadata["nbtf"]["choice"]

        assert choice.source == f"%check {name}"
        assert "".join(re.findall(r"\((\w)\)", question)) == QUESTIONS[name].lower(), name


@each_lesson
def test_what_decides_is_run_before_it_is_seen(path: Path) -> None:
    for _, choice, deciding, _ in questions(cells_of(path)):
        shown = [cell for cell in deciding if cell.outputs]

        assert shown, choice.source
        assert [cell.metadata.get("jupyter", {}).get("outputs_hidden") for cell in shown] == [True] * len(shown)
        assert [cell.metadata.get("collapsed") for cell in shown] == [True] * len(shown)


@each_language
@each_lesson
def test_the_answer_is_folded_and_is_the_right_one(path: Path, language: str) -> None:
    for _, choice, _, after in questions(cells_of(path, language)):
        letters = QUESTIONS[choice.metadata["nbtf"]["choice"]]
        right = next(letter.lower() for letter in letters if letter.isupper())
        head = f"<details><summary>{ANSWER[language]}</summary>\n\n({right})"

        assert after.source.startswith(head), choice.source
        assert not re.search(r"(?:\A|\n\n)\(\w\)", FOLDED.sub("", after.source))


@each_lesson
def test_no_choice_is_recorded(path: Path) -> None:
    recorded = ["".join(output.text for output in choice.outputs) for _, choice, *_ in questions(cells_of(path))]

    assert [text for text in recorded if not text.startswith("Your prediction: ")] == []


def test_each_question_is_asked_once() -> None:
    names = Counter(
        choice.metadata["nbtf"]["choice"] for path in lessons() for _, choice, *_ in questions(cells_of(path))
    )

    assert names == Counter(QUESTIONS.keys())
    assert set(names) & set(exercise_names()) == set()


@each_language
@each_lesson
def test_what_a_guide_got_wrong_is_folded_into_a_sentence(path: Path, language: str) -> None:
    for cell in cells_of(path, language):
        if cell.cell_type != "markdown":
            continue
        slips = [words for words in SUMMARY.findall(cell.source) if re.match(SLIP[language], words)]

        assert not OPEN_SLIP.search(cell.source)
        assert [
            words
            for words in slips
            if len(words) > 120 or not re.fullmatch(r"[^.。]*(?:2\.0)?[^.。]*[.。]", _plain(words))
        ] == []
        assert not re.search(SLIP[language], FOLDED.sub("", cell.source))


def _plain(words: str) -> str:
    return re.sub(r"<code>.*?</code>", "code", words)


@each_language
@each_lesson
def test_what_is_folded_can_be_unfolded(path: Path, language: str) -> None:
    for cell in cells_of(path, language):
        if cell.cell_type == "markdown":
            marks = re.findall(r"</?details>", cell.source)

            assert marks == ["<details>", "</details>"] * (len(marks) // 2)
            assert "</summary>\n\n" in cell.source or not marks  # without a blank line, the rest is not Markdown


def test_slips_of_the_guides_are_told() -> None:
    assert len([path for path in lessons() if any(_has_slip(cell) for cell in cells_of(path))]) >= 9


@pytest.mark.parametrize("path", lessons()[:9], ids=lambda path: path.stem)
def test_slips_of_the_guides_are_an_appendix(path: Path) -> None:
    cells = cells_of(path)

    assert [cell.id for cell in cells if _has_slip(cell)] in ([], [cells[-1].id])
    assert len(re.findall(rf"<summary>{SLIP['']}", cells[-1].source)) <= 1


def _has_slip(cell: Any) -> bool:
    return cell.cell_type == "markdown" and bool(re.search(SLIP[""], cell.source))


def test_no_letter_is_right_much_more_often_than_another() -> None:
    right = Counter(letter for letters in QUESTIONS.values() for letter in letters if letter.isupper())

    assert set("ABC") == set(right)
    assert max(right.values()) <= 2 * min(right.values())


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_a_single_letter_is_right(name: str) -> None:
    letters = QUESTIONS[name].lower()

    assert letters == "abc"[: len(letters)]
    assert [judge_choice(name, letter).right for letter in letters].count(True) == 1
