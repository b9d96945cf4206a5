"""Do short programs print what TensorFlow prints? Those that do not are listed, with reasons, in `programs.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded.programs import case_of, difference, load_programs, names_an_absence
from tests.recorded.replay import Replay

PROGRAMS = load_programs()
GROUPS = tomllib.loads((Path(__file__).parent / "programs.toml").read_text(encoding="utf-8"))["group"]
ABSENT = {name for group in GROUPS if group["absent"] for name in group["programs"]}
DIFFERENT = {name for group in GROUPS if not group["absent"] for name in group["programs"]}


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    if not hasattr(os, "fork"):
        pytest.skip("a program is a fork of a process that has imported nbtf, and this system has no fork")
    with Replay("nbtf.keras") as replay:  # which loads most of nbtf once for all programs
        yield replay


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_prints_what_was_recorded(name: str, replay: Replay, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    outcome = replay.outcome(case_of(program, tmp_path))
    found = difference(program, outcome)

    if name in ABSENT:
        assert names_an_absence(outcome), f"it has to say what is not here: {found}\n\n{program['code']}"
    elif name in DIFFERENT:
        assert found is not None, f"passes now: remove {name} from programs.toml"
    else:
        assert found is None, f"{found}\n\n{program['code']}"


def test_only_recorded_programs_are_listed() -> None:
    assert set() == (ABSENT | DIFFERENT) - PROGRAMS.keys()
    assert set() == ABSENT & DIFFERENT
