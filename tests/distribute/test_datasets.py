"""Are batches split among the replicas, in order, also where they do not divide?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.machines import machine


@pytest.fixture(autouse=True)
def four_gpus() -> Iterator[None]:
    with machine(4):
        yield


def parts(strategy: Any, element: Any) -> list[Any]:
    return [one.numpy().tolist() for one in strategy.experimental_local_results(element)]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (10, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]),
        (5, [[0, 1], [2, 3], [4], []]),
        (2, [[0], [1], [], []]),
    ],
)
def test_a_batch_is_split_in_order(size: int, expected: Any) -> None:
    strategy = tf.distribute.MirroredStrategy()
    (element,) = strategy.experimental_distribute_dataset(tf.data.Dataset.range(size).batch(size))

    assert parts(strategy, element) == expected
    assert [one.device[-5:] for one in element.values] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]


def test_each_loop_starts_anew_and_structures_stay() -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    rows = tf.data.Dataset.from_tensor_slices({"x": [[1.0], [2.0]], "y": [0, 1]}).batch(2)
    distributed = strategy.experimental_distribute_dataset(rows)

    for _ in range(2):
        (element,) = distributed
        assert sorted(element) == ["x", "y"]
        assert parts(strategy, element["x"]) == [[[1.0]], [[2.0]]]


def test_one_replica_gets_plain_tensors() -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:1"])
    (element,) = strategy.experimental_distribute_dataset(tf.data.Dataset.range(2).batch(2))

    assert isinstance(element, tf.Tensor)
    assert element.device.endswith("GPU:1")


def test_batches_of_a_function_go_to_one_replica_after_another() -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    seen: list[Any] = []

    def made(context: Any) -> Any:
        seen.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        return tf.data.Dataset.range(6).batch(context.get_per_replica_batch_size(4))

    elements = list(strategy.distribute_datasets_from_function(made))

    assert [parts(strategy, one) for one in elements] == [[[0, 1], [2, 3]], [[4, 5], []]]
    assert seen == [(1, 0, 2)]
    with pytest.raises(ValueError, match="`global_batch_size` 5 is not divisible"):
        tf.distribute.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(5)


def test_the_end_is_told() -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(2).batch(2)))

    assert parts(strategy, iterator.get_next()) == [[0], [1]]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()


def test_single_numbers_go_to_all_replicas() -> None:
    dealt = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]).experimental_distribute_dataset(tf.data.Dataset.range(2))

    assert [[int(part) for part in element.values] for element in dealt] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(("count", "expected"), [(1, [[0], [1], [2]]), (2, [[0, 1]])])
def test_elements_without_rows_go_to_one_replica_after_another(count: int, expected: list[list[int]]) -> None:
    strategy = tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(count)])
    dealt = strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(3))

    assert expected == [[int(part) for part in strategy.experimental_local_results(batch)] for batch in dealt]


def test_a_replica_gets_zero_where_an_optional_element_is_incomplete() -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    iterator = iter(strategy.distribute_datasets_from_function(lambda context: tf.data.Dataset.range(3)))
    next(iterator)

    assert [2, 0] == [int(part) for part in iterator.get_next_as_optional().get_value().values]
