"""Do the live views say everything in every language, in the words that were agreed on?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf._runtime.placement import KINDS
from nbtf.notebook import catalogue
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills import esm
from tests.notebook.conftest import Shell

PACKAGE = Path(esm.__file__).parents[2]
PROGRAM = "".join(file.read_text(encoding="utf-8") for file in (PACKAGE / "notebook" / "static").glob("*.js"))
STILLS = "".join(file.read_text(encoding="utf-8") for file in (PACKAGE / "notebook" / "stills").glob("*.py"))
STILLS += "".join(
    file.read_text(encoding="utf-8")
    for folder in ("snapshots", "prediction", "views")
    for file in (PACKAGE / "notebook" / folder).glob("*.py")
)
STILLS += (PACKAGE / "notebook" / "static" / "palette.json").read_text(encoding="utf-8")
CHECKS = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.glob("notebook/checks/*.py"))
CHECKS += (PACKAGE / "notebook" / "magics" / "check.py").read_text(encoding="utf-8")
IN_STILLS = frozenset(re.findall(r"\bwords\(\"(\w+)\"\)", STILLS))
ERRORS = "".join(
    file.read_text(encoding="utf-8")
    for folder in ("_error_texts", "notebook/error_reports", "notebook/magics")
    for file in PACKAGE.glob(f"{folder}/*.py")
)
EXPLANATIONS = {"explain", "explainFigures", "explainSums", "explainCauses", "explainActions"}
ENGLISH = catalogue.read(catalogue.ENGLISH)
TOLD = ("reasons", "places", "cards")
"""Sections with what Python says."""
NOT_TRANSLATED = re.compile(r"\{\w+\}|GPU|°C|\bW\b|\bms\b|[×→… ]")
NAMES = re.compile(r"\{\w+\}")
CODE = re.compile(r"\btf\.\w+")

Texts = list[tuple[str, str, str]]


@pytest.fixture(params=catalogue.LANGUAGES)
def translated(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A catalogue in another language."""
    return catalogue.read(request.param)


