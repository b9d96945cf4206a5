"""Is the English plain? Phrases that an editor would change are counted by place, and their number may only fall."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests import prose

AT_MOST = {"docstrings": 2, "messages": 2}
"""Phrases by place; a place that is not listed has none. `python -m tests.prose --list` shows them."""

WORDS_IN_A_SENTENCE = 15
LINES_OF_THE_README = 135
CHARACTERS_OF_AN_ENTRY = 140


def test_there_are_no_more_phrases_to_change_than_before() -> None:
    counts = Counter(phrase.text.place for phrase in prose.all_phrases())

    assert dict(counts) == {place: count for place, count in AT_MOST.items() if count}, "write the new count if it fell"


@pytest.mark.parametrize("name", prose.RULES)
def test_a_rule_suggests_something_that_it_accepts(name: str) -> None:
    _, suggestion = prose.RULES[name]

    assert name not in prose.phrases(suggestion)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Of CuPy and JAX it tells the memory.", "tell"),
        ("What is missing says so.", "say-so"),
        ("Nobody listens.", "nobody"),
        ("The view stands in the panel.", "stand"),
        ("It is no log of one run.", "is-no-noun"),
        ("Simulated are the GPUs.", "fronted-adj"),
        ("A time of its own, also where it is modelled.", "also-where"),
    ],
)
def test_a_rule_finds_its_phrase(text: str, rule: str) -> None:
    assert rule in prose.phrases(text)


@pytest.mark.parametrize("text", ["It prints `nobody`.", 'The error says "nobody".', "Nobody  # words: ok"])
def test_code_and_quotations_do_not_count(text: str) -> None:
    assert [] == list(prose.phrases(text))


def test_each_place_is_read(tmp_path: Path) -> None:
    notebook = {
        "cells": [{"cell_type": "markdown", "source": ["Nobody.\n"]}, {"cell_type": "code", "source": "nobody"}]
    }
    files = {
        "README.md": "Nobody.",
        "CHANGELOG.md": "Nobody.",
        "page.md": "Nobody.\n```\nNobody.\n```",
        "a.py": '"""Nobody."""\n\nA = 1\n"""Nobody."""\nB = "it was told nobody here"\n# nobody has told us anything\n',
        "lesson.ipynb": json.dumps(notebook),
        "words/en.json": json.dumps({"a": ["Nobody"], "terms": {"b": "nobody"}}),
        "tests/left_out.md": "Nobody.",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    found = Counter(phrase.text.place for phrase in prose.all_phrases(tmp_path) if phrase.rule == "nobody")

    assert found == {
        "README": 1,
        "CHANGELOG": 1,
        "docs": 1,
        "docstrings": 2,
        "messages": 1,
        "comments": 1,
        "lessons": 1,
        "labels": 1,
    }


def sentences(markdown: str) -> list[str]:
    """Returns the sentences of a page: its paragraphs, points and rows of tables, without code and headings."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n(?=[-|])", text)
    prose_blocks = [" ".join(block.split()) for block in blocks if not block.strip().startswith("#")]
    cells = [cell for block in prose_blocks for cell in (block.split(" | ") if block.startswith("|") else [block])]
    found = [sentence for cell in cells for sentence in re.split(r"(?<=[.!?])[*]*\s+(?=[A-Z*`])", cell)]
    return [sentence for sentence in found if len(re.findall(r"\w+", sentence)) > 1]


def test_the_readme_is_short() -> None:
    text = (prose.ROOT / "README.md").read_text(encoding="utf-8")
    lengths = [len(sentence.split()) for sentence in sentences(text)]

    assert len(text.splitlines()) <= LINES_OF_THE_README
    assert sum(lengths) / len(lengths) <= WORDS_IN_A_SENTENCE
    assert max(lengths) <= 2 * WORDS_IN_A_SENTENCE, [s for s in sentences(text) if len(s.split()) > 30]


def test_an_entry_of_the_changelog_is_short() -> None:
    entries = re.findall(r"^- (.*)$", (prose.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert len(entries) > 100
    assert [] == [entry for entry in entries if len(entry) > CHARACTERS_OF_AN_ENTRY]
