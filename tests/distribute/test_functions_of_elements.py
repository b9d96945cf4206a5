"""Do traced functions take iterators, datasets and optionals as arguments and captures, and return them?"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

import nbtf as tf
from tests.machines import machine

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    with machine(2, memory="1GiB"):
        yield


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy()


def distributed(strategy: Any, rows: int = 4, size: int = 2) -> Any:
    return strategy.experimental_distribute_dataset(Dataset.range(rows).batch(size))


def local(strategy: Any, value: Any) -> list[Any]:
    return [part.numpy().tolist() for part in strategy.experimental_local_results(value)]


def test_a_function_begins_a_pass_of_its_own_each_time(strategy: Any) -> None:
    @tf.function
    def run(dataset: Any) -> Any:
        iterator = iter(dataset)
        return [next(iterator), next(iterator)]

    data = distributed(strategy)
    for _ in range(2):
        assert [[[0], [1]], [[2], [3]]] == [local(strategy, element) for element in run(data)]


def test_a_function_of_an_iterator_is_traced_once(strategy: Any) -> None:
    step = tf.function(lambda iterator: next(iterator))
    first, second = iter(distributed(strategy)), iter(distributed(strategy))

    assert [[0], [1]] == local(strategy, step(first))
    assert [[0], [1]] == local(strategy, step(second))
    assert [[2], [3]] == local(strategy, step(first))
    assert step.experimental_get_tracing_count() == 1


def test_rows_are_on_the_devices_of_their_replicas(strategy: Any) -> None:
    iterator = iter(distributed(strategy))
    element = tf.function(lambda: next(iterator))()

    assert ["GPU:0", "GPU:1"] == [part.device[-5:] for part in element.values]


def test_replicas_run_on_their_devices_in_a_loop_over_elements(strategy: Any) -> None:
    data = distributed(strategy)

    @tf.function
    def run() -> Any:
        total = tf.constant(0, tf.int64)
        for element in data:
            total += strategy.reduce("SUM", strategy.run(lambda rows: rows * 2, args=(element,)), axis=0)
        return total

    with tf.runtime.recording() as record:
        run()
    placed = [event for event in record.events if isinstance(event, tf.runtime.OpPlaced) and event.op == "Mul"]
    assert [("GPU:0", 0), ("GPU:1", 1)] * 2 == [(event.device[-5:], event.replica) for event in placed]
    assert {"replica of a strategy"} == {event.reason.kind for event in placed}
    assert any(isinstance(event, tf.runtime.Copied) for event in record.events)


@pytest.mark.parametrize("axis", [0, (0, 1), 1])
def test_a_mean_over_rows_counts_the_rows_of_each_run(strategy: Any, axis: Any) -> None:
    rows = Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    data = strategy.experimental_distribute_dataset(rows.batch(4 if axis != 1 else 2, drop_remainder=axis == 1))
    mean = tf.function(lambda iterator: strategy.reduce("MEAN", next(iterator), axis=axis))

    expected = {0: [3.0, 4.0], (0, 1): 3.5, 1: [2.5]}[axis]
    assert expected == mean(iter(data)).numpy().tolist()


def test_the_end_is_told_and_what_was_written_stays(strategy: Any) -> None:
    with strategy.scope():
        total: Any = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(iterator: Any) -> None:
        strategy.run(lambda rows: total.assign_add(tf.reduce_sum(rows)), args=(next(iterator),))

    iterator = iter(distributed(strategy))
    for _ in range(2):
        step(iterator)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        step(iterator)
    assert total.numpy() == 6


def test_an_optional_leaves_a_function(strategy: Any) -> None:
    iterator = iter(distributed(strategy, rows=2))
    step = tf.function(lambda: iterator.get_next_as_optional())
    first, second = step(), step()

    assert (True, False) == (bool(first.has_value()), bool(second.has_value()))
    assert [[0], [1]] == local(strategy, first.get_value())
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        second.get_value()


def test_an_iterator_leaves_a_function_and_goes_on() -> None:
    data = Dataset.range(3)

    @tf.function
    def begin() -> Any:
        iterator = iter(data)
        next(iterator)
        return iterator

    assert [1, 2] == [int(element) for element in begin()]


def test_a_break_takes_no_element_that_is_not_used() -> None:
    iterator = iter(Dataset.range(4))

    @tf.function
    def run() -> Any:
        total = tf.constant(0, tf.int64)
        for element in iterator:
            total += element
            if total > 0:
                break
        return total

    assert [1, 2, 3] == [int(run()) for _ in range(3)]


def test_an_argument_in_a_structure_is_an_iterator_as_well() -> None:
    step = tf.function(lambda given: next(given["numbers"]) + given["offset"])
    numbers = iter(Dataset.range(3))

    assert [10, 11] == [int(step({"numbers": numbers, "offset": tf.constant(10, tf.int64)})) for _ in range(2)]


def test_ragged_elements_are_split_and_leave_functions(strategy: Any) -> None:
    rows = tf.ragged.constant([[1, 2], [3], [4, 5, 6]])
    batches = Dataset.from_tensor_slices(rows).batch(2)
    iterator = iter(batches)
    data = strategy.experimental_distribute_dataset(batches)

    assert [[1, 2], [3]] == tf.function(lambda: next(iterator))().to_list()
    assert [[[[1, 2]], [[3]]], [[[4, 5, 6]], []]] == [[part.to_list() for part in batch.values] for batch in data]


def test_ragged_and_sparse_elements_enter_a_signature() -> None:
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    total = tf.function(lambda rows: tf.reduce_sum(rows.flat_values), input_signature=[spec])

    assert [3, 6] == [int(total(tf.ragged.constant(rows))) for rows in ([[1, 2], []], [[1], [2], [3]])]
    assert total.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        total(tf.ragged.constant([[1.0]]))


def test_results_of_replicas_go_through_loops_and_branches(strategy: Any) -> None:
    @tf.function
    def run(count: Any) -> Any:
        results = strategy.run(lambda: tf.constant(0))
        for number in tf.range(count):
            results = strategy.run(lambda value, number=number: value + number, args=(results,))
        if count > 2:
            results = strategy.run(lambda value: -value, args=(results,))
        return results

    assert [1, 1] == local(strategy, run(tf.constant(2)))
    assert [-3, -3] == local(strategy, run(tf.constant(3)))


@pytest.mark.parametrize(
    "make", [tf.distribute.MirroredStrategy, lambda names: tf.distribute.OneDeviceStrategy(*names)]
)
@pytest.mark.parametrize("runs", ["own", "default"])
def test_one_replica_takes_values_of_one_replica(make: Any, runs: str) -> None:
    maker = tf.distribute.MirroredStrategy(["GPU:0"])
    strategy = make(["GPU:0"]) if runs == "own" else tf.distribute.get_strategy()
    value = maker.experimental_distribute_values_from_function(lambda context: tf.constant(2.0))
    element = next(iter(distributed(maker)))

    for run in (strategy.run, strategy.extended.call_for_each_replica):
        assert [3.0, 0, 1] == [
            *[float(run(lambda x: x + 1.0, args=(value,)))],
            *run(lambda pair: pair["rows"], args=({"rows": element},)).numpy().tolist(),
        ]


def test_a_function_that_is_not_converted_is_run_as_it_is(strategy: Any, caplog: pytest.LogCaptureFixture) -> None:
    count = tf.function(lambda elements: len(list(elements)), autograph=False)

    assert [2, 2, 3] == [
        int(count(given)) for given in (distributed(strategy), iter(distributed(strategy)), iter(Dataset.range(3)))
    ]
    assert "only supports Python-style iteration in eager mode" in caplog.text


def test_options_leave_rows_on_the_cpu_or_give_each_replica_a_dataset(strategy: Any) -> None:
    on_host = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    own = on_host._replace(experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA)
    contexts: list[Any] = []

    def make(context: Any) -> Any:
        contexts.append((context.num_input_pipelines, context.input_pipeline_id))
        return Dataset.range(context.input_pipeline_id, 4).batch(2)

    element = next(iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2), on_host)))
    assert ["CPU:0", "CPU:0"] == [part.device[-5:] for part in element.values]
    assert [[0, 1], [1, 2]] == local(strategy, next(iter(strategy.distribute_datasets_from_function(make, own))))
    assert [(2, 0), (2, 1)] == contexts
    with pytest.raises(
        NotImplementedError, match="PER_REPLICA is only supported in `distribute_datasets_from_function`"
    ):
        strategy.experimental_distribute_dataset(Dataset.range(4).batch(2), own)


def test_an_iterator_is_let_go() -> None:
    step = tf.function(lambda iterator: next(iterator))
    iterator = iter(Dataset.range(3))
    step(iterator)
    reference = ref(iterator)
    del iterator
    gc.collect()

    assert reference() is None
