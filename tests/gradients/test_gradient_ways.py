"""Gradients in eager code, functions and sessions, beside what TensorFlow answers."""

from __future__ import annotations

import pytest

import nbtf as tf
from tests.gradients.programs import PROGRAMS
from tests.gradients.table import EXCUSED, RECORDED, agree, answers, recorded
from tests.gradients.ways import WAYS


@pytest.mark.parametrize("way", WAYS)
def test_every_gradient_is_as_in_tensorflow(way: str) -> None:
    given = answers(tf, [way], PROGRAMS)

    different = {cell: value for cell, value in given.items() if not agree(recorded(cell), value)}
    excused = {cell for cell in EXCUSED if cell.endswith(f" {way}")}

    assert {} == {cell: (recorded(cell), value) for cell, value in different.items() if cell not in excused}
    assert set() == excused - different.keys(), "agree now: take them out of gradient_ways.toml"


def test_every_program_is_recorded_in_every_way() -> None:
    assert PROGRAMS.keys() == RECORDED.keys()
    assert {tuple(WAYS)} == {tuple(row) for row in RECORDED.values()}
