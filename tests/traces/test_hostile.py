"""Hostile traces raise one class of error; `python -m tests.traces.hostile` reads 100,000."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.rings import seeds
from tests.traces.hostile import hostile, outcome


@pytest.mark.parametrize("seed", seeds(1000))
def test_hostile_traces_are_read_or_rejected(seed: int, tmp_path: Path) -> None:
    outcomes = {outcome(tmp_path / "t.json", hostile(Random(f"{seed} {number}"))) for number in range(20)}

    assert outcomes == {"read", "rejected"}
