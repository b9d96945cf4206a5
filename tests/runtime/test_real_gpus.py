"""How does a program see real GPUs? The cards are fake: no GPU code is executed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.cuda.device import CudaGPU
from nbtf._record.events import OpExecuted
from nbtf._runtime.context import CURRENT
from nbtf.errors import InternalError
from tests.fake_cupy.devices import MIB, fake_context
from tests.fake_cupy.machine import FakeMachine
from tests.fake_cupy.runtime import CUDARuntimeError


@pytest.fixture
def machine() -> Iterator[FakeMachine]:
    with fake_context(2) as made:
        yield made


def kernels(machine: FakeMachine) -> list[tuple[str, int]]:
    """Returns which kernels ran, and on which card."""
    return [(entry[1], entry[2]) for entry in machine.diary if entry[0] == "kernel"]


def gpus() -> list[Any]:
    return list(CURRENT.context.gpus.made)


def matrix() -> Any:
    return tf.constant([[1.0, 2.0], [3.0, 4.0]])


# Looking


def test_looking_creates_no_context(machine: FakeMachine) -> None:
    listed = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(listed[1])
    tf.runtime.devices()
    tf.runtime.physical_devices()
    tf.config.list_logical_devices()
    tf.config.experimental.get_memory_info("GPU:1")
    available = tf.test.is_gpu_available(min_cuda_compute_capability=(7, 0)), tf.test.is_built_with_cuda()

    assert ["/physical_device:GPU:0", "/physical_device:GPU:1"] == [one.name for one in listed]
    assert {"device_name": "Fake GPU", "compute_capability": (7, 0)} == details
    assert ((True, True), set()) == (available, machine.contexts)


def test_cards_that_are_hidden_are_not_there() -> None:
    with fake_context(2):
        tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[1], "GPU")
        with tf.device("GPU:0"):
            x = matrix() + 1.0

        assert (["/device:GPU:0"], 1) == (
            [one.name for one in tf.config.list_logical_devices("GPU")],
            x._array.data.device_id,
        )


def test_only_cards_that_are_used_are_opened(machine: FakeMachine) -> None:
    with tf.device("GPU:0"):
        matrix()

    assert ({0}, ["ready", "unopened"]) == (machine.contexts, [one.state for one in gpus()])


def test_real_cards_are_taken_where_there_are_enough(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = tf.runtime.simulate_gpus(2, if_missing=True)

    assert "2 real GPUs: GPU:0 is Fake GPU (1 GiB), GPU:1 is Fake GPU (1 GiB). Nothing is simulated." == sentence
    assert f"{sentence}\n" == capsys.readouterr().out
    assert {False} == {one.simulated for one in tf.runtime.devices()}


@pytest.mark.parametrize(("n", "if_missing"), [(3, True), (2, False)])
def test_otherwise_they_are_simulated(machine: FakeMachine, n: int, if_missing: bool) -> None:
    tf.runtime.simulate_gpus(n, if_missing=if_missing)

    assert n == sum(one.simulated for one in tf.runtime.devices())


def test_without_simulated_ones_the_real_ones_are_back(machine: FakeMachine) -> None:
    tf.runtime.simulate_gpus(4)
    tf.runtime.simulate_gpus(0)

    assert 2 == len(tf.config.list_physical_devices("GPU"))


# Placing


def test_ops_go_to_the_first_gpu_and_copies_are_made(machine: FakeMachine) -> None:
    x = matrix()
    with tf.device("GPU:1"):
        y = x @ x
    with tf.device("CPU:0"):
        z = y + y

    assert [[14, 20], [30, 44]] == z.numpy().tolist()
    assert [x.device, y.device, z.device] == [
        f"/job:localhost/replica:0/task:0/device:{name}" for name in ("GPU:0", "GPU:1", "CPU:0")
    ]


def test_texts_and_int32_stay_in_the_computer(machine: FakeMachine) -> None:
    texts = tf.strings.join(["a", "b"])
    numbers = tf.constant([1, 2]) + 1
    picked = tf.gather(["a", "b"], tf.constant([1], tf.int64))

    host = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert [b"ab", [2, 3], [b"b"]] == [texts.numpy(), numbers.numpy().tolist(), picked.numpy().tolist()]
    assert {host} == {one.backing_device for one in (texts, numbers, picked)}


def test_a_card_is_split_into_devices_with_limits_of_their_own() -> None:
    with fake_context(1) as machine:
        card = tf.config.list_physical_devices("GPU")[0]
        limits = [tf.config.LogicalDeviceConfiguration(memory_limit=n) for n in (100, 200)]
        tf.config.set_logical_device_configuration(card, limits)
        with tf.device("GPU:1"):
            x = tf.random.normal([10]) * 2.0

        assert ["unopened", "ready"] == [one.state for one in gpus()]
        assert (200 * MIB, 0, 100 * MIB) == (
            machine.cards[0].taken,
            gpus()[0].card.ordinal,
            gpus()[0].account.stats().limit,
        )
        assert x._array.data.device_id == 0


@pytest.mark.parametrize(
    ("ask", "taken"),
    [
        (lambda card: tf.config.experimental.set_memory_growth(card, False), True),
        (lambda card: tf.config.experimental.set_memory_growth(card, True), False),
        (lambda card: tf.config.gpu.set_per_process_memory_fraction(0.25), True),
        (lambda card: None, False),
    ],
)
def test_tensorflows_settings_give_its_behaviour(ask: Any, taken: bool) -> None:
    with fake_context(1) as machine:
        ask(tf.config.list_physical_devices("GPU")[0])
        matrix()

        assert taken == (machine.cards[0].taken > 200 * MIB)


def test_random_numbers_are_those_of_the_cpu(machine: FakeMachine) -> None:
    tf.random.set_seed(3)
    on_gpu = tf.random.normal([100])
    tf.random.set_seed(3)
    with tf.device("CPU:0"):
        on_cpu = tf.random.normal([100])

    assert ("GPU:0", "CPU:0") == (on_gpu.device[-5:], on_cpu.device[-5:])
    assert on_gpu.numpy().tolist() == on_cpu.numpy().tolist()


def test_an_update_shows_nowhere_else_and_copies_nothing_first(machine: FakeMachine) -> None:
    variable = tf.Variable([1.0, 2.0])
    before = variable.read_value()
    machine.diary.clear()
    variable.assign_add(tf.constant([1.0, 1.0]))

    assert ([2, 3], [1, 2]) == (variable.numpy().tolist(), before.numpy().tolist())
    assert [] == [entry for entry in machine.diary if entry[0] == "memcpy"]


def test_gradients_of_all_replicas_are_summed_in_one_order(machine: FakeMachine) -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    with strategy.scope():
        variable = tf.Variable([1.0, 1.0])

    def step() -> Any:
        context: Any = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable * float(context.replica_id_in_sync_group + 1))
        return context.all_reduce("sum", tape.gradient(loss, variable))

    machine.diary.clear()
    results = strategy.experimental_local_results(strategy.run(step))

    assert [[3, 3], [3, 3]] == [one.numpy().tolist() for one in results]
    assert [0, 1] == [one._array.data.device_id for one in results]


# Ops of programs


def road_is_closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list of the ops that take the road from now on."""
    taken: list[str] = []
    run = CudaGPU.run

    def noted(self: CudaGPU, op: Any, *more: Any) -> Any:
        taken.append(op.type)
        return run(self, op, *more)

    monkeypatch.setattr(CudaGPU, "run", noted)
    return taken


