"""Does `%%device` send a cell to its device, and nothing else?"""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import nbtf as tf
from tests.machines import LOCAL
from tests.notebook.conftest import Shell
from tests.shells import OLD_IPYTHON

HERE = "tf.constant(1.0).device"


@pytest.mark.parametrize(
    "spec", ["GPU:1", "gpu:1", "/GPU:1", "/device:GPU:1", f"{LOCAL}GPU:1", "cuda:1", "GPU:{1}", "$one"]
)
def test_cell_runs_on_its_device_and_the_next_one_does_not(shell: Shell, spec: str) -> None:
    shell.ip.user_ns["one"] = "GPU:1"

    assert f"{LOCAL}GPU:1" == shell.run(f"%%device {spec}", HERE).result
    assert f"{LOCAL}GPU:0" == shell.run(HERE).result


@pytest.mark.parametrize(
    "line",
    [
        "import asyncio; await asyncio.sleep(0)",
        "get_ipython().run_cell('1')",
        "get_ipython().run_cell('')",
        "get_ipython().run_cell('1', silent=True)",
        "get_ipython().run_cell('1/0')",
        "get_ipython().run_cell('%%device GPU:0\\n1')",
        "%who",
        "!true",
    ],
)
def test_device_lasts_to_the_end_of_the_cell(shell: Shell, line: str) -> None:
    shell.run("%%device GPU:1", line, f"where = {HERE}")

    assert f"{LOCAL}GPU:1" == shell.ip.user_ns["where"]
    assert f"{LOCAL}GPU:0" == shell.run(HERE).result


@pytest.mark.parametrize("failing", ["1/0", "raise KeyboardInterrupt", "raise SystemExit", "syntax error"])
def test_device_ends_with_a_cell_that_fails(shell: Shell, failing: str) -> None:
    with pytest.warns(UserWarning, match="To exit") if "Exit" in failing else nullcontext():
        shell.run("%%device GPU:1 --hard", failing)

    assert (f"{LOCAL}GPU:0", True) == (shell.run(HERE).result, tf.config.get_soft_device_placement())


def test_device_of_a_silent_execution_ends_with_it(shell: Shell) -> None:
    shell.ip.run_cell("%%device GPU:1\n1", silent=True)

    assert f"{LOCAL}GPU:0" == shell.run(HERE).result


def test_error_is_shown_once_with_its_line(shell: Shell) -> None:
    out = shell.run("%%device GPU:1", "x = 1", "", "1/0").out

    assert (1, 1) == (
        out.count("ZeroDivisionError: division by zero"),
        out.count("-> 4 1/0" if OLD_IPYTHON else "line 4"),
    )


def test_device_inside_the_cell_wins_and_none_leaves_the_cell(shell: Shell) -> None:
    ran = shell.run(
        "%%device GPU:1",
        "with tf.device('CPU:0'): a = tf.constant(1.0)",
        "with tf.device(None): b = tf.constant(1.0)",
        "a.device, b.device",
    )

    assert (f"{LOCAL}CPU:0", f"{LOCAL}GPU:0") == ran.result


def test_auto_leaves_the_default_device_for_one_cell(shell: Shell) -> None:
    shell.run("%device GPU:1")

    assert f"{LOCAL}GPU:0" == shell.run("%%device auto", HERE).result
    assert f"{LOCAL}GPU:1" == shell.run(HERE).result


def test_text_that_is_no_device_is_a_usage_error_of_one_line(shell: Shell) -> None:
    ran = shell.run("%%device banana", "ran = True")

    expected = (
        "UsageError: %%device: cannot read 'banana' as a device. "
        "Try GPU:0, /CPU:0 or /job:localhost/replica:0/task:0/device:GPU:0.\n"
    )
    assert (expected, False) == (ran.out, "ran" in shell.ip.user_ns)


@pytest.mark.parametrize("line", ["--bogus GPU:1", "", "GPU:1 GPU:0", "--soft --hard GPU:1", "'GPU:1"])
def test_malformed_options_are_a_usage_error_of_one_line(shell: Shell, line: str) -> None:
    out = shell.run(f"%%device {line}", "1").out

    assert (True, 1) == (out.startswith("UsageError: %%device: "), out.count("\n"))


