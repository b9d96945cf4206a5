"""Are replays with other settings written in every language, and has the table of a page one row for each question?"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.what_ifs import RefusedRequest, WhatIf
from nbtf._snapshots.what_if import USUAL_SETTINGS, usual_settings, what_if
from nbtf.notebook import catalogue
from nbtf.notebook.snapshots import what_ifs
from nbtf.notebook.snapshots.history import DeviceHistory
from nbtf.notebook.snapshots.what_ifs import lines_of, what_if_table
from tests.machines import machine
from tests.snapshots.recorded_programs import run, without_beginning

LARGE = 1 << 40
LANGUAGES = (catalogue.ENGLISH, *catalogue.LANGUAGES)
_NOT_WORDS = re.compile(r"GPU|[KMG]iB|bytes|PyTorch|TensorFlow|train|py|in step|[a-z]+(?:_[a-z0-9]+)+(?::\w+)?")
"""Parts of results that are the same in every language."""


def _results() -> list[WhatIf]:
    """Returns results that contain every note and every kind of refusal."""
    snapshot = run(6, total=LARGE).snapshot
    late = without_beginning(snapshot, 60)
    garbage = "garbage_collection_threshold:0.8"
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            kept = tf.zeros([1 << 20])
            del kept
        of_tensorflow = record.what_if("allow_growth:True", card="2MiB")
    return [
        *usual_settings(late, most_events=100),
        what_if(late, settings=garbage, card=1 << 20, without="train.py:30"),
        what_if(snapshot, card="30MiB", without="train.py:30"),
        what_if(run(0, total=60 << 20).snapshot, card="1GiB"),
        what_if(run(0, total=60 << 20).snapshot),
        of_tensorflow,
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_results_are_written_in_the_language_that_is_asked_for(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    words, results = catalogue.words("whatIf"), _results()
    text = "\n".join(str(each) for each in results)

    for name in ("inUse", "reserved", "unallocated", "largestFree", "retries", "released", "refusal", "asRecorded"):
        assert words[name] in text
    for name in ("beginning", "freeThen", "full", "fragmentation", "noCard", "noEffect", "anew", "ended"):
        assert words[name] in text
    for name in ("about", "before", "part", "granted", "sizesThen", "card", "without", "event"):
        longest = max(re.split(r"\{\w+\}", words[name]), key=len)
        assert longest in text, name
    is_english = re.findall(r"[A-Za-z]{3,}", _NOT_WORDS.sub("", text))
    assert bool(is_english) == (language == catalogue.ENGLISH)


def test_data_are_the_same_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    written, results = set[str](), _results()
    for language in LANGUAGES:
        monkeypatch.setenv(catalogue.VARIABLE, language)
        written.add(json.dumps([each.as_json() for each in results]))

    assert len(written) == 1


def test_figures_are_below_each_other_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = RefusedRequest(3, 5 << 20, "train.py:3", "full", 0, 0, 0)
    result = WhatIf("GPU:0", "PyTorch", "", False, None, "", 0, 9, True, 1, 2, 3, 4, 5, 6, 7, 1, refusal)
    for language in LANGUAGES:
        monkeypatch.setenv(catalogue.VARIABLE, language)
        lines = lines_of([result])
        rows = [line.rpartition("  ") for line in lines if line.startswith("  ")][:7]

        assert len({what_ifs.display_width(label + gap) for label, gap, _ in rows}) == 1


def _labels(table: dict[str, Any]) -> list[str]:
    return [row[0] for row in table["rows"]]


@pytest.mark.parametrize("lost", [0, 60])
@pytest.mark.parametrize("asked", [*USUAL_SETTINGS, "", None])
@pytest.mark.parametrize("card", [None, "1GiB"])
def test_a_question_has_one_row(asked: str | None, card: str | None, lost: int) -> None:
    snapshot = without_beginning(run(6, total=LARGE).snapshot, lost)
    usual = what_if_table(snapshot, DeviceHistory(snapshot, 0), [], card)
    answers: Sequence[WhatIf] = [what_if(snapshot, settings=asked, card=card), what_if(snapshot, settings="")]

    table = what_if_table(snapshot, DeviceHistory(snapshot, 0), answers, card)

    assert len(_labels(table)) == len(set(_labels(table)))
    assert set(_labels(usual)) <= set(_labels(table))
    assert len(_labels(table)) <= len(_labels(usual)) + 1


def test_rows_of_different_parts_of_a_history_name_their_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, "en")
    snapshot = run(6, total=LARGE).snapshot
    usual = usual_settings(snapshot, most_events=100)
    monkeypatch.setattr(what_ifs, "usual_settings", lambda *_: usual)
    whole = what_if(snapshot, settings="max_split_size_mb:20")

    table = what_if_table(snapshot, DeviceHistory(snapshot, 0), [whole])

    first = usual[0].first_event
    assert all(f" · events {first} to {first + 99}" in label for label in _labels(table)[:-1])
    assert _labels(table)[-1] == "max_split_size_mb:20"
    assert f"Only the events {first} to {first + 99} of " in " ".join(table["notes"])
    assert not any("events" in label for label in _labels(what_if_table(snapshot, DeviceHistory(snapshot, 0), [])))
