"""Do replicas run in order on their devices, and do their variables stay equal?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.distribute.values import PerReplica
from tests.machines import machine

Strategy = tf.distribute.MirroredStrategy


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    with machine(2, memory="1GiB"):
        yield


@pytest.fixture
def strategy() -> Any:
    return Strategy()


def here() -> Any:
    return tf.distribute.get_replica_context()


def number() -> int:
    return int(here().replica_id_in_sync_group)


# Where we are


def test_all_gpus_take_part_and_without_gpus_all_cpus() -> None:
    with machine(3):
        assert Strategy().num_replicas_in_sync == 3
    with machine(0):
        assert Strategy().extended.worker_devices == ("/job:localhost/replica:0/task:0/device:CPU:0",)


def test_each_block_says_where_we_are(strategy: Any) -> None:
    def seen() -> tuple[bool, bool, bool]:
        distribute = tf.distribute
        return (
            distribute.has_strategy(),
            distribute.in_cross_replica_context(),
            distribute.get_replica_context() is not None,
        )

    assert seen() == (False, False, True)
    with strategy.scope():
        assert seen() == (True, True, False)
    assert strategy.run(seen) == (True, False, True)


def test_strategies_do_not_mix(strategy: Any) -> None:
    with Strategy(["CPU:0"]).scope(), pytest.raises(RuntimeError, match=r"Mixing different tf\.distribute"):
        strategy.run(number)


def test_a_replica_runs_no_replicas(strategy: Any) -> None:
    with pytest.raises(RuntimeError, match="Method requires being in cross-replica context"):
        strategy.run(lambda: strategy.run(number))


# Running


def test_each_replica_runs_on_its_device_in_order(strategy: Any) -> None:
    with tf.runtime.recording() as record:
        strategy.run(lambda: tf.zeros([2]) + 1.0)

    assert [device for op, device in record.ops if op == "AddV2"] == ["GPU:0", "GPU:1"]
    replicas = [event.replica for event in record.events if isinstance(event, tf.runtime.OpPlaced)]
    assert replicas == sorted(replicas, key=str)
    assert {0, 1} == set(replicas)


def test_no_thread_is_started_when_no_replica_waits(strategy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)

    assert [int(one) for one in strategy.run(number).values] == [0, 1]


def test_each_replica_gets_its_own_of_distributed_arguments(strategy: Any) -> None:
    numbers = strategy.experimental_distribute_values_from_function(lambda context: context.replica_id_in_sync_group)
    made = strategy.run(lambda x, y: tf.constant(x + y), args=(numbers,), kwargs={"y": 10})

    assert [int(one) for one in made.values] == [10, 11]


@pytest.mark.parametrize("waits_before", [False, True])
def test_an_error_in_a_replica_is_raised_and_the_strategy_goes_on(strategy: Any, waits_before: bool) -> None:
    def fails() -> None:
        context = here()
        if waits_before:
            context.merge_call(lambda _: None)
        if number() == 1:
            raise KeyError("boom")
        context.merge_call(lambda _: None)

    threads = threading.active_count()
    with pytest.raises((KeyError, RuntimeError)):
        strategy.run(fails)

    assert [int(one) for one in strategy.run(number).values] == [0, 1]
    assert threading.active_count() == threads
    assert not tf.distribute.has_strategy()


def test_an_interrupt_reaches_the_caller(strategy: Any) -> None:
    def interrupted() -> None:
        context = here()
        context.merge_call(lambda _: None)
        if number() == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        strategy.run(interrupted)


# Meeting


def test_a_merge_call_runs_once_across_replicas(strategy: Any) -> None:
    calls: list[Any] = []

    def merge(inside: Any, values: Any) -> Any:
        calls.append((inside is strategy, tf.distribute.get_replica_context(), [int(one) for one in values.values]))
        return inside.reduce("SUM", values, axis=None)

    made = strategy.run(lambda: here().merge_call(merge, args=(tf.constant(number() + 1),)))

    assert int(made) == 3
    assert calls == [(True, None, [1, 2])]


def test_replicas_take_turns_at_every_meeting(strategy: Any) -> None:
    order: list[str] = []

    def step() -> None:
        context = here()
        for meeting in "ab":
            order.append(f"{number()}{meeting}")
            context.merge_call(lambda _, meeting=meeting: order.append(meeting))
        order.append(f"{number()}c")

    strategy.run(step)

    assert order == ["0a", "1a", "a", "0b", "1b", "b", "0c", "1c"]


@pytest.mark.parametrize("alone", [0, 1])
def test_all_replicas_must_meet(strategy: Any, alone: int) -> None:
    def step() -> None:
        if number() == alone:
            here().merge_call(lambda _: None)

    with pytest.raises(RuntimeError, match="Some replicas made a different number of"):
        strategy.run(step)


def test_without_threads_waiting_is_refused_and_what_may_come_late_comes_late(
    strategy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    order: list[Any] = []

    def merge(_: Any, values: Any) -> None:
        order.append([int(one) for one in values.values])

    def late() -> None:
        here().merge_in_the_end(merge, args=(tf.constant(number()),))
        order.append(number())

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(tf.errors.UnimplementedError, match="threads cannot start"):
        strategy.run(lambda: here().merge_call(lambda _: None))
    strategy.run(late)

    assert order == [0, 1, [0, 1]]


def test_all_reduce_gives_each_replica_the_sum_on_its_own_device(strategy: Any) -> None:
    def step() -> Any:
        value = tf.cast(here().replica_id_in_sync_group, tf.float32) + 1.0
        return here().all_reduce("SUM", {"a": value, "b": [value * 10.0]})

    made = strategy.run(step)

    assert [float(one) for one in made["a"].values] == [3.0, 3.0]
    assert [one.device[-5:] for one in made["b"][0].values] == ["GPU:0", "GPU:1"]


# Variables


def test_a_variable_has_equal_copies_on_all_devices(strategy: Any) -> None:
    with strategy.scope():
        v: Any = tf.Variable(tf.random.normal([3]), name="w")

    first, second = v.values
    assert first.numpy().tolist() == second.numpy().tolist()
    assert [one.device[-5:] for one in v.values] == ["GPU:0", "GPU:1"]
    assert isinstance(v, tf.Variable)
    assert repr(v).startswith("MirroredVariable:{\n  0: <tf.Variable 'w:0' shape=(3,)")
    assert strategy.extended.value_container(second) is v


def test_an_initial_value_is_computed_once(strategy: Any) -> None:
    calls: list[int] = []
    with strategy.scope():
        tf.Variable(lambda: calls.append(1) or tf.ones([2]))

    assert calls == [1]


def test_ops_take_the_copy_of_their_replica(strategy: Any) -> None:
    with strategy.scope():
        v: Any = tf.Variable(1.0)
    v.values[1].assign(7.0)

    assert [float(one) for one in strategy.run(lambda: v + 0.0).values] == [1.0, 7.0]
    assert float(v) == 1.0


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [("NONE", [1.0, 2.0]), ("SUM", [3.0, 3.0]), ("MEAN", [1.5, 1.5]), ("ONLY_FIRST_REPLICA", [1.0, 1.0])],
)
def test_what_replicas_assign_is_aggregated(strategy: Any, aggregation: str, expected: list[float]) -> None:
    with strategy.scope():
        v: Any = tf.Variable(0.0, aggregation=tf.VariableAggregation[aggregation])
    strategy.run(lambda: v.assign(tf.constant(number() + 1.0)))

    assert [float(one) for one in v.values] == expected


def test_assigning_across_replicas_changes_all_copies_or_none(strategy: Any) -> None:
    with strategy.scope():
        v: Any = tf.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    v.scatter_nd_update([[0]], [9.0])
    v[1:].assign([8.0])
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([1.0])

    assert [one.numpy().tolist() for one in v.values] == [[9.0, 8.0]] * 2


def test_a_variable_made_in_a_replica_is_one_for_all(strategy: Any) -> None:
    made = strategy.run(lambda: [tf.Variable(float(n)) for n in range(2)])

    assert [type(one).__name__ for one in made] == ["MirroredVariable"] * 2
    assert [float(one) for one in made] == [0.0, 1.0]


def test_a_sync_on_read_variable_is_summed_when_it_is_read(strategy: Any) -> None:
    on_read, summed = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM
    with strategy.scope():
        v: Any = tf.Variable(0.0, synchronization=on_read, aggregation=summed)
    strategy.run(lambda: v.assign_add(number() + 1.0))

    assert (float(v), v.numpy(), v.trainable) == (3.0, 3.0, False)
    v.assign(10.0)
    assert [float(one) for one in v.values] == [5.0, 5.0]


# Reducing


@pytest.mark.parametrize(
    "ops",
    [
        tf.distribute.ReductionToOneDevice(),
        tf.distribute.HierarchicalCopyAllReduce(num_packs=2),
        tf.distribute.NcclAllReduce(num_packs=0),
    ],
)
def test_all_kinds_of_reduction_give_the_same_bits(ops: Any) -> None:
    rng = np.random.default_rng(0)
    values = [[rng.normal(size=shape).astype(np.float32) for shape in [(3, 2), (4,), ()]] for _ in range(2)]
    devices = Strategy().extended.worker_devices
    tensors: list[list[Any]] = []
    for parts, place in zip(values, devices, strict=True):
        with tf.device(place):
            tensors.append([tf.constant(part) for part in parts])
    made = ops.all_reduce(tf.distribute.ReduceOp.SUM, tensors, devices)

    for replica, place in zip(made, devices, strict=True):
        assert [one.device for one in replica] == [place] * 3
        for one, left, right in zip(replica, *values, strict=True):
            assert one.numpy().tolist() == (left + right).tolist()


def test_tensors_travel_packed(strategy: Any) -> None:
    def step() -> Any:
        values = [tf.ones([4]) * float(n) for n in range(5)]
        return here().all_reduce("SUM", values)

    with tf.runtime.recording() as record:
        strategy.run(step)

    between = [(source, target, size) for source, target, size in record.copies if "CPU" not in source]
    assert between == [("GPU:1", "GPU:0", 80), ("GPU:0", "GPU:1", 80)]


def test_reduce_joins_values_and_rows(strategy: Any) -> None:
    rows = strategy.experimental_distribute_values_from_function(
        lambda context: tf.ones([context.replica_id_in_sync_group + 1, 2])
    )

    assert strategy.reduce("SUM", rows, axis=0).numpy().tolist() == [3.0, 3.0]
    assert strategy.reduce("MEAN", rows, axis=0).numpy().tolist() == [1.0, 1.0]
    assert strategy.reduce("MEAN", rows, axis=0).device.endswith("CPU:0")


def test_rows_of_a_larger_tensor_are_joined(strategy: Any) -> None:
    slices = strategy.experimental_distribute_values_from_function(
        lambda context: tf.IndexedSlices(tf.ones([1, 2]), tf.constant([context.replica_id_in_sync_group]), [4, 2])
    )
    made = strategy.extended.reduce_to("SUM", slices, "GPU:0")

    assert made.indices.numpy().tolist() == [0, 1]


# Other strategies


def test_one_device_holds_everything() -> None:
    strategy = tf.distribute.OneDeviceStrategy("GPU:1")
    with strategy.scope():
        v: Any = tf.Variable(1.0)

    assert v.device.endswith("GPU:1")
    assert strategy.run(lambda: v + 1.0).device.endswith("GPU:1")


def test_central_storage_keeps_variables_once() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy()
    with strategy.scope():
        v: Any = tf.Variable(1.0)

    assert (v.device[-5:], strategy.num_replicas_in_sync) == ("CPU:0", 2)
    assert [one.device[-5:] for one in strategy.run(lambda: v + 1.0).values] == ["GPU:0", "GPU:1"]


def test_the_default_strategy_has_one_replica_and_changes_nothing() -> None:
    strategy = tf.distribute.get_strategy()

    assert strategy.run(lambda x: x + 1, args=(1,)) == 2
    assert strategy.reduce("SUM", tf.constant([1.0, 2.0]), axis=0).numpy() == 3.0
    assert here().merge_call(lambda _, x: x, args=(3,)) == 3


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_values_of_a_function_are_per_replica_however_many_there_are(count: int) -> None:
    with machine(count):
        strategy = tf.distribute.MirroredStrategy()
        values = strategy.experimental_distribute_values_from_function(lambda context: {"a": [tf.constant(1.0), 2]})
        results = strategy.experimental_local_results(values["a"][1])

    assert isinstance(values["a"], list)
    assert all(isinstance(part, PerReplica) for part in values["a"])
    assert results == (2,) * count


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_the_spec_of_a_distributed_dataset_is_a_signature(count: int) -> None:
    with machine(count):
        strategy = tf.distribute.MirroredStrategy()
        dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))

        @tf.function(input_signature=[dataset.element_spec])
        def step(x: Any) -> Any:
            return strategy.run(lambda part: part + 1, args=(x,))

        sums = [[part.numpy().tolist() for part in strategy.experimental_local_results(step(x))] for x in dataset]

    assert sums == ([[[1, 2]], [[3, 4]]] if count == 1 else [[[1], [2]], [[3], [4]]])


def test_an_optional_of_a_distributed_iterator_tells_the_end() -> None:
    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(2).batch(2)))
        first, end = iterator.get_next_as_optional(), iterator.get_next_as_optional()

        assert [part.numpy().tolist() for part in first.get_value().values] == [[0], [1]]
        assert (bool(first.has_value()), bool(end.has_value())) == (True, False)
