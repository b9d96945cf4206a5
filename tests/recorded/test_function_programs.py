"""Do short programs with `tf.function` do what TensorFlow does? Those that do not are listed, with reasons."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator

import pytest

from tests.recorded.function_programs import FILE, case_of, difference, load_function_programs
from tests.recorded.replay import Replay

PROGRAMS = load_function_programs()
REASONS: dict[str, list[str]] = tomllib.loads(FILE.with_suffix(".toml").read_text(encoding="utf-8"))
DIFFERENT = {name for names in REASONS.values() for name in names}


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    if not hasattr(os, "fork"):
        pytest.skip("a program is a fork of a process that has imported nbtf, and this system has no fork")
    with Replay("nbtf") as replay:
        yield replay


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_what_was_recorded(name: str, replay: Replay) -> None:
    program = PROGRAMS[name]
    found = difference(program, replay.outcome(case_of(program)))

    if name in DIFFERENT:
        assert found is not None, f"passes now: remove {name} from function_programs.toml"
    else:
        assert found is None, f"{found}\n\n{program['code']}"


def test_only_recorded_programs_are_listed() -> None:
    assert set() == DIFFERENT - PROGRAMS.keys()


def test_few_programs_are_listed() -> None:
    assert len(DIFFERENT) <= len(PROGRAMS) / 8
