"""Where is an op placed, and which reason is given?"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._record.events import Reason, Rule
from nbtf._runtime.context import Context
from nbtf._runtime.placement import KINDS, Machine, in_words, place_op
from nbtf._runtime.scopes import ANYWHERE, Request, merged
from nbtf._types import DType, float32
from nbtf.errors import InvalidArgumentError, MissingDeviceError
from tests.machines import LOCAL, machine


class FakeOp:
    """An op with kernels for some kinds of devices."""

    type = "Ink"

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        return device_type in self.kinds


ANY = FakeOp("CPU", "GPU")
CPU_ONLY = FakeOp("CPU")


def machine_with(gpus: int, **changes: Any) -> Machine:
    return Context(simulated_machine(gpus), environ={}).devices._replace(**changes)


def asked(text: str, *reason: str) -> Request:
    return merged(text, None, Reason(*(reason or ("explicit scope",))))


def placed(op: FakeOp, machine: Machine, request: Request | None = None) -> tuple[str, Any]:
    device, reason = place_op(op, [float32], None, request, machine)
    return device.short_name, reason


@pytest.mark.parametrize(
    ("op", "gpus", "settings", "request_", "device", "reason"),
    [
        pytest.param(ANY, 0, {}, None, "CPU:0", Reason("no GPU"), id="CPU where there is no GPU"),
        pytest.param(ANY, 4, {}, None, "GPU:0", Reason("lowest-numbered GPU"), id="first GPU of several"),
        pytest.param(CPU_ONLY, 4, {}, None, "CPU:0", Reason("no kernel on GPU", "Ink"), id="no kernel on GPU"),
        pytest.param(ANY, 4, {}, asked("GPU:2"), "GPU:2", Reason("explicit scope"), id="GPU asked for"),
        pytest.param(ANY, 4, {}, asked("/cpu:0"), "CPU:0", Reason("explicit scope"), id="CPU asked for"),
        pytest.param(ANY, 4, {}, asked(""), "CPU:0", Reason("explicit scope"), id="empty text is CPU:0"),
        pytest.param(
            ANY, 2, {}, asked("GPU:7"), "GPU:0", Reason("soft placement", "GPU:7"), id="missing GPU, soft: best device"
        ),
        pytest.param(
            ANY, 2, {}, asked("CPU:9"), "GPU:0", Reason("soft placement", "CPU:9"), id="missing CPU, soft: best device"
        ),
        pytest.param(
            ANY,
            0,
            {},
            asked("GPU:0"),
            "CPU:0",
            Reason("soft placement", "GPU:0"),
            id="missing GPU, soft, no GPU at all",
        ),
        pytest.param(
            ANY, 1, {}, asked("/device:INK:3"), "GPU:0", Reason("soft placement", "INK:3"), id="unknown type, soft"
        ),
        pytest.param(
            CPU_ONLY,
            2,
            {},
            asked("GPU:1"),
            "CPU:0",
            Reason("no kernel on GPU", "Ink"),
            id="GPU asked for, no kernel, soft",
        ),
        pytest.param(
            CPU_ONLY,
            2,
            {},
            asked("GPU:7"),
            "CPU:0",
            Reason("soft placement", "GPU:7"),
            id="missing GPU, no kernel, soft",
        ),
        pytest.param(
            ANY,
            2,
            {"soft": False},
            asked("GPU:1"),
            "GPU:1",
            Reason("explicit scope"),
            id="hard placement that can be met",
        ),
        pytest.param(
            ANY, 2, {"soft": False}, None, "GPU:0", Reason("lowest-numbered GPU"), id="hard, nothing asked for"
        ),
        pytest.param(
            CPU_ONLY,
            2,
            {"soft": False},
            None,
            "CPU:0",
            Reason("no kernel on GPU", "Ink"),
            id="hard, nothing asked, no kernel",
        ),
        pytest.param(ANY, 2, {"cell": asked("GPU:1", "cell")}, None, "GPU:1", Reason("cell"), id="cell"),
        pytest.param(
            ANY,
            2,
            {"cell": asked("GPU:1", "cell")},
            asked("CPU:0"),
            "CPU:0",
            Reason("explicit scope"),
            id="scope over cell",
        ),
        pytest.param(
            ANY,
            2,
            {"cell": asked("GPU:5", "cell")},
            None,
            "GPU:0",
            Reason("soft placement", "GPU:5"),
            id="cell that is missing",
        ),
        pytest.param(
            CPU_ONLY,
            2,
            {"cell": asked("GPU:1", "cell")},
            None,
            "CPU:0",
            Reason("no kernel on GPU", "Ink"),
            id="cell, no kernel",
        ),
        pytest.param(
            ANY,
            2,
            {"default": asked("GPU:1", "session default")},
            None,
            "GPU:1",
            Reason("session default"),
            id="session default",
        ),
        pytest.param(
            ANY,
            2,
            {"default": asked("GPU:1", "session default"), "cell": asked("CPU:0", "cell")},
            None,
            "CPU:0",
            Reason("cell"),
            id="cell over default",
        ),
        pytest.param(
            ANY,
            2,
            {"default": asked("CPU:0", "session default")},
            asked("GPU:1"),
            "GPU:1",
            Reason("explicit scope"),
            id="scope over default",
        ),
        pytest.param(
            ANY,
            2,
            {"cell": asked("GPU:1", "cell"), "default": asked("CPU:0", "session default")},
            ANYWHERE,
            "GPU:0",
            Reason("lowest-numbered GPU"),
            id="tf.device(None) over cell and default",
        ),
        pytest.param(
            ANY,
            0,
            {"default": asked("GPU:1", "session default")},
            ANYWHERE,
            "CPU:0",
            Reason("no GPU"),
            id="tf.device(None), no GPU",
        ),
    ],
)
def test_op_goes_to(
    op: FakeOp, gpus: int, settings: dict[str, Any], request_: Request | None, device: str, reason: Reason
) -> None:
    assert (device, reason) == placed(op, machine_with(gpus, **settings), request_)


@pytest.mark.parametrize("request_", [None, ANYWHERE, asked("CPU:0"), asked("GPU:7")])
def test_op_on_a_variable_goes_where_the_variable_is(request_: Request | None) -> None:
    machine = machine_with(2, soft=False, cell=asked("GPU:0"))
    home = machine.by_name[f"{LOCAL}GPU:1"]

    device, reason = place_op(CPU_ONLY, [float32], home, request_, machine)

    assert (home, Reason("follows variable", "GPU:1")) == (device, reason)


def test_replica_is_the_reason_inside_a_strategy() -> None:
    assert ("GPU:1", Reason("replica of a strategy", "1")) == placed(
        ANY, machine_with(2), asked("GPU:1", "replica of a strategy", "1")
    )


def test_replica_on_a_missing_device_is_soft_placement() -> None:
    assert ("GPU:0", Reason("soft placement", "GPU:3")) == placed(
        ANY, machine_with(2), asked("GPU:3", "replica of a strategy", "3")
    )


def test_several_cpus_are_all_reachable_but_only_the_first_is_chosen() -> None:
    from nbtf._devices.cpu import CPU

    first, second = CPU(0), CPU(1)
    machine = Machine((first, second), {first.name: first, second.name: second}, first)

    assert (first, Reason("no GPU")) == place_op(ANY, [], None, None, machine)
    assert (second, Reason("explicit scope")) == place_op(ANY, [], None, asked("CPU:1"), machine)
    assert (first, Reason("soft placement", "CPU:7")) == place_op(ANY, [], None, asked("CPU:7"), machine)


# What cannot be met


def message(op: FakeOp, text: str, gpus: int, **settings: Any) -> str:
    with pytest.raises(MissingDeviceError) as caught:
        placed(op, machine_with(gpus, **settings), asked(text))
    return caught.value.message


def test_missing_device_with_hard_placement_lists_what_there_is() -> None:
    assert (
        f"Could not satisfy device specification '{LOCAL}GPU:2'. enable_soft_placement=0. Supported device types "
        f"[GPU, CPU]. All available devices [{LOCAL}GPU:0, {LOCAL}GPU:1, {LOCAL}CPU:0]."
    ) == message(ANY, "/GPU:2", 2, soft=False)


def test_missing_kernel_with_hard_placement_lists_the_types_that_have_one() -> None:
    assert (
        f"Could not satisfy device specification '{LOCAL}GPU:0'. enable_soft_placement=0. Supported device types "
        f"[CPU]. All available devices [{LOCAL}GPU:0, {LOCAL}CPU:0]."
    ) == message(CPU_ONLY, "/GPU:0", 1, soft=False)


@pytest.mark.parametrize("text", ["/job:worker/CPU:0", "/task:3/CPU:0", "/replica:1/CPU:0", "/task:1/GPU:0"])
def test_another_job_replica_or_task_is_refused_although_placement_is_soft(text: str) -> None:
    assert "enable_soft_placement=1." in message(ANY, text, 1)


def test_refusal_is_an_invalid_argument_and_a_runtime_error() -> None:
    with pytest.raises(MissingDeviceError) as caught:
        placed(ANY, machine_with(0, soft=False), asked("GPU:0"))

    assert isinstance(caught.value, InvalidArgumentError)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("setting", ["cell", "default"])
def test_cell_and_default_device_are_refused_like_a_scope(setting: str) -> None:
    machine = machine_with(1, soft=False, **{setting: asked("GPU:4")})

    with pytest.raises(MissingDeviceError, match=r"GPU:4'. enable_soft_placement=0"):
        placed(ANY, machine)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("text", ["/CPU:-1", "/GPU:-3", f"GPU:{2**31}", "/job:a-b/CPU:0", "/job:0/CPU:0"])
def test_what_no_machine_could_have_is_malformed(text: str, soft: bool) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^Malformed device specification '/job:.*' in eager op: Ink$"):
        placed(ANY, machine_with(1, soft=soft), asked(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/task:1/GPU:0", f"{LOCAL}GPU:0 unknown device.\nAvailable tasks".replace("task:0", "task:1")),
        ("GPU:7", "Could not satisfy"),
    ],
)
def test_a_constant_is_refused_in_the_words_of_a_copy_only_on_another_machine(text: str, words: str) -> None:
    constant = FakeOp("CPU", "GPU")
    constant.type = "_EagerConst"

    with pytest.raises(MissingDeviceError, match=f"^{words}"):
        placed(constant, machine_with(1, soft=False), asked(text))


def test_largest_index_is_not_malformed() -> None:
    assert ("GPU:0", Reason("soft placement", f"GPU:{2**31 - 1}")) == placed(
        ANY, machine_with(1), asked(f"GPU:{2**31 - 1}")
    )


# In words


WORDS = [
    (Reason("explicit scope"), "GPU:1: asked for by tf.device"),
    (Reason("cell"), "GPU:1: asked for by the cell"),
    (Reason("session default"), "GPU:1: the default device of this session"),
    (Reason("lowest-numbered GPU"), "GPU:1: lowest-numbered GPU"),
    (Reason("no GPU"), "GPU:1: no GPU"),
    (Reason("no kernel on GPU", "Ink"), "GPU:1: no GPU kernel for Ink"),
    (Reason("soft placement", "GPU:7"), "GPU:1: asked for GPU:7, soft placement"),
    (Reason("follows variable", "GPU:1"), "GPU:1: follows variable GPU:1"),
    (Reason("host-memory dtype", "int32"), "GPU:1: int32 values are kept in host memory"),
    (Reason("replica of a strategy", "1"), "GPU:1: replica 1 of a strategy"),
    (Reason("strategy"), "GPU:1: placed by the strategy"),
    (Reason("strategy input"), "GPU:1: input, placed by the strategy"),
    (Reason("strategy variable"), "GPU:1: variable, placed by the strategy"),
    (Reason("strategy reduction"), "GPU:1: reduction, placed by the strategy"),
    (Reason("strategy update"), "GPU:1: update, placed by the strategy"),
    (Reason("dataset"), "GPU:1: placed by the dataset"),
    (Reason("session placer", "with its input"), "GPU:1: placed by the session: with its input"),
    (Reason("follows its input"), "GPU:1: follows its input"),
    (Reason("asked by the call"), "GPU:1: asked for by the call"),
    (Reason("default device"), "GPU:1: the library's default device"),
    (Reason("backward", "MmBackward0"), "GPU:1: backward of MmBackward0"),
    (Reason("view"), "GPU:1: a view of its input"),
    (Reason("backward view", "MmBackward0"), "GPU:1: a view, in backward of MmBackward0"),
    (Reason("compiled", "step"), "GPU:1: compiled: step"),
    (Reason("follows resource", "GPU:1"), "GPU:1: follows the resource on GPU:1"),
    (Reason("follows its use"), "GPU:1: follows the op that uses its result"),
    (Reason("host-memory result", "Shape"), "GPU:1: the GPU kernel of Shape writes to host memory"),
    (Reason("TensorFlow's colocation", "v"), "GPU:1: placed by TensorFlow, colocated with v"),
    (Reason("TensorFlow's placer"), "GPU:1: placed by TensorFlow"),
    (Reason("several devices", "b on CPU:0"), "GPU:1: its operands are on several devices: b on CPU:0"),
    (Reason("TensorFlow's optimizer"), "GPU:1: made by TensorFlow's optimizer"),
]


@pytest.mark.parametrize(("reason", "words"), WORDS)
def test_reason_in_words(reason: Reason, words: str) -> None:
    assert words == in_words("Ink", f"{LOCAL}GPU:1", reason)


def test_what_is_no_reason_has_no_words() -> None:
    with pytest.raises(TypeError, match="`reason` must be a reason"):
        in_words("Ink", f"{LOCAL}GPU:1", "no GPU")  # type: ignore[arg-type]


def test_words_of_every_kind_are_checked_above() -> None:
    assert KINDS.keys() == {reason.kind for reason, _ in WORDS}


def test_kind_that_is_not_known_yet_is_shown_as_it_is() -> None:
    assert "CPU:0: phase of the moon" == in_words("Ink", f"{LOCAL}CPU:0", Reason("phase of the moon"))


# The way to a decision


def _ways(device: str | None, op: Any = tf.ones, cell: str | None = None) -> list[str]:
    """The rules that were tried for the last op that ran in a scope."""
    undo = None if cell is None else tf.runtime.cell_device(cell)
    with tf.runtime.recording() as record, tf.device(device) if device else nullcontext():
        op([2])
    if undo is not None:
        undo()
    placed = [event for event in record.events if isinstance(event, tf.runtime.OpPlaced)]
    return [f"{rule}: {answer}" for rule, _, answer in placed[-1].reason.path]


def test_a_reason_has_the_rules_that_were_tried_in_order() -> None:
    soft = ["machine: no: GPU:0 to GPU:3", "soft placement: yes", "lowest-numbered GPU: GPU:0"]
    with machine(4):
        assert ["lowest-numbered GPU: GPU:0"] == _ways(None)
        assert ["tf.device: GPU:1", "machine: yes"] == _ways("GPU:1")
        assert ["tf.device: GPU:7", *soft] == _ways("GPU:7")
        # Reasons are equal, and yet the way is the right one.
        assert ["%%device: GPU:7", *soft] == _ways(None, cell="GPU:7")
        tf.runtime.set_default_device("GPU:7")
        assert ["default device: GPU:7", *soft] == _ways(None)
    with machine(0):
        assert ["lowest-numbered GPU: no", "CPU: CPU:0"] == _ways(None)
        assert ["tf.device: GPU:0", "machine: no: none", "soft placement: yes", "CPU: CPU:0"] == _ways("GPU:0")


def test_a_missing_kernel_and_a_variable_are_rules_too() -> None:
    with machine(2):
        texts = ["lowest-numbered GPU: GPU:0", "kernel: no", "CPU: CPU:0"]
        assert texts == _ways(None, lambda _: tf.strings.join(["a", "b"]))
        with tf.device("GPU:1"):
            v = tf.Variable(1.0)
        assert ["variable: GPU:1"] == _ways(None, lambda _: v.assign_add(1.0))


def test_a_path_goes_with_a_reason_and_does_not_make_it_another() -> None:
    reason = Reason("soft placement", "GPU:7").after(Rule("soft placement", "Is it on?", "yes"))

    assert reason == Reason("soft placement", "GPU:7")
    assert reason.path == pickle.loads(pickle.dumps(reason)).path
    assert 1 == len({reason, Reason("soft placement", "GPU:7")})


def test_an_explanation_tells_the_way() -> None:
    with machine(4), tf.runtime.recording():
        with tf.device("GPU:7"):
            x = tf.ones([2])
        told = tf.runtime.explain_placement(x)

        assert ("tf.device", "What was asked for?", "GPU:7") == told.path[0]
        way = "tf.device: GPU:7 → machine: no: GPU:0 to GPU:3 → soft placement: yes → lowest-numbered GPU: GPU:0"
        assert f"decision:  {way}" in str(told).splitlines()
        assert "decision:" not in str(tf.runtime.explain_placement(tf.ones([2])))
