"""Does `tf.runtime` show what is there and what happens, and let it be arranged?"""

from __future__ import annotations

import gc
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record.recorder import Recorder
from nbtf._runtime.context import CURRENT
from tests.machines import LOCAL, MIB, SCRATCH, machine

# Simulated GPUs


def test_simulated_gpus_are_announced_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said = tf.runtime.simulate_gpus(4, model="Tesla K20m")

    sentence = "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
    assert (sentence, f"{sentence}\n") == (said, capsys.readouterr().out)


def test_sentence_is_not_shown_twice_in_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    said: Any = tf.runtime.simulate_gpus(1)
    capsys.readouterr()

    assert said._ipython_display_() is None
    assert ("", "") == capsys.readouterr()


def test_simulated_gpus_are_where_ops_go() -> None:
    tf.runtime.simulate_gpus(2)

    assert ["/physical_device:GPU:0", "/physical_device:GPU:1"] == [
        gpu.name for gpu in tf.config.list_physical_devices("GPU")
    ]
    assert f"{LOCAL}GPU:0" == tf.constant(1.0).device


def test_last_wish_before_first_use_wins_and_zero_removes_them() -> None:
    counts: list[int] = []
    for wanted in (4, 1, 0):
        tf.runtime.simulate_gpus(wanted)
        counts.append(len(tf.config.list_physical_devices("GPU")))

    assert [4, 1, 0] == counts
    assert f"{LOCAL}CPU:0" == tf.constant(1.0).device


def test_configuration_of_other_cards_is_forgotten() -> None:
    tf.runtime.simulate_gpus(2)
    first = tf.config.list_physical_devices("GPU")[0]
    tf.config.set_visible_devices(first, "GPU")
    tf.config.experimental.set_memory_growth(first, True)

    tf.runtime.simulate_gpus(3)

    assert 3 == len(tf.config.get_visible_devices("GPU"))
    assert tf.config.experimental.get_memory_growth(first) is None


@pytest.mark.parametrize(
    ("memory", "mib"), [("5GiB", 5120), ("512 MiB", 512), (512, 512), (512.5, 512.5), ("1.5gib", 1536)]
)
def test_memory_of_a_card_may_be_chosen(memory: Any, mib: float) -> None:
    tf.runtime.simulate_gpus(1, memory=memory)

    assert mib * MIB == tf.runtime.devices()[1].memory


