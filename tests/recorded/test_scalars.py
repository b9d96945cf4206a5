"""Does the log tell of constants of numbers when TensorFlow 2.21 does: the first time on a device, and then no more?

`scalars.json` holds statements, and programs of fourteen of them in blocks of devices: `12@CPU:1` is the twelfth in
`tf.device("CPU:1")`. Beside each stands how many lines `_EagerConst` every statement added to the log on two CPUs.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT
from tests.machines import SCRATCH, machine

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("scalars.json").read_text())
PROGRAMS: list[tuple[str, str]] = [(program, counts) for program, counts in RECORDED["programs"]]


def constants_told(program: str) -> str:
    """Runs a program; returns how many constants each of its statements added to the log."""
    names: dict[str, Any] = {"tf": tf, "np": np}
    log: list[str] = []
    CURRENT.context.set_log(lambda op, device: log.append(op))
    for line in RECORDED["before"]:
        exec(line, names)
    counts: list[str] = []
    for use in program.split():
        number, _, device = use.partition("@")
        log.clear()
        with tf.device(device) if device else nullcontext():
            exec(RECORDED["statements"][int(number)], names)
        counts.append(str(log.count("_EagerConst")))
    return " ".join(counts)


@pytest.mark.parametrize("tenth", range(10))
def test_constants_are_told_as_recorded(tenth: int) -> None:
    for program, counts in PROGRAMS[tenth::10]:
        with machine(0):
            cpu = tf.config.list_physical_devices("CPU")[0]
            tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
            told = constants_told(program)

        statements = [RECORDED["statements"][int(use.partition("@")[0])] for use in program.split()]
        assert counts == told, list(zip(program.split(), statements, counts.split(), told.split(), strict=True))


@pytest.mark.parametrize("fifth", range(5))
def test_on_gpus_no_constant_is_held(fifth: int) -> None:
    for program, _ in PROGRAMS[fifth::25]:
        with machine(2):
            constants_told(program.replace("CPU", "GPU"))

            in_use = {device.in_use for device in tf.runtime.devices() if device.device_type == "GPU"}
            assert in_use <= {0, SCRATCH}