def test_ops_read_nothing_back(machine: FakeMachine) -> None:
    x = matrix()
    for _ in range(2):
        tf.reduce_sum(tf.nn.relu(x @ x + 1.0))
    machine.diary.clear()
    tf.reduce_sum(tf.nn.relu(x @ x + 1.0))

    assert set() == {entry[0] for entry in machine.diary} - {"kernel", "upload"}


def test_listeners_are_told_until_they_go(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix()
    tf.add(x, x)
    taken, heard = road_is_closed(monkeypatch), list[Any]()
    stop = tf.runtime.observe(heard.append)
    tf.add(x, x)
    with tf.device("GPU:0"):
        tf.add(x, x)
    stop()
    tf.add(x, x)

    executed = [(event.op, event.timing) for event in heard if isinstance(event, OpExecuted)]
    assert (["AddV2"] * 3, [("AddV2", "launch")] * 2) == (taken, executed)


def test_a_listener_that_came_inside_a_block_is_told(machine: FakeMachine) -> None:
    x, heard = matrix(), list[Any]()
    tf.add(x, x)
    with tf.device("GPU:0"):
        tf.add(x, x)
        stop = tf.runtime.observe(heard.append)
        tf.add(x, x)
        stop()

    assert 1 == sum(isinstance(event, OpExecuted) for event in heard)


def test_a_block_from_before_a_restart_runs_nothing(machine: FakeMachine) -> None:
    x = matrix()
    with tf.device("GPU:0"):
        tf.add(x, x)
        tf.runtime.restart()
        with pytest.raises(tf.errors.FailedPreconditionError, match="restart"):
            tf.add(x, x)

    assert [[1, 2], [3, 4]] == x.numpy().tolist()


def test_other_threads_run_ops_too(machine: FakeMachine) -> None:
    x, sums = matrix(), list[Any]()
    tf.add(x, x)
    threads = [threading.Thread(target=lambda: sums.append((x + x).numpy().sum())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [20.0] * 8 == sums


def test_a_wrong_call_has_an_error_of_ours(machine: FakeMachine) -> None:
    x, row = matrix(), tf.constant([1.0, 2.0, 3.0])
    tf.add(x, x)
    tf.add(row, row)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2,2\] vs. \[3\] \[Op:AddV2\]"):
        tf.add(x, row)


def test_a_lost_card_is_told_by_every_op(machine: FakeMachine) -> None:
    x = matrix()
    tf.add(x, x)
    machine.faults.append(("kernel", CUDARuntimeError(719)))
    for _ in range(2):
        with pytest.raises(InternalError, match=r"GPU:0 \(Fake GPU\) is lost: a kernel failed"):
            tf.add(x, x)
        machine.faults.clear()


# Memory


def test_holders_and_figures_are_those_of_real_memory(machine: FakeMachine) -> None:
    x = tf.constant(np.zeros(1000, np.float32))
    view = tf.reshape(x, [10, 100])

    held = tf.runtime.holding(view)

    assert held is not None
    assert ("GPU:0", 4096, 4000, 2) == (held.device, held.nbytes, held.requested, held.sharers)
    assert {"current": 4096, "peak": 4096} == tf.config.experimental.get_memory_info("GPU:0")


def test_a_map_is_there_for_those_who_ask(machine: FakeMachine) -> None:
    with fake_context(1, {"NBTF_GPU_ALLOCATOR": "bfc"}):
        x = tf.constant(np.zeros(1000, np.float32))

        (region,) = tf.runtime.memory_map("GPU:0")

        assert [("_EagerConst", 4096, True)] == [(one.label.op, one.size, one.in_use) for one in region.chunks[:1]]
        assert x.shape == (1000,)


def test_cupys_pool_has_no_map(machine: FakeMachine) -> None:
    matrix()

    with pytest.raises(ValueError, match="GPU:0 has no memory map"):
        tf.runtime.memory_map("GPU:0")


# Warming up


def test_warming_up_leaves_nothing_new_for_a_program(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    before = tf.random.uniform([2])
    tf.runtime.restart()
    tf.random.set_seed(5)
    first = tf.random.uniform([2]).numpy().tolist()
    tf.random.set_seed(5)
    sentence = tf.runtime.warmup()
    seen = len(gpus()[0].first_use.seen)
    x = matrix()
    tf.nn.softmax(x @ tf.transpose(x) + x[0])

    assert sentence.startswith("GPU:0: ")
    assert f"{sentence}\n" == capsys.readouterr().out
    assert (seen, first) == (len(gpus()[0].first_use.seen), tf.random.uniform([2]).numpy().tolist())
    assert (2,) == before.shape


def test_one_device_or_one_group_can_be_warmed_up(machine: FakeMachine) -> None:
    tf.runtime.warmup("GPU:1", ops="products")

    assert ({1}, 4) == (machine.contexts - {0}, len(gpus()[1].first_use.seen))


@pytest.mark.parametrize("device", ["CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"])
def test_a_cpu_needs_no_warming_up(device: str) -> None:
    assert "CPU:0 compiles no kernels: there is nothing to warm up." == tf.runtime.warmup(device)


def test_a_simulated_gpu_needs_no_warming_up() -> None:
    tf.runtime.simulate_gpus(1)

    assert "GPU:0 (simulated) compiles no kernels: there is nothing to warm up." == tf.runtime.warmup()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(("GPU:7",), "No matching devices found for 'GPU:7'"), ((None, "all"), "ops is 'all'; expected 'core', or some")],
)
def test_what_cannot_be_warmed_up_is_refused(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tf.runtime.warmup(*arguments)


def test_nothing_is_being_compiled_between_ops(machine: FakeMachine) -> None:
    matrix()

    assert [] == tf.runtime.compiling()
