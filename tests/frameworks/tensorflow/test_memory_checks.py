"""Do the checks of a cell's memory count TensorFlow's, and fail where it is unknown? On GPUs that tests set."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf
from tests.frameworks.tensorflow.conftest import Accounts
from tests.notebook.conftest import Shell

WORK = "y = tf.ones([10]) + 1"
STEP = "account.use(8192); y = tf.ones([10]) + 1; account.use(-4096)"


@pytest.fixture
def used(shell: Shell, accounts: Accounts) -> Shell:
    """A shell whose cells change TensorFlow's accounts."""
    accounts.use(1 << 20)
    accounts.use(-(1 << 20) + 1024)
    shell.ip.user_ns["account"] = accounts
    shell.run("import tensorflow as tf; x = tf.ones([10])")
    return shell


def test_a_cell_shows_what_it_used_and_kept(used: Shell) -> None:
    said = used.run("%%gpu_memory", STEP).out

    assert "cuda:0 (TensorFlow): peak 9,216 B, +4,096 B kept after the cell" in said
    assert "cuda:1 (TensorFlow): peak 0 B, +0 B kept after the cell" in said


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ("--at-most 9216", True),
        ("--at-most 9215", False),
        ("--kept 4096", True),
        ("--kept 4095", False),
        ("--at-most 1MiB --kept 0", False),
        ("--at-most 1 --kept 0 --without tensorflow", True),
    ],
)
def test_a_budget_counts_tensorflow(used: Shell, options: str, passes: bool) -> None:
    error = used.run(f"%%gpu_memory {options}", STEP).error

    assert (error is None) == passes, error
    assert passes or isinstance(error, nbtf.runtime.ExpectationError)


def test_a_peak_as_high_as_an_earlier_one_is_the_cells_own(used: Shell) -> None:
    used.run(STEP)
    said = used.run("%%gpu_memory", "account.use(-4096); account.use(8192); y = tf.ones([10]) + 1").out

    assert "peak 9,216 B, +4,096 B kept" in said
    assert "whole process" not in said


@pytest.mark.parametrize("options", ["--at-most 1MiB", "--kept 0", "--at-most 1MiB --kept 0"])
def test_without_a_gpu_no_budget_passes_unchecked(shell: Shell, options: str) -> None:
    shell.run("import tensorflow as tf")

    error = shell.run(f"%%gpu_memory {options}", WORK).error

    assert isinstance(error, nbtf.runtime.ExpectationError)
    assert "on no GPU that reports its memory" in str(error)
    assert shell.run(f"%%gpu_memory {options}", "y = 1").error is None
    assert shell.run(f"%%gpu_memory {options} --without tensorflow", WORK).error is None


def test_a_cell_without_a_gpu_says_what_is_unknown(shell: Shell) -> None:
    shell.run("import tensorflow as tf")

    said = shell.run("%%gpu_memory", WORK).out

    assert "TensorFlow ran 2 ops" in said or "TensorFlow ran 3 ops" in said
    assert "on no GPU that reports its memory" in said
    assert "No GPU was used." not in said


@pytest.mark.parametrize("options", ["--at-most 1MiB", "--kept 0"])
def test_an_allocator_without_figures_fails_a_budget(
    used: Shell, real: Any, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    def no_figures(device: str) -> Any:
        raise ValueError("Allocator stats not available")

    monkeypatch.setattr(real.config.experimental, "get_memory_info", no_figures)

    error = used.run(f"%%gpu_memory {options}", WORK).error

    assert isinstance(error, nbtf.runtime.ExpectationError)
    assert "TensorFlow's memory on GPU:0, GPU:1 is unknown" in str(error)


def test_nbtf_and_tensorflow_in_one_cell_are_both_counted(used: Shell) -> None:
    used.ip.user_ns["nbtf"] = nbtf
    both = f"{STEP}\nwith nbtf.device('GPU:0'): z = nbtf.fill([1000], 1.0)"

    said = used.run("%%gpu_memory", both).out

    assert "GPU:0 (simulated): peak " in said
    assert "cuda:0 (TensorFlow): peak 9,216 B" in said
    assert used.run("%%gpu_memory --at-most 9000", both).error is not None
