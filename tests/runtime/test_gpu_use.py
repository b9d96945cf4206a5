"""Does the ladder of five questions stop where it should, and say why?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf._ops import gpu_comparison
from nbtf._runtime import gpu_use
from nbtf._runtime.context import Context, use_context


@pytest.fixture
def one_card(capsys: pytest.CaptureFixture[str]) -> None:
    tf.runtime.simulate_gpus(1, model="Tesla K20m")
    capsys.readouterr()


def answers() -> dict[str, bool | None]:
    return {rung.name: rung.holds for rung in tf.runtime.is_gpu_in_use().rungs}


def test_a_computer_without_a_gpu_is_told_at_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_use, "probe", lambda environ: type("Probe", (), {"reason": "CuPy is not installed"}))

    with use_context(Context(environ={})):
        use = tf.runtime.is_gpu_in_use()

    assert not use
    assert use.rung == "listed"
    assert use.sentence == "No: this computer lists no GPU: CuPy is not installed"
    assert [rung.holds for rung in use.rungs] == [False, None, None, None, None]


def test_a_hidden_card_is_told_at_the_second() -> None:
    with use_context(Context(environ={"NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "7"})):
        use = tf.runtime.is_gpu_in_use()

    assert (bool(use), use.rung) == (False, "visible")
    assert use.sentence == "No: CUDA_VISIBLE_DEVICES=7 leaves no GPU"


def test_where_gpus_are_switched_off_nobody_counts_them() -> None:
    with use_context(Context(environ={"NBTF_GPU": "off"})):
        use = tf.runtime.is_gpu_in_use()

    assert [rung.holds for rung in use.rungs[:2]] == [None, False]
    assert (use.rung, "NBTF_GPU" in use.sentence) == ("visible", True)


def test_a_card_that_the_program_hides_is_told_at_the_second(one_card: None) -> None:
    tf.config.set_visible_devices([], "GPU")

    assert tf.runtime.is_gpu_in_use().sentence == "No: tf.config.set_visible_devices hides all GPUs"


def test_an_op_without_a_gpu_kernel_is_told_at_the_third(one_card: None) -> None:
    with tf.runtime.recording():
        tf.strings.join(["a", "b"])

    use = tf.runtime.is_gpu_in_use()

    assert use.sentence == "No: StringJoin ran on CPU:0: no GPU kernel for StringJoin"
    assert answers() == {"listed": True, "visible": True, "used": False, "real": None, "faster": None}


def test_constants_do_not_count_as_ops_that_ran(one_card: None) -> None:
    with tf.runtime.recording():
        tf.matmul([[1.0]], [[1.0]])
        tf.constant(1.0)
        with tf.device("/cpu:0"):
            tf.constant(1.0)

    assert "MatMul ran on GPU:0" in tf.runtime.is_gpu_in_use().sentence


def test_without_a_recording_a_product_is_computed(one_card: None) -> None:
    assert tf.runtime.is_gpu_in_use().rungs[2].why == "MatMul ran on GPU:0: lowest-numbered GPU"


def test_a_simulated_card_is_told_at_the_fourth(one_card: None) -> None:
    use = tf.runtime.is_gpu_in_use()

    assert not use
    assert use.sentence == "No: MatMul ran on GPU:0, which is simulated (NumPy on this CPU)"
    assert use.rungs[4].why == "not asked"


@pytest.mark.parametrize("faster", [True, False])
def test_a_real_card_is_in_use_whether_it_is_faster_or_not(
    one_card: None, monkeypatch: pytest.MonkeyPatch, faster: bool
) -> None:
    known: Any = gpu_use.devices
    monkeypatch.setattr(gpu_use, "devices", lambda: [device._replace(simulated=False) for device in known()])
    monkeypatch.setattr(gpu_comparison, "compared_with_cpu", lambda name: (faster, f"{name} was measured"))

    use = tf.runtime.is_gpu_in_use()

    assert use
    assert use.sentence == "Yes: MatMul ran on GPU:0, Tesla K20m (0000:02:00.0)"
    assert use.rungs[4] == ("faster", faster, "GPU:0 was measured")


def test_the_comparison_tells_both_times(one_card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_comparison, "_SIDE", 8)

    holds, why = gpu_comparison.compared_with_cpu("GPU:0")

    assert isinstance(holds, bool)
    assert why.startswith("a product of 8 x 8 matrices took ")
    assert "ms on GPU:0 and" in why
    assert why.endswith("ms on CPU:0, measured here")
