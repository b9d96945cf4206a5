"""Are the answers of `%check` in the language of the lesson, when printed and when stored?"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from nbtf.cli import languages
from nbtf.notebook import catalogue, checks
from nbtf.notebook.checks.questions import QUESTIONS, judge_choice
from nbtf.notebook.checks.wording import in_language, listed, phrase
from tests.course.scenarios import lessons
from tests.notebook.conftest import Shell

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

FOLDER = Path(checks.__file__).parent
TEXTS: dict[str, str] = catalogue.read(catalogue.ENGLISH)["checks"]
VALUES = {"n": 2, "letter": "b", "device": "GPU:1", "op": "MatMul", "first": "a", "last": "b"}
LISTS = ("devices", "expected", "got", "names", "places", "shares")
PARTS = ("comma", "sentences", "right", "notYet", "shares")
"""Texts that join others."""

each_language = pytest.mark.parametrize("language", catalogue.LANGUAGES)


@each_language
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in PARTS])
def test_a_printed_answer_is_found_again_and_translated(
    monkeypatch: pytest.MonkeyPatch, language: str, name: str
) -> None:
    keys = re.findall(r"\{(\w+)\}", TEXTS[name])

    def answer() -> str:
        several = dict.fromkeys(LISTS, listed(["⟨one⟩", "⟨two⟩"]))
        values = {key: (VALUES | several).get(key, f"⟨{key}⟩") for key in keys}
        return phrase("notYet", text=phrase(name, **values))

    english = answer()
    monkeypatch.setenv(catalogue.VARIABLE, language)

    assert answer() == in_language(english, language)


@each_language
def test_two_sentences_and_a_list_are_translated(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    def answer() -> str:
        places = phrase("comma").join([phrase("opOn", op="MatMul", device="GPU:0")] * 2)
        report = phrase("placesAndResult", places=places, value=[[44.0, 56.0]])
        expected = phrase("samePlaces", places=phrase("opOn", op="AddN", device="CPU:0"))
        return phrase("notYet", text=phrase("sentences", first=report, second=expected))

    english = answer()
    monkeypatch.setenv(catalogue.VARIABLE, language)

    assert answer() == in_language(english, language)


@each_language
def test_a_check_answers_in_the_language_of_the_lesson(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    notebook = tmp_path / "lesson.ipynb"
    notebook.write_text(f'{{"metadata": {{"nbtf": {{"language": "{language}"}}}}}}')
    monkeypatch.delenv(catalogue.VARIABLE, raising=False)
    monkeypatch.setenv(catalogue.NOTEBOOK_VARIABLE, str(notebook))

    right = catalogue.read(language)["checks"]["right"][1].partition("{")[0]

    assert shell.run("%check four_gpus b").out.startswith(right)


@each_language
@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_all_stored_answers_of_a_lesson_are_translated(path: Path, language: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    languages.answers_translated(notebook, language)
    checks = [cell for cell in notebook.cells if {"check", "choice"} & set(cell.metadata.get("nbtf", {}))]
    texts = catalogue.read(language)["checks"]
    begins = tuple(texts[name][1].partition("{")[0] for name in ("notYet", "choose"))

    for cell in checks:
        answers = "".join(output.text for output in cell.outputs).splitlines()
        assert [line for line in answers if line.startswith(("Not yet", "Your prediction"))] == []
        assert any(line.startswith(begins) for line in answers)


@each_language
@pytest.mark.parametrize("name", sorted(QUESTIONS))
@pytest.mark.parametrize("choice", ["", "a", "b"])
def test_no_english_is_left_in_the_answer_to_a_choice(language: str, name: str, choice: str) -> None:
    translated = in_language(str(judge_choice(name, choice)), language)

    assert re.findall(r"[a-z]+", translated.replace(name, "").replace("%check", "").replace(choice or "a", "")) in (
        [],
        ["b"],
        ["b", "c"],
        ["c"],
    )


@pytest.mark.parametrize("text", ["", "no answer", "12 on", "x = 1\ny = 2", "Not a list, or a tensor."])
@each_language
def test_other_text_stays_as_it_is(language: str, text: str) -> None:
    assert text == in_language(text, language)


def test_english_stays_english() -> None:
    assert "Right: all five." == in_language("Right: all five.", "en")


def test_every_sentence_is_in_the_catalogue() -> None:
    written = [
        (file.name, text.value)
        for file in sorted(FOLDER.glob("*.py"))
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("Verdict", "AnswerError")
        for text in ast.walk(call)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and re.search("[a-z] | [a-z]", text.value)
    ]

    assert [] == written, "add the text to static/words/*.json, section checks, and use phrase()"