def texts(translated: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Where, English, translation; the columns of tables one by one."""
    for path, (english, other) in catalogue.leaves(without_terms(translated)):
        both = zip(english, other, strict=True) if isinstance(english, list) else [(english, other)]
        yield from ((".".join(path), *one) for one in both)


def without_terms(texts: dict[str, Any]) -> dict[str, Any]:
    return {name: section for name, section in texts.items() if name != "terms"}


def test_every_key_exists_in_every_language(translated: dict[str, Any]) -> None:
    expected = [path for path, _ in catalogue.leaves(without_terms(ENGLISH))]

    assert expected == [path for path, _ in catalogue.leaves(without_terms(translated))]


def test_no_translation_is_of_another_text_than_the_english_one(translated: dict[str, Any]) -> None:
    expected = dict(catalogue.leaves(without_terms(ENGLISH)))

    assert expected == {path: both[0] for path, both in catalogue.leaves(without_terms(translated))}


def test_every_text_is_translated(translated: dict[str, Any]) -> None:
    english = [
        (where, other)
        for where, original, other in texts(translated)
        if re.search(r"[^\W\d_]", NOT_TRANSLATED.sub("", original)) and other.isascii()
    ]

    assert [] == english


def test_translations_fill_in_the_same(translated: dict[str, Any]) -> None:
    differ = [
        where for where, english, other in texts(translated) if set(NAMES.findall(english)) != set(NAMES.findall(other))
    ]

    assert [] == differ


ALWAYS_SEVERAL = {
    *("replay.stored", "map.card", "memory.card", "memory.freeInMany", "deviceMap.copiesTimes", "deviceMap.runsTimes"),
    *("explain.headingTimes", "explain.undecided"),
}


def test_english_counts_one_thing_in_the_singular() -> None:
    """Plurals after a number are in brackets, `{n} op[s]`, but where there are never less than two."""
    plural = re.compile(
        r"\{(?:n|ops|copies|regions|constants|hosts|heard|pieces|shown)\} (?:[a-z]+ )?[a-zA-Z]{2,}s\b(?!\[)"
    )

    fixed = {".".join(path) for path, text in catalogue.leaves(without_terms(ENGLISH)) if plural.search(str(text))}

    assert ALWAYS_SEVERAL == fixed


def test_terms_are_the_same_in_every_language(translated: dict[str, Any]) -> None:
    assert ENGLISH["terms"] == list(translated["terms"])


def test_translations_use_the_terms(translated: dict[str, Any]) -> None:
    """A term is looked for, in the singular, after the longer ones that it is part of."""
    missing: list[tuple[str, str]] = []
    for where, english, other in texts(translated):
        ones = dict.fromkeys(re.findall(r"\{(\w+)\}", english), 1)
        left = CODE.sub("", catalogue.filled(english, **ones))
        for term in sorted(translated["terms"], key=len, reverse=True):
            left, found = re.subn(rf"\b{term}s?\b", "", left, flags=re.IGNORECASE)
            if found and not any(one in other for one in translated["terms"][term]):
                missing.append((where, term))

    assert [] == missing


def test_no_key_is_unused() -> None:
    keys = {(path[0], name) for path, _ in catalogue.leaves(without_terms(ENGLISH)) for name in path[1:]}

    assert [] == [
        (section, key)
        for section, key in sorted(keys)
        if section not in TOLD
        and not re.search(
            rf"\.{key}\b|\"{key}\"",
            PROGRAM + STILLS + CHECKS * (section == "checks") + ERRORS * (section in EXPLANATIONS),
        )
    ]
    assert set(without_terms(ENGLISH)) == catalogue.sections_in(PROGRAM) | IN_STILLS | {"checks"} | EXPLANATIONS


def test_what_python_tells_is_what_python_says() -> None:
    python = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    said = [
        (section, key, piece.strip())
        for section in TOLD
        for key, english in ENGLISH[section].items()
        for piece in re.split(r"\{\w+\}|: |\(|\)", english)
    ]

    assert [] == [(section, key) for section, key, piece in said if piece not in python]


def test_reasons_of_all_kinds_are_translated() -> None:
    assert KINDS == {kind: ENGLISH["reasons"].get(kind) for kind in KINDS}


PLACER = (
    "import nbtf.compat.v1 as tf1",
    "graph = tf1.Graph()",
    "with graph.as_default():",
    "    fed = tf1.placeholder(tf1.float32, [2], name='fed')",
    "    with tf1.device('/gpu:1'): v = tf1.get_variable('v', initializer=[1.0, 2.0])",
    "    done = tf1.assign_add(v, tf1.square(fed))",
    "session = tf1.Session(graph=graph)",
    "_ = session.run(graph.get_operation_by_name('v/Assign'))",
    "_ = session.run(done, {fed: [1.0, 2.0]})",
)
EAGER = (
    "import numpy as np",
    "with tf.device('/gpu:1'): a = tf.add([1.0], [2.0])",
    "with tf.device('/gpu:7'): b = tf.add(a, a)",
    "w = tf.Variable([1.0])",
    "c = tf.strings.join(['a', 'b'])",
    "d = tf.add(w, a).numpy()",
)


@pytest.mark.parametrize("lines", [PLACER, EAGER])
def test_every_reason_of_a_step_is_known(shell: Shell, lines: tuple[str, ...]) -> None:
    from nbtf.notebook.views.feed import Feed

    assert shell.run(*lines).error is None
    state = Feed(SESSIONS[shell.ip]).state(busy=False)
    column = state["columns"].index("why")
    reasons = {state["words"][step[column]] for step in state["steps"] if step[column] >= 0}

    known = [pattern(text) for key, text in ENGLISH["reasons"].items() if key != "session placer"]
    assert len(reasons) > 3
    assert [] == [reason for reason in reasons if not any(one.fullmatch(reason) for one in known)]


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(NAMES.sub(".+", re.sub(r"([.()])", r"\\\1", text)))


# Which language


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        *(("", ""), ("en", "en"), ("zh_CN", "zh_CN"), ("zh-CN", "zh_CN"), ("zh", "zh_CN"), ("zh-Hans-HK", "zh_CN")),
        *(("ja", "ja"), ("ja_JP.UTF-8", "ja"), ("JA", "ja"), ("zh-TW", "en"), ("fr", "en"), ("banana", "en")),
    ],
)
def test_environment_names_the_language(monkeypatch: pytest.MonkeyPatch, asked: str, language: str) -> None:
    monkeypatch.setenv("NBTF_LANG", asked)

    assert language == catalogue.asked_for()


LESSON = Path(__file__).parents[2] / "notebooks" / "ja" / "01_devices_and_their_names.ipynb"


@pytest.mark.parametrize(
    ("folder", "asked", "language"),
    [("ja", "", "ja"), ("zh_CN", "", "zh_CN"), (".", "", ""), ("nowhere", "", ""), ("ja", "en", "en")],
)
def test_a_lesson_names_the_language_unless_the_environment_does(
    monkeypatch: pytest.MonkeyPatch, folder: str, asked: str, language: str
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, asked)
    monkeypatch.setenv(catalogue.NOTEBOOK_VARIABLE, str(LESSON.parents[1] / folder / LESSON.name))

    assert language == catalogue.asked_for()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no notebook",
        "[]",
        '{"metadata": []}',
        '{"metadata": {"nbtf": {"language": 3}}}',
        "[" * 100_000,
        "\x00",
        f'{{"metadata": {{"nbtf": {{"language": "ja"}}}}, "cells": ["{"x" * 2**20}"]}}',
    ],
    ids=["empty", "text", "list", "other metadata", "number", "deep", "zero", "large"],
)
def test_any_other_file_leaves_the_language_to_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    (tmp_path / "file.ipynb").write_text(content)
    monkeypatch.setenv(catalogue.VARIABLE, "")
    monkeypatch.setenv(catalogue.NOTEBOOK_VARIABLE, str(tmp_path / "file.ipynb"))

    assert "" == catalogue.asked_for()


@pytest.mark.parametrize("name", ["", "en", "en-GB", "fr", "zh-Hant"])
def test_where_english_will_do_nothing_is_sent(name: str) -> None:
    assert None is catalogue.translation(name, {"frame"})


def test_translation_has_the_texts_of_the_sections_in_order() -> None:
    japanese = catalogue.read("ja")

    expected = [japanese["frame"][key][1] for key in ENGLISH["frame"]]
    assert {"lang": "ja", "texts": expected} == catalogue.translation("ja-JP", {"frame"})


@pytest.mark.parametrize(("name", "view"), [("device_map", "deviceMap"), ("memory_view", "memoryView")])
def test_view_carries_english_words_alone_and_only_its_own(name: str, view: str) -> None:
    script = esm.script(name, view)
    other = {"device_map": "memory", "memory_view": "map"}[name]

    assert [] == re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", script)
    assert other not in catalogue.sections_in(script)
