"""Training on several tasks: the numbers of one process, and what is left when a task is lost."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._cluster.session import TaskSession
from tests.cluster.connected import GPU_0, GPU_1, Connected


def data() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    x = random.normal(size=(64, 8)).astype("float32")
    return x, (x @ random.normal(size=(8, 1))).astype("float32")


def model_of(strategy: Any) -> Any:
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model


def fitted(strategy: Any, epochs: int = 2) -> tuple[list[float], list[Any]]:
    model = model_of(strategy)
    history = model.fit(*data(), batch_size=16, epochs=epochs, verbose=0, shuffle=False)
    return history.history["loss"], state_of(model)


def state_of(model: Any) -> list[Any]:
    """Returns weights, and the slots of the optimizer."""
    return [variable.numpy() for variable in [*model.weights, *model.optimizer.variables]]


def bytes_of(state: list[Any]) -> list[bytes]:
    return [np.asarray(value).tobytes() for value in state]


@pytest.mark.parametrize("tasks", [2, 3])
def test_fit_on_tasks_gives_the_numbers_of_one_process(connected: Callable[..., Connected], tasks: int) -> None:
    cluster = connected(tasks)
    here = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(1)])
    losses, state = fitted(here)

    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster.engine)
    cluster_losses, cluster_state = fitted(strategy)

    assert tasks == strategy.num_replicas_in_sync
    assert losses == pytest.approx(cluster_losses, rel=1e-5)
    for value, other in zip(state, cluster_state, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-6)


def test_no_gradient_passes_this_process(two: Connected) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(512), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
    x, y = np.ones((8, 256), np.float32), np.ones((8, 1), np.float32)
    model.fit(x, y, epochs=1, verbose=0)
    gradients = 4 * sum(int(np.prod(weight.shape)) for weight in model.weights)
    before = two.count_bytes()

    model.fit(x, y, epochs=1, verbose=0)

    assert gradients > 500_000
    assert two.count_bytes() - before < x.nbytes + y.nbytes + 8000


def test_sums_are_those_of_one_process_to_the_bit(connected: Callable[..., Connected]) -> None:
    connected(3)
    devices = [f"/job:worker/replica:0/task:{number}/device:GPU:0" for number in range(3)]
    values = [np.random.default_rng(number).normal(size=(5, 7)).astype("float32") for number in range(3)]
    strategy = tf.distribute.MirroredStrategy(devices)

    def reduce() -> Any:
        context: Any = tf.distribute.get_replica_context()
        return context.all_reduce("sum", tf.constant(values[context.replica_id_in_sync_group]))

    sums = strategy.run(reduce).values

    assert [name for name in devices] == [total.device for total in sums]
    expected = values[0] + values[1] + values[2]
    assert [expected.tobytes()] * 3 == [total.numpy().tobytes() for total in sums]


def test_a_checkpoint_of_a_cluster_is_one_of_this_process(two: Connected, tmp_path: Any) -> None:
    model = model_of(tf.distribute.MirroredStrategy([GPU_0, GPU_1]))
    model.fit(*data(), batch_size=16, verbose=0)
    model.save_weights(tmp_path / "w.weights.h5")

    again = model_of(tf.distribute.MirroredStrategy(["CPU:0"]))
    again.build((None, 8))
    again.load_weights(tmp_path / "w.weights.h5")

    assert bytes_of([weight.numpy() for weight in model.weights]) == bytes_of([w.numpy() for w in again.weights])


class KillAt(tf.keras.callbacks.Callback):
    """Kills a task when a batch begins, and keeps what the state was then."""

    def __init__(self, engine: Any, batch: int) -> None:
        super().__init__()
        self.engine, self.batch, self.state = engine, batch, []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == self.batch:
            self.state = bytes_of(state_of(self.model))
            self.engine.kill("worker", 1)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("comes_back", [False, True])
def test_training_goes_on_from_the_last_finished_step(two: Connected, batch: int, comes_back: bool) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])
    model = model_of(strategy)
    killer = KillAt(two.engine, batch)
    with pytest.raises(tf.errors.UnavailableError, match=r"/job:worker/replica:0/task:1 is lost"):
        model.fit(*data(), batch_size=16, verbose=0, shuffle=False, callbacks=[killer])
    if comes_back:
        two.engine.start("worker", 1)

    strategy.replace("/job:worker/task:1", "/job:worker/task:1" if comes_back else None)

    assert killer.state == bytes_of(state_of(model))
    for variable in model.weights:
        assert len({copy.numpy().tobytes() for copy in variable.handle.values}) == 1
    assert strategy.num_replicas_in_sync == 1 + comes_back
    x, y = data()
    model.fit(x[16 * batch :], y[16 * batch :], batch_size=16, verbose=0, shuffle=False)
    expected, _ = expected_state(strategy)
    for value, other in zip(expected, state_of(model), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-6)


def expected_state(strategy: Any) -> tuple[list[Any], Any]:
    model = model_of(tf.distribute.MirroredStrategy(["CPU:0"]))
    model.fit(*data(), batch_size=16, verbose=0, shuffle=False)
    return state_of(model), strategy


class KeepStates(tf.keras.callbacks.Callback):
    """Keeps the state after each step, and arms what kills after the first."""

    def __init__(self, dying: DyingSession | None = None) -> None:
        super().__init__()
        self.dying, self.states = dying, {}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.dying is None:
            self.states[self.model.optimizer.iterations.numpy()] = bytes_of(state_of(self.model))
        else:
            self.dying.armed = True


class DyingSession:
    """Kills task 1 when it is about to handle, or has handled, one of the next batches of records."""

    def __init__(self, engine: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        random = np.random.default_rng(seed)
        self.armed, self.left, after = False, int(random.integers(1, 12)), bool(random.integers(0, 2))
        handle = TaskSession.handle

        def dying_handle(session: TaskSession, batch: Any) -> Any:
            of_task = session._task.name.endswith("task:1")
            self.left -= self.armed and of_task
            dies = self.armed and of_task and self.left == 0
            if dies and not after:
                engine.kill("worker", 1)
            answer = handle(session, batch)
            if dies and after:
                engine.kill("worker", 1)
            return answer

        monkeypatch.setattr(TaskSession, "handle", dying_handle)


@pytest.mark.parametrize("seed", range(16))
def test_a_kill_at_any_batch_of_records_leaves_the_last_finished_step(
    two: Connected, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])
    undisturbed = KeepStates()
    model_of(strategy).fit(*data(), batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=[undisturbed])
    model = model_of(strategy)
    dying = DyingSession(two.engine, seed, monkeypatch)
    with pytest.raises(tf.errors.UnavailableError, match=r"/job:worker/replica:0/task:1"):
        model.fit(*data(), batch_size=16, epochs=8, verbose=0, shuffle=False, callbacks=[KeepStates(dying)])

    strategy.replace("/job:worker/task:1")

    assert undisturbed.states[model.optimizer.iterations.numpy()] == bytes_of(state_of(model))
    model.fit(*data(), batch_size=16, verbose=0)


def test_what_failed_with_a_lost_task_is_not_told_after_its_replacement(
    two: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])
    model = model_of(strategy)
    model.fit(*data(), batch_size=16, verbose=0)
    with tf.device(GPU_1):
        x = tf.ones([2])
    two.cluster.wait()
    handle, is_handled = TaskSession.handle, Event()

    def handle_after_a_kill(session: TaskSession, batch: Any) -> Any:
        two.engine.kill("worker", 1)
        answer = handle(session, batch)
        is_handled.set()
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(TaskSession, "handle", handle_after_a_kill)
        with tf.device(GPU_0):
            y = tf.identity(x)
        assert is_handled.wait(60)

    strategy.replace("/job:worker/task:1")

    model.fit(*data(), batch_size=16, verbose=0)
    with pytest.raises(tf.errors.UnavailableError, match="task:1"):
        y.numpy()


def test_nobody_is_left(two: Connected) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])

    with pytest.raises(tf.errors.UnavailableError, match="restore a checkpoint"):
        strategy.replace("/job:worker")


def test_a_device_that_is_none_of_the_strategy_is_no_loss(two: Connected) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])

    with pytest.raises(ValueError, match="No device of the strategy"):
        strategy.replace("/job:worker/task:7")
    with pytest.raises(tf.errors.NotFoundError, match="has 0 devices"):
        strategy.replace("/job:worker/task:1", "/job:worker/task:7")
    assert 2 == strategy.num_replicas_in_sync


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_traced_function_goes_on_after_a_replacement(two: Connected, comes_back: bool) -> None:
    strategy = tf.distribute.MirroredStrategy([GPU_0, GPU_1])
    with strategy.scope():
        v = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        def add() -> Any:
            v.assign_add(x)
            return v * 2.0

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(add), axis=None)

    before = [step(tf.constant(1.0)).numpy() for _ in range(2)], step.experimental_get_tracing_count()
    two.engine.kill("worker", 1)
    if comes_back:
        two.engine.start("worker", 1)
    strategy.replace("/job:worker/task:1", "/job:worker/task:1" if comes_back else None)
    after = [step(tf.constant(1.0)).numpy() for _ in range(2)], step.experimental_get_tracing_count()

    replicas = 1 + comes_back
    assert ([8.0, 12.0], 1) == before
    assert ([8.0 * replicas, 10.0 * replicas], 2) == after
