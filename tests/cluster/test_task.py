"""A task, without the engine that carries its messages."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest

from nbtf._cluster.engine import Peers
from nbtf._cluster.task import Task


def test_a_task_leaves_it_to_its_program_to_say_what_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    task = Task("worker", 0, create_autospec(Peers), environ={"NBTF_SIMULATED_GPUS": "2"})

    assert ["CPU", "GPU", "GPU"] == [device.type for device in task.devices]
    assert ("", "") == capsys.readouterr()
