"""Do strategies take elements, write variables and refuse as TensorFlow's do? A command compares each whole table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.machines import machine
from tests.recorded import distributed_input, distributed_refusals, distributed_writes
from tests.recorded.answers import answer_of, is_same, two_cpus

TABLES = {
    "input": (distributed_input, 8),
    "writes": (distributed_writes, 11),
    "refusals": (distributed_refusals, 5),
}
"""The tables, and which share of each is compared here: every eighth program, for example."""


@pytest.fixture(autouse=True)
def two_logical_cpus() -> Iterator[None]:
    with machine(0):
        two_cpus(tf)
        yield


@pytest.mark.parametrize("name", TABLES)
def test_programs_answer_as_tensorflow_does(name: str) -> None:
    table, step = TABLES[name]
    recorded: dict[str, str] = json.loads(table.FILE.read_text(encoding="utf-8"))
    answers = {title: answer_of(program) for title, program in list(table.cases(tf))[::step]}

    different: dict[str, Any] = {
        title: (recorded.get(title), answer)
        for title, answer in answers.items()
        if not is_same(recorded.get(title), answer)
    }
    assert {} == different
    assert len(answers) > 50


@pytest.mark.parametrize("name", TABLES)
def test_every_program_is_recorded(name: str) -> None:
    table, _ = TABLES[name]
    recorded = json.loads(table.FILE.read_text(encoding="utf-8"))

    assert set() == {title for title, _ in table.cases(tf)} - set(recorded)