def test_device_that_is_not_here_raises_before_the_body_runs(shell: Shell) -> None:
    ran = shell.run("%%device GPU:7 --hard", "ran = True")

    assert isinstance(ran.error, tf.errors.InvalidArgumentError)
    assert isinstance(ran.error, RuntimeError)
    assert str(ran.error).endswith("CPU:0, GPU:0 (simulated), GPU:1 (simulated). Leave out --hard to fall back.")
    assert "ran" not in shell.ip.user_ns


def test_device_of_another_task_has_nothing_to_fall_back_to(shell: Shell) -> None:
    error = shell.run("%%device /job:worker/task:1/GPU:0 --soft", HERE).error

    assert str(error).endswith("Only the devices of this process, and of simulated hosts, can be used.")


def test_soft_placement_falls_back_for_one_cell(shell: Shell) -> None:
    tf.config.set_soft_device_placement(False)

    assert str(shell.run("%%device GPU:7", HERE).error).endswith("Add --soft to fall back.")
    assert f"{LOCAL}GPU:0" == shell.run("%%device GPU:7 --soft", HERE).result
    assert tf.config.get_soft_device_placement() is False


def test_soft_placement_that_the_cell_sets_stays(shell: Shell) -> None:
    shell.run("%%device GPU:1 --soft", "tf.config.set_soft_device_placement(False)")

    assert tf.config.get_soft_device_placement() is False


def test_log_prints_the_ops_of_this_cell_only(shell: Shell) -> None:
    line = f"Executing op _EagerConst in device {LOCAL}GPU:1\n"

    assert line == shell.run("%%device GPU:1 --log", "c = tf.constant(1.0)").out
    assert "" == shell.run("c = tf.constant(1.0)").out


def test_summary_tells_ops_memory_and_copies(shell: Shell) -> None:
    out = shell.run("%%device GPU:1 --summary", "a = tf.constant([1.0])", "a = a + a", "print(a.numpy())").out

    assert "[2.]\nGPU:1 (simulated): 2 ops, +256 B (peak 1,792 B); no copies\n" == out


def test_another_magic_stands_above(shell: Shell) -> None:
    out = shell.run("%%device GPU:1", "%%time", HERE).out

    assert "UsageError: %%device: write %%time above it, as the first line of the cell.\n" == out
    assert f"{LOCAL}GPU:1\n" in shell.run("%%time", "%%device GPU:1", f"print({HERE})").out


def test_call_with_a_body_is_told_what_else_to_call(shell: Shell) -> None:
    assert (
        "UsageError: %%device: run it as a cell, with run_cell.\n"
        == shell.run("get_ipython().run_cell_magic('device', 'GPU:1', 'ran = True')").out
    )


def test_help_is_shown_and_the_body_does_not_run(shell: Shell) -> None:
    ran = shell.run("%%device -h", "ran = True")

    assert ran.out.startswith("usage: %%device [-h] [--soft | --hard]")
    assert "ran" not in shell.ip.user_ns


# %device


def test_default_device_is_set_told_and_cleared(shell: Shell) -> None:
    assert "default device: GPU:1 (simulated) (was auto)\n" == shell.run("%device GPU:1").out
    assert f"{LOCAL}GPU:1" == shell.run(HERE).result
    assert "default device: auto (was GPU:1 (simulated))\n" == shell.run("%device auto").out
    assert f"{LOCAL}GPU:0" == shell.run(HERE).result


def test_current_device_says_why(shell: Shell) -> None:
    told = [repr(shell.run("%device").result), repr(shell.run("%%device GPU:1", "%device").result)]
    shell.run("%device CPU:0")

    assert [
        "GPU:0 (simulated): automatic, the lowest-numbered GPU",
        "GPU:1 (simulated): asked for by this cell",
        "CPU:0: the default device of this session",
    ] == [*told, repr(shell.run("%device").result)]


def test_session_device_that_is_not_here_says_where_ops_go_instead(shell: Shell) -> None:
    out = shell.run("%device GPU:9").out

    assert out.splitlines()[1] == "GPU:9 is not available: ops will run on GPU:0 (simulated) instead (soft placement)."
    assert f"{LOCAL}GPU:0" == shell.run(HERE).result
