"""What survives a fault in the middle of work: weights, scopes, observers and memory; and the plan of faults itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record.events import OpExecuted, OpPlaced
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from nbtf.errors import FailedPreconditionError, InternalError, OpError, ResourceExhaustedError
from nbtf.keras import layers, models
from tests.faults import Faults, faults
from tests.machines import MIB, machine

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(12, 3).astype(np.float32)
Y = RANDOM.rand(12, 1).astype(np.float32)


@pytest.fixture
def plan() -> Iterator[Faults]:
    with machine(2, memory="64 MiB"), faults() as plan:
        yield plan


def model() -> Any:
    """A small model, the same each time."""
    tf.keras.utils.set_random_seed(1)
    build = models.Sequential([layers.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(1)])
    build.compile(optimizer="sgd", loss="mse")
    return build


def weights(made: Any) -> list[Any]:
    return [one.tolist() for one in made.get_weights()]


def in_use() -> list[int]:
    gc.collect()
    return [gpu.memory.stats().in_use for gpu in CURRENT.context.devices.devices if gpu.memory is not None]


def x() -> Any:
    with tf.device("GPU:0"):
        return tf.ones([2, 2])


# The plan


def test_memory_runs_out_at_the_op_that_was_named_and_only_there(plan: Faults) -> None:
    a = x()
    plan.inject("oom", op="MatMul", nth=2)

    tf.matmul(a, a)
    with pytest.raises(ResourceExhaustedError, match=r"OOM when allocating tensor with shape\[2,2\]"):
        tf.matmul(a, a)

    assert [[2, 2], [2, 2]] == tf.matmul(a, a).numpy().tolist()


def test_large_requests_can_fail_always(plan: Faults) -> None:
    x()
    fault = plan.inject("oom_always_above", amount=MIB)

    for _ in range(2):
        with pytest.raises(ResourceExhaustedError):
            tf.zeros([MIB])
    tf.zeros([1000])

    assert 2 == fault.happened


def test_an_asynchronous_fault_comes_late_and_stays(plan: Faults) -> None:
    a = x()
    plan.inject("async_fault", op="AddV2")

    late = a + a
    for read in (late.numpy, lambda: a * a, a.numpy, lambda: tf.identity(a)):
        with pytest.raises(InternalError, match="GPU:0 is lost"):
            read()

    with tf.device("GPU:1"):
        assert 2 == (tf.constant(1.0) + 1.0).numpy()


def test_a_device_can_be_invalid(plan: Faults) -> None:
    a = x()
    plan.inject("invalid_device", op="AddV2")

    with pytest.raises(FailedPreconditionError, match="this GPU does not exist"):
        tf.add(a, a)


def test_an_op_can_be_late_on_paper(plan: Faults) -> None:
    a, seconds = x(), []
    stop = tf.runtime.observe(lambda event: seconds.append(event.seconds) if isinstance(event, OpExecuted) else None)
    plan.inject("slow", op="AddV2", amount=1.0)

    tf.add(a, a)
    tf.multiply(a, a)
    stop()

    assert [1, 0] == [int(one) for one in seconds]


# What survives


@pytest.mark.parametrize("nth", range(1, 12, 3))
@pytest.mark.parametrize("kind", ["oom", "invalid_device"])
def test_weights_are_as_after_whole_steps_when_a_product_fails_in_fit(plan: Faults, kind: Any, nth: int) -> None:
    after_steps = [weights(model())]
    for count in (4, 8, 12):
        made = model()
        made.fit(X[:count], Y[:count], batch_size=4, shuffle=False, verbose=0)
        after_steps.append(weights(made))
    made = model()
    plan.inject(kind, op="MatMul", nth=nth)

    with pytest.raises((ResourceExhaustedError, FailedPreconditionError)):
        made.fit(X, Y, batch_size=4, shuffle=False, verbose=0)

    assert weights(made) == after_steps[int(made.optimizer.iterations.numpy())]


def test_fit_goes_on_after_memory_ran_out(plan: Faults) -> None:
    made, same = model(), model()
    plan.inject("oom", op="MatMul", nth=1)

    with pytest.raises(ResourceExhaustedError):
        made.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    made.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    same.fit(X, Y, batch_size=4, shuffle=False, verbose=0)

    assert weights(same) == weights(made)


def fail_in_fit(plan: Faults, made: Any, nth: int) -> bool:
    """Lets memory run out at the nth op of a fit; says whether there was such an op."""
    fault = plan.inject("oom", nth=nth)
    try:
        made.fit(X, Y, batch_size=6, shuffle=False, verbose=0)
    except OpError:
        pass
    plan.plan.clear()
    return bool(fault.happened)


@pytest.mark.parametrize("nth", [1, 2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90, 104, 119])
def test_replicas_stay_equal_wherever_memory_runs_out_in_fit(plan: Faults, nth: int) -> None:
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        made = model()

    assert fail_in_fit(plan, made, nth)

    for variable in [*made.weights, *made.optimizer.variables]:
        first, second = (copy.numpy().tolist() for copy in getattr(variable.handle, "values", (variable.handle,) * 2))
        assert first == second
    assert SCOPE() is None
    made.fit(X, Y, batch_size=6, verbose=0)
    assert np.isfinite(np.concatenate([one.ravel() for one in made.get_weights()])).all()


@pytest.mark.parametrize("nth", [1, 8, 30])
def test_memory_comes_back_when_fit_fails(plan: Faults, nth: int) -> None:
    made = model()
    made.fit(X, Y, batch_size=6, verbose=0)
    before = in_use()

    fail_in_fit(plan, made, nth)

    assert before == in_use()


@pytest.mark.parametrize("op", ["Fill", "AddN"])
def test_a_sum_over_replicas_that_failed_can_be_taken_again(plan: Faults, op: str) -> None:
    strategy = tf.distribute.MirroredStrategy()

    def total() -> Any:
        here: Any = tf.distribute.get_replica_context()
        return here.all_reduce("SUM", tf.ones([3]) * (1.0 + int(here.replica_id_in_sync_group)))

    plan.inject("oom", op=op)
    with pytest.raises(ResourceExhaustedError):
        strategy.run(total)

    assert [[3, 3, 3], [3, 3, 3]] == [one.numpy().tolist() for one in strategy.run(total).values]
    assert SCOPE() is None


def test_an_observer_hears_on_after_a_fault_and_of_every_op_once(plan: Faults) -> None:
    a, events = x(), []
    stop = tf.runtime.observe(events.append)
    plan.inject("oom", op="MatMul")

    with pytest.raises(ResourceExhaustedError):
        tf.matmul(a, a)
    tf.matmul(a, a)
    stop()

    assert ["MatMul", "MatMul"] == [event.op for event in events if isinstance(event, OpPlaced)]
    assert ["MatMul"] == [event.op for event in events if isinstance(event, OpExecuted)]


def test_a_tape_and_a_device_scope_are_closed_by_a_fault(plan: Faults) -> None:
    a = x()
    plan.inject("oom", op="MatMul")

    def fails() -> None:
        with tf.device("GPU:1"), tf.GradientTape() as tape:
            tape.watch(a)
            tf.matmul(a, a)

    with pytest.raises(ResourceExhaustedError):
        fails()

    assert SCOPE() is None
    assert tf.constant(1.0).device.endswith("GPU:0")


def test_a_session_can_be_used_after_a_fault(plan: Faults) -> None:
    from nbtf.compat import v1

    with v1.Graph().as_default():
        product = v1.matmul(v1.constant([[1.0]]), v1.constant([[2.0]]))
        with v1.Session() as session:
            plan.inject("oom", op="MatMul")
            with pytest.raises(ResourceExhaustedError):
                session.run(product)

            assert [[2.0]] == session.run(product).tolist()
