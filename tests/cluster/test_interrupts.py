"""An interrupt of a program that waits for a task: what was not begun is dropped, and everything else goes on."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._cluster.channel import Channel
from nbtf._cluster.faults import Faults
from nbtf._cluster.record_queue import MOST_UNDER_WAY
from nbtf._cluster.session import TaskSession
from nbtf._locks import _all_locks
from nbtf._runtime.blocks import end_cell
from nbtf._runtime.scopes import SCOPE
from tests.cluster.connected import GPU_0, GPU_1, Connected
from tests.cluster.presses import pressed
from tests.cluster.test_training import bytes_of, data, model_of, state_of
from tests.interrupts.harness import _swallowed
from tests.interrupts.tracing import interrupted
from tests.shells import interactive_shell


class Gate:
    """Has tasks begin nothing until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._is_open = threading.Event()
        handle = TaskSession.handle

        def handle_when_open(session: TaskSession, batch: Any) -> Any:
            assert self._is_open.wait(60)
            return handle(session, batch)

        monkeypatch.setattr(TaskSession, "handle", handle_when_open)

    def open(self) -> None:
        self._is_open.set()


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Gate]]:
    """Closes a gate before all tasks; it is open when the test ends."""
    gates: list[Gate] = []

    def close() -> Gate:
        gates.append(Gate(monkeypatch))
        return gates[-1]

    yield close
    for gate in gates:
        gate.open()


def run_ahead(channel: Channel, make: Callable[[], Any]) -> list[Any]:
    """Makes tensors until no further batch is sent, and 200 more, whose records wait here."""
    made = []
    while channel.waiting < MOST_UNDER_WAY:
        made.append(make())
        channel.flush()
        time.sleep(0.002)
    return made + [make() for _ in range(200)]


def outcome_of(tensor: Any) -> Any:
    """Returns the values of a tensor, or the error that says why there are none."""
    try:
        return tensor.numpy().tolist()
    except tf.errors.CancelledError as error:
        return error


def assert_usable(two: Connected) -> None:
    """Ops on both tasks, copies between them, and accounts are as ever."""
    two.cluster.wait()
    with tf.device(GPU_0):
        x = tf.constant([1.0, 2.0]) * 3.0
    with tf.device(GPU_1):
        assert [4.0, 7.0] == (x + 1.0).numpy().tolist()
    assert (None, []) == (SCOPE(), two.cluster.lost)
    wait_for_locks()


def wait_for_locks() -> None:
    """Waits until no thread has a lock: those in the background take some for a moment."""
    until = time.monotonic() + 60
    while (
        held := [lock for lock in _all_locks() if not repr(lock).startswith("<unlocked")]
    ) and time.monotonic() < until:
        time.sleep(0.01)
    assert [] == held


def test_what_a_task_had_not_begun_is_an_error_that_names_op_and_task(
    two: Connected, closed: Callable[[], Gate]
) -> None:
    with tf.device(GPU_1):
        finished = tf.constant([1.0, 2.0]) * 2.0
        two.cluster.wait()
        gate = closed()
        waiting = run_ahead(two.cluster.channels[1], lambda: tf.exp(finished + 1.0))
        with pressed(two.cluster), pytest.raises(KeyboardInterrupt) as caught:
            waiting[-1].numpy()
        gate.open()

    for tensor in waiting:
        with pytest.raises(tf.errors.CancelledError, match=r"Exp was not run on .*task:1/device:GPU:0: .* interrupt"):
            tensor.numpy()
    assert [2.0, 4.0] == finished.numpy().tolist()
    assert ["CancelledError" in note for note in caught.value.__notes__] == [True]
    assert_usable(two)


