"""Does the doctor read our environment variables, and say what they may say?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nbtf
from nbtf.cli.finding import Finding
from nbtf.cli.variables import VARIABLES, variables


def test_every_variable_that_the_package_reads_is_listed() -> None:
    package = Path(nbtf.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]

    assert {variable.name for variable in VARIABLES} == {
        name
        for text in texts
        for name in re.findall(r"(?<!# )\bNBTF_[A-Z_]+\b", text)  # `# NBTF_...` marks a cell
    }


def test_variables_that_are_not_set_are_not_told() -> None:
    assert [] == list(variables({"NBTF_LIVE": "", "HOME": "/"}))


def test_real_gpus_that_are_switched_off_are_noted() -> None:
    [finding] = variables({"NBTF_GPU": "off"})

    assert ("note", True) == (finding.state, finding.text.startswith("off: real GPUs are not used"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NBTF_LIVE", "inline"),
        ("NBTF_LIVE", "Thread"),
        ("NBTF_GPU", "auto"),
        ("NBTF_GPU_ALLOCATOR", "bfc"),
        ("NBTF_LANG", "ja"),
        ("NBTF_SIMULATED_GPUS", "0"),
        ("NBTF_SYNC", "1"),
    ],
)
def test_value_that_can_be_read_is_ok(name: str, value: str) -> None:
    assert [("ok", name)] == [(finding.state, finding.subject) for finding in variables({name: value})]


def test_simulated_machine_is_told_in_words() -> None:
    words = "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."

    assert [Finding("ok", "NBTF_SIMULATED_GPUS", words)] == list(variables({"NBTF_SIMULATED_GPUS": "4xTesla K20m"}))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("NBTF_LIVE", "'many'; expected thread, inline or off"),
        ("NBTF_GPU", "'many'; expected auto or off"),
        ("NBTF_GPU_ALLOCATOR", "'many'; expected pool or bfc"),
        ("NBTF_SYNC", "'many'; expected 1, 0, true, false, on, off, yes or no"),
        ("NBTF_SIMULATED_GPUS", "'many'; expected a number of GPUs such as 4"),
    ],
)
def test_value_that_cannot_be_read_is_wrong_and_comes_with_those_that_can(name: str, says: str) -> None:
    (finding,) = variables({name: "many"})

    assert ("wrong", name) == (finding.state, finding.subject)
    assert finding.text.startswith(says)