@pytest.mark.parametrize("if_missing", [False, True])
def test_cards_are_simulated_where_there_are_none(if_missing: bool) -> None:
    tf.runtime.simulate_gpus(2, if_missing=if_missing)

    assert [True, True] == [device.simulated for device in tf.runtime.devices() if device.device_type == "GPU"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1, "model": "Voodoo"}, "Unknown card 'Voodoo'. Known cards: Tesla K20m"),
        ({"n": 1, "model": "A100"}, "'A100' matches more than one card: "),
        ({"n": -1}, "The number of simulated GPUs is -1; expected 0, 1, 2 or more."),
        ({"n": 1.5}, "The number of simulated GPUs is 1.5; expected 0, 1, 2 or more."),
        ({"n": True}, "The number of simulated GPUs is True; "),
        ({"n": 1, "memory": "lots"}, "The memory of a simulated GPU is 'lots'; expected a number of MiB"),
        ({"n": 1, "memory": 0}, "The memory of a simulated GPU is 0; "),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(
    arguments: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        tf.runtime.simulate_gpus(**arguments)

    assert ("", []) == (capsys.readouterr().out, tf.config.list_physical_devices("GPU"))


def test_a_cell_that_runs_again_asks_for_the_machine_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    first = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    x = tf.constant([1.0])

    again = tf.runtime.simulate_gpus(2, model="Tesla K20m")

    assert (first, f"{first}\n{first}\n") == (again, capsys.readouterr().out)
    assert "GPU:0" in tf.negative(x).device


def test_simulated_gpus_come_before_first_use() -> None:
    tf.constant(1.0)
    with pytest.raises(RuntimeError, match=r"Call tf.runtime.restart\(\) first"):
        tf.runtime.simulate_gpus(1)

    tf.runtime.restart()
    tf.runtime.simulate_gpus(1)
    assert f"{LOCAL}GPU:0" == tf.constant(1.0).device


def test_cards_that_the_environment_hides_stay_hidden() -> None:
    with machine(0, CUDA_VISIBLE_DEVICES="1"):
        tf.runtime.simulate_gpus(2)

        assert [1] == [device.card for device in tf.runtime.devices() if device.simulated]


# A look at the devices


def test_look_fixes_nothing_and_maps_nothing() -> None:
    with machine(2, "Tesla K20m") as context:
        looked = tf.runtime.devices()

        assert context.machine is None
        assert [None, None] == [device.in_use for device in looked if device.simulated]
    assert [("CPU:0", "CPU:0"), ("GPU:0", "GPU:0 (simulated Tesla K20m)")] == [(d.name, d.label) for d in looked[:2]]


def test_look_before_first_use_shows_what_will_be() -> None:
    with machine(2, "Tesla K20m"):
        gpus = tf.config.list_physical_devices("GPU")
        pieces = [tf.config.LogicalDeviceConfiguration(64)] * 2
        tf.config.set_logical_device_configuration(gpus[0], pieces)
        planned = [(device.name, device.card) for device in tf.runtime.devices()]
        tf.constant(1.0)

        assert planned == [(device.name, device.card) for device in tf.runtime.devices()]
    assert [("CPU:0", None), ("GPU:0", 0), ("GPU:1", 0), ("GPU:2", 1)] == planned


def test_look_after_first_use_shows_the_accounts() -> None:
    with machine(1, "Tesla K20m"):
        kept = tf.constant([1.0] * 100)
        cpu, gpu = tf.runtime.devices()

    assert (None, None, None, None) == (cpu.memory, cpu.in_use, cpu.peak, cpu.pool)
    assert (5120 * MIB, 4620 * MIB, 4620 * MIB) == (gpu.memory, gpu.memory_limit, gpu.pool)
    assert (SCRATCH + 512, SCRATCH + 512) == (gpu.in_use, gpu.peak)
    assert ("0000:02:00.0", "Tesla K20m", 0) == (gpu.bus_id, gpu.model, gpu.card)
    assert 100 == kept.shape[0]


# The memory map


def test_memory_map_shows_regions_and_who_holds_what() -> None:
    with machine(1, "Tesla K20m"):
        tf.constant(1.0)
        with tf.runtime.recording():
            kept = tf.ones([10, 10])
        (region,) = tf.runtime.memory_map("GPU:0")
        line = test_memory_map_shows_regions_and_who_holds_what.__code__.co_firstlineno + 4

    scratch, ones = [chunk for chunk in region.chunks if chunk.in_use]
    assert (4620 * MIB, sum(chunk.size for chunk in region.chunks)) == (region.size, region.size)
    assert ("scratch", 1028, 1280, 0) == (scratch.label.op, scratch.requested, scratch.size, scratch.offset)
    assert ("Fill", "float32", (10, 10), (__file__, line)) == tuple(ones.label)
    assert (400, 512) == (ones.requested, ones.size)
    assert 100.0 == kept.numpy().sum()


def test_memory_map_takes_full_names() -> None:
    with machine(1):
        tf.constant(1.0)

        assert 1 == len(tf.runtime.memory_map(f"{LOCAL}GPU:0"))


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("GPU:7", "No matching devices found for 'GPU:7'. Available devices: GPU:0, CPU:0."),
        (
            "CPU:0",
            "CPU:0 has no memory map. Use a simulated GPU, or a real one with NBTF_GPU_ALLOCATOR=bfc.",
        ),
    ],
)
def test_memory_map_of_another_device_is_refused(device: str, message: str) -> None:
    with machine(1):
        tf.constant(1.0)
        with pytest.raises(ValueError, match=f"^{message}$"):
            tf.runtime.memory_map(device)


def test_memory_map_fixes_nothing() -> None:
    with machine(1) as context:
        with pytest.raises(ValueError, match="No matching devices"):
            tf.runtime.memory_map("GPU:0")

        assert context.machine is None


# The default device of the session


def test_default_device_is_used_when_nothing_else_is_asked_for() -> None:
    with machine(2):
        tf.runtime.set_default_device("GPU:1")
        seen = [tf.constant(1.0).device]
        with tf.device("CPU:0"):
            seen.append(tf.constant(1.0).device)
        with tf.device(None):
            seen.append(tf.constant(1.0).device)
        seen.append(tf.constant(1.0).device)
        with tf.device("GPU"):
            seen.append(tf.constant(1.0).device)
        tf.runtime.set_default_device(None)
        seen.append(tf.constant(1.0).device)

    assert [f"{LOCAL}{name}" for name in ("GPU:1", "CPU:0", "GPU:0", "GPU:1", "GPU:0", "GPU:0")] == seen


