"""Do metrics, optimizers, seeds and names of Keras lose nothing where several threads use them?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbtf as tf
from tests.threads import in_threads, switching_often

THREADS, TIMES = 8, 20


@pytest.fixture(autouse=True)
def many_switches() -> Iterator[None]:
    with switching_often():
        yield


def test_a_metric_counts_every_update() -> None:
    mean = tf.keras.metrics.Mean()

    in_threads(lambda number: [mean.update_state(2.0) for _ in range(TIMES)])

    assert [float(one.numpy()) for one in mean.variables] == [2.0 * THREADS * TIMES, THREADS * TIMES]


def test_no_step_of_an_optimizer_is_lost() -> None:
    weight, optimizer = tf.Variable([0.0]), tf.keras.optimizers.SGD(1.0)
    optimizer.build([weight])

    in_threads(lambda number: [optimizer.apply_gradients([(tf.constant([-1.0]), weight)]) for _ in range(TIMES)])

    assert weight.numpy().tolist() == [THREADS * TIMES]
    assert int(optimizer.iterations.numpy()) == THREADS * TIMES


def test_threads_that_come_to_the_first_step_together_build_an_optimizer_once() -> None:
    def build_together() -> tf.keras.optimizers.Optimizer:
        weight, optimizer = tf.Variable([0.0]), tf.keras.optimizers.SGD(1.0, momentum=0.5)
        in_threads(lambda number: optimizer.apply_gradients([(tf.constant([0.0]), weight)]))
        return optimizer

    for optimizer in [build_together() for _ in range(TIMES)]:
        assert [(), (), (1,)] == [tuple(variable.shape) for variable in optimizer.variables]
        assert int(optimizer.iterations.numpy()) == THREADS


def test_a_seed_generator_gives_each_seed_once() -> None:
    generator, seeds = tf.keras.random.SeedGenerator(1), list[tuple[int, ...]]()

    in_threads(lambda number: seeds.extend([tuple(generator.next()) for _ in range(10 * TIMES)]))

    assert len(set(seeds)) == THREADS * 10 * TIMES


def test_every_name_is_given_once() -> None:
    names = list[str]()

    in_threads(lambda number: names.extend([tf.keras.layers.Dense(1).name for _ in range(TIMES)]))

    assert len(set(names)) == THREADS * TIMES
