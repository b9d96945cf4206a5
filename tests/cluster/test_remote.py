"""Ops on devices of other tasks."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._cluster.in_process import InProcessEngine
from nbtf._cluster.session import TaskSession
from tests.cluster.connected import GPU_0, GPU_1, Connected
from tests.shells import interactive_shell

CPU_1 = "/job:worker/task:1/device:CPU:0"


def test_devices_of_tasks_are_listed_after_those_of_this_process(two: Connected) -> None:
    assert [
        "/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:GPU:0",
        "/job:worker/replica:0/task:1/device:CPU:0",
        "/job:worker/replica:0/task:1/device:GPU:0",
    ] == [device.name for device in tf.config.list_logical_devices()]


def test_what_nobody_asks_for_runs_here(two: Connected) -> None:
    assert tf.add(1.0, 2.0).device == "/job:localhost/replica:0/task:0/device:CPU:0"


def test_an_op_runs_where_it_was_asked_for(two: Connected) -> None:
    with tf.device(GPU_1):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        y = x @ x

    assert y.device == "/job:worker/replica:0/task:1/device:GPU:0"
    assert [[7.0, 10.0], [15.0, 22.0]] == y.numpy().tolist()


def test_a_shape_is_known_before_the_task_has_run_anything(two: Connected) -> None:
    two.engine.stop("worker", 1)
    with tf.device(GPU_1):
        y = tf.reduce_sum(tf.ones([3, 4, 5]), axis=1)

    assert ((3, 5), tf.float32) == (tuple(y.shape), y.dtype)
    two.engine.resume("worker", 1)


def test_a_task_begins_without_being_read_from(two: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, run = threading.Event(), TaskSession._run

    def run_and_say(session: TaskSession, record: Any) -> Any:
        begun.set()
        return run(session, record)

    monkeypatch.setattr(TaskSession, "_run", run_and_say)
    with tf.device(GPU_1):
        x = tf.exp(tf.ones([2]))

    assert begun.wait(60)
    assert x.shape == [2]


def test_an_op_whose_shape_depends_on_values_waits(two: Connected) -> None:
    with tf.device(GPU_1):
        where = tf.where(tf.constant([0.0, 1.0, 2.0]) > 0.5)
        parts = tf.dynamic_partition(tf.constant([1.0, 2.0, 3.0]), tf.constant([0, 1, 0]), 2)

    assert ([2, 1], [[1], [2]]) == (where.shape.as_list(), where.numpy().tolist())
    assert [[1.0, 3.0], [2.0]] == [part.numpy().tolist() for part in parts]


def test_a_tensor_goes_from_task_to_task_and_not_through_here(two: Connected) -> None:
    with tf.device(GPU_0):
        x = tf.zeros([1 << 18]) + 3.0
    before = two.count_bytes()

    with tf.device(GPU_1):
        y = x + 1.0
        total = tf.reduce_sum(y)

    assert total.numpy() == 4.0 * (1 << 18)
    assert two.count_bytes() - before < 2000


def test_a_tensor_is_copied_although_nobody_here_has_it_any_more(two: Connected) -> None:
    two.engine.stop("worker", 0)
    with tf.device(GPU_0):
        x = tf.fill([4], 2.0)
    with tf.device(GPU_1):
        y = tf.identity(x)
    del x
    gc.collect()
    two.engine.resume("worker", 0)

    assert [2.0] * 4 == y.numpy().tolist()


def test_two_tasks_take_from_each_other_in_turn(two: Connected) -> None:
    x = tf.constant([1.0])
    for number in range(40):
        with tf.device((GPU_0, GPU_1)[number % 2]):
            x = x + 1.0

    assert [41.0] == x.numpy().tolist()


def test_a_variable_lives_on_its_task(two: Connected) -> None:
    with tf.device(GPU_1):
        v = tf.Variable([1.0, 2.0])
    v.assign_add([1.0, 1.0])
    with tf.device(GPU_1), tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)

    assert [4.0, 6.0] == tape.gradient(loss, v).numpy().tolist()
    assert "/job:worker/replica:0/task:1/device:GPU:0" == loss.device == v.device


def test_random_numbers_are_those_of_this_process(two: Connected) -> None:
    def drawn(device: str) -> list[list[float]]:
        tf.random.set_seed(7)
        values: list[list[float]] = []
        for _ in range(3):
            with tf.device(device):
                values.append(tf.random.normal([3]).numpy().tolist())
            values.append(tf.random.uniform([2], 0, 9, tf.int32).numpy().tolist())
        with tf.device(device):
            values.append(tf.random.shuffle(tf.range(10)).numpy().tolist())
            values.append(tf.random.categorical([[0.1, 0.9]], 5).numpy().tolist())
        return values

    assert drawn("/CPU:0") == drawn(CPU_1)


def test_memory_that_nobody_needs_is_given_back(two: Connected) -> None:
    device = two.cluster.channels[1].devices[1]
    assert device.memory is not None
    with tf.device(GPU_1):
        x = tf.zeros([1000])
        device.synchronize()
        before = device.memory.stats().in_use
        y = [x + float(number) for number in range(10)]
        device.synchronize()
        during = device.memory.stats().in_use
    del y
    gc.collect()
    device.synchronize()

    assert during - before >= 10 * 4000
    assert before == device.memory.stats().in_use


def test_tables_are_empty_when_all_tensors_are_gone(two: Connected) -> None:
    with tf.device(GPU_0):
        x = [tf.fill([2], float(number)) for number in range(100)]
    with tf.device(GPU_1):
        y = [tensor * 2.0 for tensor in x]
    assert 198.0 == y[99].numpy()[0]

    del x, y
    gc.collect()
    two.cluster.wait()

    assert [0, 0] == [channel.tensors for channel in two.cluster.channels]


def test_ten_thousand_random_ops_are_those_of_numpy(two: Connected) -> None:
    random = np.random.default_rng(0)
    devices = [GPU_0, GPU_1, CPU_1, "/CPU:0"]
    expected = [np.full(4, number, np.float32) for number in range(8)]
    tensors = [tf.constant(array) for array in expected]
    for _ in range(10_000):
        a, b, target = random.integers(0, 8, 3)
        with tf.device(devices[random.integers(0, 4 if random.random() < 0.05 else 1)]):
            if random.random() < 0.5:
                expected[target], tensors[target] = expected[a] - expected[b], tensors[a] - tensors[b]
            else:
                half = np.float32(0.5)
                expected[target], tensors[target] = expected[a] * half + np.float32(b), tensors[a] * 0.5 + float(b)

    assert [array.tolist() for array in expected] == [tensor.numpy().tolist() for tensor in tensors]


def test_an_op_takes_at_most_32_bytes(two: Connected) -> None:
    with tf.device(GPU_1):
        weights = tf.Variable(tf.ones([8, 8]))
        x = tf.ones([4, 8])

        def step() -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.relu(x @ weights) ** 2)
            weights.assign_sub(tape.gradient(loss, weights) * 0.01)

        step()
        two.cluster.wait()
        channel = two.cluster.channels[1]
        before = channel.bytes_sent, channel.records_sent
        for _ in range(20):
            step()
        two.cluster.wait()

    nbytes, records = channel.bytes_sent - before[0], channel.records_sent - before[1]
    assert records > 200
    assert nbytes <= 32 * records


def test_python_functions_cannot_be_sent_and_say_so(two: Connected) -> None:
    from nbtf._ops.op import Op

    strange = Op("Strange", lambda xp, x: x, "T -> T", ["x"], sets={"T": frozenset({tf.float32})})
    with tf.device(GPU_1), pytest.raises(tf.errors.UnimplementedError, match=r"Strange cannot be sent to .*task:1"):
        strange(tf.constant(1.0))


def test_connecting_again_ends_what_was_before(connected: Callable[..., Connected]) -> None:
    first = connected()
    with tf.device(GPU_1):
        x = tf.constant([1.0])

    tf.config.experimental_connect_to_cluster(InProcessEngine({"worker": 2}, 1))

    with pytest.raises(tf.errors.AbortedError, match="invalidated by reconnect"):
        x.numpy()
    with tf.device(GPU_1), pytest.raises(tf.errors.AbortedError, match="invalidated by reconnect"):
        tf.add(x, 1.0)
    with tf.device(GPU_1):
        assert 2.0 == (tf.constant(1.0) + 1.0).numpy()
    assert first.cluster.devices == []


def test_devices_that_a_later_cluster_lacks_are_gone(connected: Callable[..., Connected]) -> None:
    connected()
    tf.config.experimental_connect_to_cluster(InProcessEngine({"worker": 1}, 1))

    remote = [device.name for device in tf.config.list_logical_devices() if "worker" in device.name]
    tf.config.set_soft_device_placement(False)

    assert ["/job:worker/replica:0/task:0"] * 2 == [name.partition("/device")[0] for name in remote]
    with pytest.raises(tf.errors.InvalidArgumentError, match="task:1"), tf.device("/job:worker/task:1/device:CPU:0"):
        tf.ones([2])


def test_addresses_alone_are_no_cluster() -> None:
    spec = tf.train.ClusterSpec({"worker": ["a:2222", "b:2222"]})

    with pytest.raises(tf.errors.UnimplementedError, match="LocalCluster"):
        tf.config.experimental_connect_to_cluster(spec)


def test_a_recording_tells_ops_copies_and_memory_of_tasks(two: Connected) -> None:
    with tf.runtime.recording() as record:
        with tf.device(GPU_0):
            x = tf.fill([1000], 1.0)
        with tf.device(GPU_1):
            y = x + 1.0
        two.cluster.wait()
        del y
        gc.collect()
        two.cluster.wait()

    names = [f"/job:worker/replica:0/task:{number}/device:GPU:0" for number in range(2)]
    events = record.events
    placed = [(event.op, event.device) for event in events if isinstance(event, tf.runtime.OpPlaced)]
    copied = [(event.source, event.target, event.nbytes) for event in events if isinstance(event, tf.runtime.Copied)]
    allocated = [event for event in events if isinstance(event, tf.runtime.Allocated) and event.nbytes == 4000]
    assert [("Fill", names[0]), ("AddV2", names[1])] == [entry for entry in placed if entry[0] in ("Fill", "AddV2")]
    assert (names[0], names[1], 4000) in copied
    assert [("Fill", names[0]), ("copy", names[1]), ("AddV2", names[1])] == [
        (event.label.op, event.device) for event in allocated if event.label is not None
    ]
    assert all(event.site is not None and event.site[0].endswith("test_remote.py") for event in allocated)
    assert names[1] in {event.device for event in events if isinstance(event, tf.runtime.Freed)}


def test_times_of_simulated_cards_are_modelled_and_others_are_launches(two: Connected) -> None:
    with tf.runtime.recording() as record:
        with tf.device(GPU_0):
            tf.add(tf.ones([10]), 1.0)
        with tf.device(CPU_1):
            tf.add(tf.ones([10]), 1.0)

    timings = {event.device: event.timing for event in record.events if isinstance(event, tf.runtime.OpExecuted)}
    assert "modelled" == timings["/job:worker/replica:0/task:0/device:GPU:0"]
    assert "launch" == timings["/job:worker/replica:0/task:1/device:CPU:0"]


def test_the_log_prints_where_ops_run(two: Connected, capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    with tf.device(GPU_1):
        tf.add(tf.ones([2]), 1.0)

    out = "".join(capsys.readouterr())
    assert "AddV2 in device /job:worker/replica:0/task:1/device:GPU:0" in out


def test_devices_of_tasks_are_described(two: Connected) -> None:
    rows = {device.name: device for device in tf.runtime.devices()}

    row = rows["/job:worker/task:1/GPU:0"]
    assert (True, "Tesla V100-SXM2-16GB") == (row.simulated, row.model)


def test_a_map_tells_whose_memory_a_piece_is(two: Connected) -> None:
    device = two.cluster.channels[1].devices[1]
    assert device.memory is not None
    with tf.device(GPU_1):
        x = tf.ones([1000])
        view = tf.reshape(x, [10, 100])
        other = tf.ones([2000])
    regions = device.memory.map()

    chunks = {chunk.offset: chunk for region in regions or () for chunk in region.chunks}
    pieces = [device.memory.piece(tensor._allocation) for tensor in (x, view, other)]
    assert pieces[0] == pieces[1] != pieces[2]
    assert [4000, 4000, 8000] == [chunks[piece.offset].requested for piece in pieces if piece is not None]


def test_an_error_of_a_cell_is_shown_below_it(two: Connected, tmp_path: Path) -> None:
    with interactive_shell(tmp_path) as shell:
        tf.load_ipython_extension(shell)
        shell.push({"tf": tf, "GPU_1": GPU_1})
        result = shell.run_cell("with tf.device(GPU_1):\n    x = tf.linalg.inv(tf.zeros([2, 2]))")
        following = shell.run_cell("1 + 1")
        read = shell.run_cell(
            "with tf.device(GPU_1):\n    x, y = tf.linalg.inv(tf.zeros([2, 2])), tf.linalg.inv(tf.zeros([3, 3]))\n"
            "x.numpy()"
        )
        after = shell.run_cell("2 + 2")
        tf.unload_ipython_extension(shell)

    assert isinstance(result.error_in_exec, tf.errors.InvalidArgumentError)
    assert isinstance(read.error_in_exec, tf.errors.InvalidArgumentError)
    assert (2, 4) == (following.result, after.result)
