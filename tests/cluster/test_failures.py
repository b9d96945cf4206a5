"""What is said when a task, its process or the network fails; nothing hangs, and what is left can be used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._cluster import task as tasks
from nbtf._cluster.faults import Faults
from nbtf._devices.machines import simulated_machine
from nbtf._ops.op import find_op
from nbtf._runtime.cluster import renew
from nbtf._runtime.context import CURRENT, Context, use_context
from tests.cluster.connected import GPU_0, GPU_1, Connected

SEEDS = range(20)


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """Returns what a function does; fails when it hangs."""
    results: list[Any] = []
    context = CURRENT.context

    def run() -> None:
        with use_context(context):
            try:
                results.append(work())
            except Exception as error:
                results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "it hangs"
    return results[0]


def program(seed: int, before_op: Callable[[int], None] = lambda number: None) -> list[Any]:
    """Runs ops on both tasks, with variables, copies to and fro and reads; returns what it has read."""
    random = np.random.default_rng(seed)
    with tf.device(GPU_0):
        variable = tf.Variable([1.0, 2.0])
    tensors = [tf.constant([float(number), 1.0]) for number in range(4)]
    read: list[Any] = []
    for number in range(60):
        before_op(number)
        a, b, target = random.integers(0, 4, 3)
        with tf.device((GPU_0, GPU_1)[random.integers(0, 2)]):
            tensors[target] = tensors[a] * 0.5 + tensors[b]
        if number % 10 == 9:
            variable.assign_add(tensors[target])
            read.append(variable.numpy().tolist())
    return [*read, *[tensor.numpy().tolist() for tensor in tensors]]


@pytest.mark.parametrize("seed", SEEDS)
def test_late_and_doubled_messages_change_nothing(connected: Callable[..., Connected], seed: int) -> None:
    connected()
    expected = program(seed)

    connected(faults=Faults(seed, delayed=0.3, doubled=0.3))

    assert expected == within(60, lambda: program(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_messages_are_an_error_that_names_the_task(connected: Callable[..., Connected], seed: int) -> None:
    connected()
    expected = program(seed)
    connected(faults=Faults(seed, dropped=0.05), deadline=0.5)

    outcome = within(60, lambda: program(seed))

    if isinstance(outcome, Exception):
        assert isinstance(outcome, tf.errors.UnavailableError | tf.errors.DeadlineExceededError), outcome
        assert "/job:worker/replica:0/task:" in str(outcome)
    else:
        assert expected == outcome


@pytest.mark.parametrize("seed", SEEDS)
def test_a_task_killed_at_any_op_is_named(two: Connected, seed: int) -> None:
    at = int(np.random.default_rng(1000 + seed).integers(0, 60))
    with tf.device(GPU_0):
        kept = tf.constant([1.0, 2.0]) * 3.0

    def kill(number: int) -> None:
        if number == at:
            two.engine.kill("worker", 1)

    outcome = within(60, lambda: program(seed, kill))

    assert isinstance(outcome, tf.errors.UnavailableError), outcome
    assert "/job:worker/replica:0/task:1 is lost" in str(outcome)
    assert [3.0, 6.0] == kept.numpy().tolist()
    with tf.device(GPU_0):
        assert [4.0, 7.0] == (kept + 1.0).numpy().tolist()


@pytest.mark.parametrize("silence", ["stop", "cut"])
def test_a_silent_task_is_named_after_a_heartbeat(connected: Callable[..., Connected], silence: str) -> None:
    cluster = connected(heartbeat=0.3)
    with tf.device(GPU_1):
        x = tf.constant(1.0) + 1.0
    x.numpy()
    getattr(cluster.engine, silence)("worker", 1)

    outcome = within(30, lambda: (x + 1.0).numpy() if x.device == GPU_1 else x.numpy())

    assert isinstance(outcome, tf.errors.UnavailableError)
    assert "task:1 is lost: no sign of life" in str(outcome)


@pytest.mark.parametrize("silence", ["stop", "cut"])
def test_who_takes_from_a_silent_task_says_so(connected: Callable[..., Connected], silence: str) -> None:
    cluster = connected(heartbeat=0.3)
    with tf.device(GPU_1):
        x = tf.constant(1.0) + 1.0
    x.numpy()
    getattr(cluster.engine, silence)("worker", 1)

    def take() -> Any:
        with tf.device(GPU_0):
            return (x + 1.0).numpy()

    outcome = within(30, take)

    assert isinstance(outcome, tf.errors.UnavailableError)
    assert "/job:worker/replica:0/task:1" in str(outcome)
    with tf.device(GPU_0):
        assert 2.0 == within(30, lambda: (tf.constant(1.0) + 1.0).numpy())


def test_who_takes_much_from_a_silent_task_waits_for_one_heartbeat_only(connected: Callable[..., Connected]) -> None:
    cluster = connected(heartbeat=3.0)
    with tf.device(GPU_1):
        x = [tf.fill([2], float(number)) for number in range(40)]
    cluster.cluster.wait()
    cluster.engine.stop("worker", 1)

    with tf.device(GPU_0):
        taken = [tensor + 1.0 for tensor in x]
    outcome = within(30, taken[-1].numpy)  # forty times the heartbeat is more

    assert isinstance(outcome, tf.errors.UnavailableError)
    assert str(outcome).startswith("/job:worker/replica:0/task:1 is lost: no sign of life")


def test_a_stopped_task_that_goes_on_too_late_stays_lost(connected: Callable[..., Connected]) -> None:
    cluster = connected(heartbeat=0.3)
    with tf.device(GPU_1):
        x = tf.constant(1.0) + 1.0
    cluster.engine.stop("worker", 1)
    assert isinstance(within(30, lambda: x.numpy()), tf.errors.UnavailableError)

    cluster.engine.resume("worker", 1)

    assert isinstance(within(30, lambda: x.numpy()), tf.errors.UnavailableError)


def test_a_long_op_is_no_silence(connected: Callable[..., Connected]) -> None:
    cluster = connected(heartbeat=0.2, faults=Faults(0, delayed=1.0, seconds=1.0))
    with tf.device(GPU_1):
        x = tf.constant(1.0)
        for _ in range(3):
            x = x + 1.0
            assert not isinstance(within(60, lambda x=x: x.numpy()), Exception)
    assert [] == cluster.cluster.lost


def test_a_tensor_of_a_task_that_was_started_anew_says_so(two: Connected) -> None:
    with tf.device(GPU_1):
        x = tf.constant(1.0) + 1.0
    two.engine.kill("worker", 1)
    two.engine.start("worker", 1)
    renew(CURRENT.context)

    with pytest.raises(tf.errors.AbortedError, match="task:1 was restarted"):
        x.numpy()
    with tf.device(GPU_1):
        assert 3.0 == (tf.constant(1.0) + 2.0).numpy()


def test_an_error_is_raised_where_a_result_is_read(two: Connected) -> None:
    with tf.device(GPU_1):
        inverse = tf.linalg.inv(tf.zeros([2, 2]))
        after = inverse + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not invertible.*\[Op:MatrixInverse\]") as caught:
        after.numpy()
    assert "/job:worker/replica:0/task:1/device:GPU:0" in str(caught.value)
    two.cluster.wait()  # it was told


@pytest.mark.parametrize("error_class", [tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.UnavailableError])
def test_what_a_kernel_on_a_task_raises_itself_has_tensorflows_words_around_it(
    two: Connected, error_class: type[tf.errors.OpError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel(*values: object, **attrs: object) -> Any:
        raise error_class(None, None, "it gives up")

    monkeypatch.setattr(find_op("Sqrt"), "kernel", kernel)
    monkeypatch.setattr(find_op("Sqrt"), "function", None)
    with tf.device(GPU_1):
        root = tf.sqrt(tf.constant([4.0]))
        after = root + 1.0

    device = "/job:worker/replica:0/task:1/device:GPU:0"
    with pytest.raises(error_class) as caught:
        after.numpy()
    assert f"{{{{function_node __wrapped__Sqrt_device_{device}}}}} it gives up [Op:Sqrt] name: " == caught.value.message


def test_softmax_of_a_scalar_on_a_task_names_the_op_and_the_task(two: Connected) -> None:
    with tf.device(GPU_1), pytest.raises(tf.errors.AbortedError, match=r"task:1.*Input dims must be.*\[Op:Softmax\]"):
        tf.nn.softmax(1.0).numpy()


def test_an_error_of_a_kernel_is_told_even_though_that_of_a_loss_is_not(
    two: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel(*values: object, **attrs: object) -> Any:
        raise tf.errors.AbortedError(None, None, "it gives up")

    monkeypatch.setattr(find_op("Sqrt"), "kernel", kernel)
    monkeypatch.setattr(find_op("Sqrt"), "function", None)
    with tf.device(GPU_1):
        tf.sqrt(tf.constant([4.0]))

    with pytest.raises(tf.errors.AbortedError, match="it gives up"):
        two.cluster.forget_losses()


def test_an_error_that_nobody_has_read_is_raised_by_waiting_once(two: Connected) -> None:
    with tf.device(GPU_1):
        tf.linalg.inv(tf.zeros([2, 2]))

    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        two.cluster.wait()
    two.cluster.wait()


def test_an_error_says_the_line_that_asked_for_it_where_somebody_listens(two: Connected) -> None:
    with tf.runtime.recording(), tf.device(GPU_1):
        inverse = tf.linalg.inv(tf.zeros([2, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Requested in test_failures\.py, line \d+"):
            inverse.numpy()


def test_memory_that_runs_out_is_an_error_of_its_device(connected: Callable[..., Connected]) -> None:
    connected(1, machine=simulated_machine(1, "Tesla K20m", "8MiB"))
    with tf.device(GPU_0):
        large = [tf.zeros([1 << 20]) for _ in range(3)]

    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating tensor with shape\[1048576\]"):
        large[-1].numpy()


def test_other_versions_are_refused(connected: Callable[..., Connected], monkeypatch: pytest.MonkeyPatch) -> None:
    own = tasks.versions()
    monkeypatch.setattr(tasks, "versions", lambda: own | {"NumPy": "1.0"})

    with pytest.raises(tf.errors.FailedPreconditionError, match=r"NumPy 1\.0 there, .* here"):
        connected()


def test_a_task_that_is_not_there_cannot_be_connected_with(connected: Callable[..., Connected]) -> None:
    cluster = connected()
    cluster.engine.stop("worker", 1)

    with pytest.raises(tf.errors.UnavailableError, match=r"task:1 cannot be reached"):
        tf.config.experimental_connect_to_cluster(cluster.engine)
    with tf.device(GPU_0):  # what there was is there
        assert 2.0 == (tf.constant(1.0) + 1.0).numpy()


def test_a_context_without_a_cluster_waits_for_nothing() -> None:
    from nbtf._runtime.cluster import finish

    finish(Context(None, {}))