def test_nobody_waits_for_what_another_task_has_dropped(two: Connected, closed: Callable[[], Gate]) -> None:
    gate = closed()
    with tf.device(GPU_0):
        x = tf.fill([4], 2.0)
    with tf.device(GPU_1):
        y = x + 1.0
    with pressed(two.cluster), pytest.raises(KeyboardInterrupt):
        y.numpy()
    gate.open()
    with tf.device(GPU_1):
        after = x * 2.0  # asked for after the interrupt, of what was dropped by it

    for tensor in (y, after):
        with pytest.raises(tf.errors.CancelledError, match=r"was not run on /job:worker/replica:0/task:[01]"):
            tensor.numpy()
    assert_usable(two)


def test_large_tensors_that_nobody_wants_any_more_are_not_sent(two: Connected, closed: Callable[[], Gate]) -> None:
    gate = closed()
    with tf.device(GPU_0):
        small = run_ahead(two.cluster.channels[0], lambda: tf.constant(2.0) + 1.0)
        large = [tf.constant(np.zeros(1 << 20, np.float32)) for _ in range(4)]
        before = two.cluster.channels[0].bytes_sent
        with pressed(two.cluster), pytest.raises(KeyboardInterrupt):
            small[-1].numpy()
    gate.open()

    assert [True] * 4 == [isinstance(outcome_of(tensor), tf.errors.CancelledError) for tensor in large]
    assert two.cluster.channels[0].bytes_sent - before < 1 << 20


@pytest.mark.parametrize("is_begun", [False, True], ids=["not begun", "begun"])
def test_results_that_nobody_waited_for_any_more_are_given_back(
    two: Connected, closed: Callable[[], Gate], monkeypatch: pytest.MonkeyPatch, is_begun: bool
) -> None:
    begun, is_open, run = threading.Event(), threading.Event(), TaskSession._run

    def run_when_open(session: TaskSession, record: Any) -> Any:
        begun.set()
        assert is_open.wait(60)
        return run(session, record)

    with tf.device(GPU_1):
        x = tf.constant([1.0, 0.0, 1.0])
        two.cluster.wait()
        gate = None if is_begun else closed()
        monkeypatch.setattr(TaskSession, "_run", run_when_open)
        with pressed(two.cluster, when=lambda: begun.is_set() or not is_begun), pytest.raises(KeyboardInterrupt):
            tf.where(x)
    is_open.set()
    if gate is not None:
        gate.open()

    assert_usable(two)
    del x
    gc.collect()
    two.cluster.wait()
    assert [0, 0] == [channel.tensors for channel in two.cluster.channels]


def program(seed: int, length: int, noted: list[tuple[Any, Any]]) -> Any:
    """Issues ops on both tasks at random, and notes each tensor with what it must be; returns the last one."""
    random = np.random.default_rng(seed)
    tensors = [tf.constant([float(number), 1.0]) for number in range(4)]
    expected = [np.array([number, 1.0], np.float32) for number in range(4)]
    target = 0
    for _ in range(length):
        a, b, target = random.integers(0, 4, 3)
        with tf.device((GPU_0, GPU_1)[random.integers(0, 2)]):
            tensors[target] = tensors[a] * 0.5 + tensors[b]
        expected[target] = expected[a] * np.float32(0.5) + expected[b]
        noted.append((tensors[target], expected[target]))
    return tensors[target]


def assert_finished_or_dropped(noted: list[tuple[Any, Any]]) -> int:
    """Each tensor has its values, or says that it was dropped; returns how many do."""
    outcomes = [outcome_of(tensor) for tensor, _ in noted]
    dropped = [isinstance(outcome, tf.errors.CancelledError) for outcome in outcomes]
    expected = [values.tolist() for _, values in noted]
    assert expected == [
        values if gone else outcome for values, gone, outcome in zip(expected, dropped, outcomes, strict=True)
    ]
    assert all(
        [
            "was not run on /job:worker/replica:0/task:" in str(each)
            for each in outcomes
            if each.__class__ is tf.errors.CancelledError
        ]
    )
    return sum(dropped)


