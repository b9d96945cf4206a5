"""Do schedules give the learning rates that those of Keras 3 give on TensorFlow? Of thirteen steps each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtf.keras.optimizers import schedules

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "schedules.json").read_text())

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["schedule"] + json.dumps(row["arguments"]))


@every_row
def test_rates_are_those_of_keras(row: dict[str, Any]) -> None:
    schedule = getattr(schedules, row["schedule"])(**row["arguments"])

    # recorded with six digits
    assert row["rates"] == pytest.approx([float(schedule(step)) for step in range(len(row["rates"]))], rel=1e-5)


@every_row
def test_what_get_config_says_makes_the_same_schedule(row: dict[str, Any]) -> None:
    schedule = getattr(schedules, row["schedule"])(**row["arguments"])
    config = schedule.get_config()

    assert row["arguments"].items() <= config.items()
    assert config == type(schedule).from_config(config).get_config()
    assert config == schedules.deserialize(schedules.serialize(schedule)).get_config()
