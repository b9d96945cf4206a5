"""Does nbtf do what TensorFlow was recorded to do? All cases but the quirks; misses are listed in `not_met.toml`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.recorded.judgement import Case
from tests.recorded.replay import Replay, load_cases, load_not_met, load_session_cases

CASES = [case for case in load_cases() if case["level"] != "quirk"]
NOT_MET = load_not_met()


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    if not hasattr(os, "fork"):
        pytest.skip("a case is a fork of a process that has imported nbtf, and this system has no fork")
    with Replay("nbtf") as replay:
        yield replay


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_case_does_what_was_recorded(case: Case, replay: Replay) -> None:
    if "bfloat16" in case["id"]:
        pytest.importorskip("ml_dtypes")
    difference = replay.difference(case)

    if case["id"] in NOT_MET:
        assert difference is not None, f"passes now: remove {case['id']} from not_met.toml"
    else:
        assert difference is None, f"{difference}\n\n{case['code']}"


def test_only_recorded_cases_are_listed_as_not_met() -> None:
    assert set() == NOT_MET.keys() - {case["id"] for case in (*CASES, *load_session_cases())}