@pytest.mark.parametrize("seed", range(20))
def test_an_interrupt_of_any_wait_leaves_values_or_errors_and_never_other_values(
    connected: Callable[..., Connected], seed: int
) -> None:
    two = connected(faults=Faults(seed, delayed=0.5, seconds=0.004))
    random = np.random.default_rng(seed)
    before: list[tuple[Any, Any]] = []
    program(seed, 20, before)
    two.cluster.wait()
    noted: list[tuple[Any, Any]] = []
    silent = int(random.integers(0, 3))
    if silent < 2:
        two.engine.stop("worker", silent)

    with pressed(two.cluster, int(random.integers(1, 3)) if silent == 2 else 1):
        try:
            program(seed + 100, int(random.integers(5, 600)), noted).numpy()
            two.cluster.wait()
        except KeyboardInterrupt:
            pass
    if silent < 2:
        two.engine.resume("worker", silent)

    assert 0 == assert_finished_or_dropped(before)
    assert_finished_or_dropped(noted)
    assert_usable(two)
    del before, noted
    gc.collect()
    two.cluster.wait()
    assert [0, 0] == [channel.tensors for channel in two.cluster.channels]


def test_an_interrupt_at_any_instruction_leaves_values_or_errors(two: Connected) -> None:
    noted: list[tuple[Any, Any]] = []

    def action() -> None:
        program(3, 6, noted).numpy()

    points = interrupted(action, 0, KeyboardInterrupt, by_line=False).points
    for at in range(1, points, max(1, points // 60)):
        noted.clear()
        with _swallowed() as swallowed:
            try:
                interrupted(action, at, KeyboardInterrupt, by_line=False)
            except AssertionError:
                assert any(["__del__" in text for text in swallowed])  # Python raises nothing in a finalizer
        end_cell()

        assert_finished_or_dropped(noted)
        assert_usable(two)
    assert points > 1000


class PressAt(tf.keras.callbacks.Callback):
    """Presses stop at the n-th wait of a batch, and keeps what the state was when that began."""

    def __init__(self, cluster: Any, batch: int, wait: int) -> None:
        super().__init__()
        self.cluster, self.batch, self.wait, self.state, self.pressing = cluster, batch, wait, [], None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == self.batch:
            self.state = bytes_of(state_of(self.model))
            self.pressing = pressed(self.cluster, self.wait)
            self.pressing.__enter__()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.pressing is not None:
            self.pressing.__exit__(None, None, None)


@pytest.mark.parametrize("wait", [1, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_training_that_was_interrupted_goes_on_from_the_last_finished_step(
    two: Connected, batch: int, wait: int
) -> None:
    model = model_of(tf.distribute.MirroredStrategy([GPU_0, GPU_1]))
    press = PressAt(two.cluster, batch, wait)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data(), batch_size=16, verbose=0, shuffle=False, callbacks=[press])
    assert press.pressing is not None
    press.pressing.__exit__(None, None, None)

    assert press.state == bytes_of(state_of(model))
    model.fit(*data(), batch_size=16, verbose=0, shuffle=False)
    assert_usable(two)


def test_a_cell_that_is_interrupted_leaves_no_ops_for_the_next_one(
    two: Connected, closed: Callable[[], Gate], tmp_path: Path
) -> None:
    gate = closed()
    with interactive_shell(tmp_path) as shell:
        tf.load_ipython_extension(shell)
        shell.push({"tf": tf, "GPU_1": GPU_1})
        shell.run_cell("with tf.device(GPU_1):\n    x = tf.ones([2]) + 1.0\n    raise KeyboardInterrupt")
        gate.open()
        following = shell.run_cell("x.numpy()")
        after = shell.run_cell("with tf.device(GPU_1):\n    y = (tf.ones([2]) + 1.0).numpy().tolist()\ny")
        tf.unload_ipython_extension(shell)

    assert isinstance(following.error_in_exec, tf.errors.CancelledError)
    assert "Requested in cell 1, line 2" in str(following.error_in_exec)
    assert [2.0, 2.0] == after.result
