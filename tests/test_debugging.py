"""Is the placement log printed where it should be, at any time, and not otherwise?"""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.machines import SIMULATED_GPUS
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import HERE
from nbtf.errors import InvalidArgumentError
from tests.machines import LOCAL, machine


def line(op: str, device: str = "CPU:0") -> str:
    return f"Executing op {op} in device {LOCAL}{device}\n"


def test_lines_go_to_stderr_in_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    x = tf.constant([1.0])
    tf.negative(x)

    assert ("", line("_EagerConst") + line("Neg")) == capsys.readouterr()


def test_lines_go_to_the_stdout_of_the_cell_under_ipython(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "__IPYTHON__", True, raising=False)
    tf.debugging.set_log_device_placement(True)
    tf.negative(tf.constant([1.0]))

    assert (line("_EagerConst") + line("Neg"), "") == capsys.readouterr()


def test_stream_is_looked_up_when_a_line_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    with capsys.disabled():
        before = sys.stderr
    capsys.readouterr()
    assert before is not sys.stderr

    tf.constant(1.0)

    assert line("_EagerConst") == capsys.readouterr().err


def test_log_can_be_switched_on_and_off_at_any_time(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.constant([1.0])
    tf.negative(x)
    tf.debugging.set_log_device_placement(True)
    tf.abs(x)
    tf.debugging.set_log_device_placement(True)
    tf.square(x)
    tf.debugging.set_log_device_placement(False)
    tf.exp(x)
    tf.debugging.set_log_device_placement(True)
    tf.sqrt(x)

    assert line("Abs") + line("Square") + line("Sqrt") == capsys.readouterr().err


def test_log_that_is_off_leaves_the_lane_open() -> None:
    tf.constant(1.0)
    tf.debugging.set_log_device_placement(True)
    tf.debugging.set_log_device_placement(False)

    assert CURRENT.context.host is HERE.device


@pytest.mark.parametrize(("given", "read"), [(True, True), (1, True), (False, False), (0, False), (None, False)])
def test_switch_is_read_back(given: Any, read: bool) -> None:
    tf.debugging.set_log_device_placement(given)

    assert read is tf.debugging.get_log_device_placement()


@pytest.mark.parametrize("given", ["yes", 0.5, []])
def test_switch_must_be_a_truth_value(given: Any) -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        tf.debugging.set_log_device_placement(given)

    assert not tf.debugging.get_log_device_placement()


def test_failing_op_is_logged_and_a_refused_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0])
    tf.config.set_soft_device_placement(False)
    tf.debugging.set_log_device_placement(True)

    with pytest.raises(InvalidArgumentError):
        tf.add(x, y)
    with pytest.raises(InvalidArgumentError), tf.device("GPU:0"):
        tf.add(x, x)

    assert line("AddV2") == capsys.readouterr().err


def test_a_line_is_printed_once_and_before_its_op_runs_even_if_that_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, kernel = list[str](), np.add

    def looking(*arrays: Any) -> Any:
        printed.append(capsys.readouterr().err)
        return kernel(*arrays)

    x, y = tf.ones([2]), tf.ones([3])
    tf.debugging.set_log_device_placement(True)
    monkeypatch.setattr(np, "add", looking)

    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes") as caught:
        tf.add(x, y)

    assert [line("AddV2"), ""] == [*printed, capsys.readouterr().err]
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_log_that_a_thread_has_just_ended_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant([1.0])
    tf.debugging.set_log_device_placement(True)
    monkeypatch.setattr(CURRENT.context, "log", None)

    assert [2.0] == tf.add(x, x).numpy().tolist()


def test_a_numpy_error_that_the_user_asks_for_does_not_reach_a_logged_op(capsys: pytest.CaptureFixture[str]) -> None:
    zero = tf.constant([0.0])
    tf.debugging.set_log_device_placement(True)

    with np.errstate(all="raise"):
        result = tf.divide(zero, zero)

    assert np.isnan(result.numpy()).all()
    assert line("RealDiv") == capsys.readouterr().err


def test_reading_values_logs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1):
        x = tf.constant([1.0])
        tf.debugging.set_log_device_placement(True)
        _ = str(x), repr(x), x.numpy(), float(x[0])
        kept = capsys.readouterr().err

    assert [line("StridedSlice", "GPU:0")] == [text + "\n" for text in kept.splitlines() if "_EagerConst" not in text]


def test_constants_in_a_block_that_is_just_the_cpu_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1):
        tf.debugging.set_log_device_placement(True)
        for device in ("/CPU:0", "", "/CPU:*"):
            with tf.device(device):
                tf.constant(1.0)
        with tf.device(None):
            tf.constant(1.0)
        with tf.device("GPU:0"):
            tf.constant(1.0)

    assert line("_EagerConst", "GPU:0") * 2 == capsys.readouterr().err


def test_log_and_other_observers_do_not_disturb_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Any] = []
    tf.debugging.set_log_device_placement(True)
    stop = tf.runtime.observe(heard.append)
    tf.debugging.set_log_device_placement(False)
    tf.constant(1.0)
    stop()
    tf.constant(1.0)

    assert (2, "") == (len(heard), capsys.readouterr().err)


def test_script_prints_result_and_log_on_different_streams() -> None:
    code = "import nbtf as tf\ntf.debugging.set_log_device_placement(True)\nprint(tf.negative(tf.constant([1.0])))"
    here = str(Path(tf.__path__[0]).parent)
    environ = {name: value for name, value in os.environ.items() if name != SIMULATED_GPUS}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=here, env=environ)

    assert "tf.Tensor([-1.], shape=(1,), dtype=float32)\n" == ran.stdout
    assert line("_EagerConst") + line("Neg") == ran.stderr


@pytest.mark.parametrize(
    ("value", "numeric"),
    [
        (lambda: tf.constant([1.0]), True),
        (lambda: tf.constant(1), True),
        (lambda: tf.constant(True), False),
        (lambda: tf.constant("a"), False),
        (lambda: np.ones(1), False),
        (lambda: 1.0, False),
    ],
)
def test_numeric_tensors_are_told_from_other_things(value: Any, numeric: bool) -> None:
    assert numeric is tf.debugging.is_numeric_tensor(value())


def test_the_switch_of_tracebacks_is_kept() -> None:
    assert tf.debugging.is_traceback_filtering_enabled()

    tf.debugging.disable_traceback_filtering()
    assert not tf.keras.config.is_traceback_filtering_enabled()

    tf.debugging.enable_traceback_filtering()
    assert tf.keras.config.is_traceback_filtering_enabled()