def test_default_device_that_is_no_device_changes_nothing() -> None:
    with machine(2):
        tf.runtime.set_default_device("GPU:1")
        with pytest.raises(ValueError, match="Unknown attribute 'banana'"):
            tf.runtime.set_default_device("banana")

        assert f"{LOCAL}GPU:1" == tf.constant(1.0).device


def test_default_device_that_is_missing_is_soft_or_refused() -> None:
    tf.runtime.set_default_device("GPU:1")
    soft = tf.constant(1.0).device
    tf.config.set_soft_device_placement(False)

    assert f"{LOCAL}CPU:0" == soft
    with pytest.raises(RuntimeError, match=r"GPU:1'. enable_soft_placement=0"):
        tf.constant(1.0)


# What is no name and no function


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (tf.runtime.cell_device, 'cell_device takes a device string such as "GPU:1", got None'),
        (tf.runtime.observe, "observe takes a function of one event, got None"),
    ],
)
def test_nothing_is_refused_with_what_was_expected(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        call(None)

    assert not CURRENT.context.watched


# Recording


def test_recording_takes_down_what_happens_in_its_block() -> None:
    with machine(2):
        tf.constant(0.0)
        with tf.runtime.recording() as record:
            with tf.device("GPU:1"):
                x = tf.constant([1.0, 2.0])
            y = tf.negative(x)
            y.numpy()
        tf.constant(0.0)

    assert [("_EagerConst", "GPU:1"), ("Neg", "GPU:0")] == record.ops
    assert [("CPU:0", "GPU:1", 8), ("GPU:1", "GPU:0", 8), ("GPU:0", "CPU:0", 8)] == record.copies
    assert (2, 2, 3) == (
        record.snapshot().placed,
        record.snapshot().executed,
        sum(record.snapshot().copies.values()),
    )


def test_recording_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), tf.runtime.recording() as record:
        _ = 1 / 0
    tf.constant(1.0)

    assert [] == record.ops


def test_recordings_nest() -> None:
    with tf.runtime.recording() as outer:
        tf.negative(1.0)
        with tf.runtime.recording() as inner:
            tf.abs(-1.0)

    assert ["_EagerConst", "Neg", "_EagerConst", "Abs"] == [op for op, _ in outer.ops]
    assert ["_EagerConst", "Abs"] == [op for op, _ in inner.ops]


def test_recording_keeps_so_many_events_and_counts_all() -> None:
    with tf.runtime.recording(capacity=3) as record:
        for _ in range(10):
            tf.constant([1.0])

    assert (3, 10, 20) == (len(record.events), record.snapshot().placed, record.snapshot().heard)
    assert 1 == len(record.snapshot(last=1).events)


def test_recording_goes_on_over_a_restart() -> None:
    with tf.runtime.recording() as record:
        tf.constant(1.0)
        tf.runtime.restart()
        tf.constant(1.0)
    tf.constant(1.0)

    assert 2 == len(record.ops)


def test_snapshots_can_be_pickled() -> None:
    with machine(1), tf.runtime.recording() as record:
        tf.negative([1.0]).numpy()

    assert record.snapshot() == pickle.loads(pickle.dumps(record.snapshot()))


# Why is it there?


def why(make: Callable[[], Any]) -> str:
    with tf.runtime.recording():
        return tf.runtime.explain_placement(make()).why


def asked_for(device: str, value: Any) -> Any:
    with tf.device(device):
        return tf.constant(value)


@pytest.mark.parametrize(
    ("gpus", "make", "words"),
    [
        (0, lambda: tf.constant([1.0]), "no GPU"),
        (2, lambda: tf.constant([1.0]), "lowest-numbered GPU"),
        (2, lambda: tf.constant([1.0]) + 1.0, "lowest-numbered GPU"),
        (2, lambda: asked_for("GPU:1", 1.0), "asked for by tf.device"),
        (2, lambda: asked_for("GPU:7", 1.0), "asked for GPU:7, soft placement"),
        (2, lambda: tf.constant([1, 2]) + 1, "int32 values are kept in host memory"),
        (1, lambda: tf.strings.join(["a", "b"]), "no GPU kernel for StringJoin"),
        (2, lambda: tf.Variable([1.0]).assign_add([1.0]), "follows variable GPU:0"),
    ],
)
def test_placement_is_explained(gpus: int, make: Callable[[], Any], words: str) -> None:
    with machine(gpus):
        assert words == why(make)


def test_placement_by_cell_and_session_is_explained() -> None:
    with machine(2):
        tf.runtime.set_default_device("GPU:1")
        session = why(lambda: tf.constant(1.0))
        undo = tf.runtime.cell_device("GPU:0")
        cell = why(lambda: tf.constant(1.0))
        undo()

    assert ("the default device of this session", "asked for by the cell") == (session, cell)


def test_explanation_is_text_and_a_table() -> None:
    with machine(2, "Tesla K20m"), tf.runtime.recording():
        x = asked_for("GPU:1", [[1.0, 2.0]])
        explained: Any = tf.runtime.explain_placement(x)
        line = asked_for.__code__.co_firstlineno + 2

    rows = {
        "tensor": "[1, 2] float32",
        "device": "GPU:1 (simulated Tesla K20m)",
        "made by": "_EagerConst",
        "why there": "asked for by tf.device",
        "code": f"test_runtime.py, line {line}",
    }
    assert "\n".join(f"{key + ':':<11}{text}" for key, text in rows.items()) == str(explained) == repr(explained)
    cells = re.findall(r"<th style='text-align:left'>(.*?)</th><td style='text-align:left'>(.*?)</td>", html(explained))
    assert list(rows.items()) == cells


def html(explained: Any) -> str:
    return explained._repr_html_()


def test_table_shows_text_as_text() -> None:
    with tf.runtime.recording():
        names = {"__name__": "__main__", "tf": tf}
        exec(compile("x = tf.constant(1.0)", "<script>alert('&')", "exec"), names)

    table = html(tf.runtime.explain_placement(names["x"]))
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;), line 1" in table
    assert "<script>" not in table


def test_explanation_can_be_had_after_the_recording() -> None:
    with tf.runtime.recording():
        x = tf.constant(1.0)

    assert "no GPU" == tf.runtime.explain_placement(x).why
    tf.runtime.restart()
    assert "no GPU" == tf.runtime.explain_placement(x).why


def test_explanation_looks_into_all_recorders_that_listen() -> None:
    stop = tf.runtime.start_recorder(Recorder())
    x = tf.constant(1.0)
    with tf.runtime.recording():
        y = tf.constant(2.0)
        explained = [tf.runtime.explain_placement(one).op for one in (x, y)]
    stop()

    assert ["_EagerConst", "_EagerConst"] == explained


def test_only_the_last_recorder_that_stopped_is_kept() -> None:
    def recorders() -> int:
        gc.collect()
        return sum(isinstance(thing, Recorder) for thing in gc.get_objects())

    before = recorders()
    for _ in range(5):
        with tf.runtime.recording():
            tf.constant(1.0)

    assert 1 == recorders() - before


def test_tensor_made_while_nobody_recorded_is_explained_as_far_as_known() -> None:
    with machine(1):
        x = tf.constant([1.0])

        explained = tf.runtime.explain_placement(x)
    assert ("GPU:0 (simulated Tesla V100-SXM2-16GB)", None, None) == (explained.label, explained.op, explained.reason)
    assert "it was created outside a recording; use %load_ext nbtf or tf.runtime.recording()" == explained.why


@pytest.mark.parametrize("thing", [1.0, "GPU:0", np.ones(1), None])
def test_only_tensors_and_variables_are_explained(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"^`tensor` must be a tensor or a variable. Got <class"):
        tf.runtime.explain_placement(thing)


def test_explaining_fixes_nothing_more_than_the_tensor_did() -> None:
    x = tf.constant(1.0)
    tf.runtime.restart()

    tf.runtime.explain_placement(x)

    assert CURRENT.context.machine is None


def test_explanation_tells_a_forgotten_recording_from_none() -> None:
    with tf.runtime.recording():
        x = tf.add(1.0, 2.0)
    with tf.runtime.recording():
        pass

    assert "the recording of its creation is no longer available" == tf.runtime.explain_placement(x).why
