"""Random numbers whose state is a variable, and classes drawn by their logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import UnimplementedError
from tests.ops.refusals import refused, untyped

Generator = tf.random.Generator


def test_a_seed_gives_the_same_numbers_again() -> None:
    first, second = Generator.from_seed(3), Generator.from_seed(3)
    assert first.normal([4]).numpy().tolist() == second.normal([4]).numpy().tolist()
    first.reset_from_seed(3)
    assert first.normal([4]).numpy().tolist() == Generator.from_seed(3).normal([4]).numpy().tolist()


def test_a_generator_goes_on_where_it_stopped() -> None:
    generator = Generator.from_seed(3)
    assert generator.normal([4]).numpy().tolist() != generator.normal([4]).numpy().tolist()


def test_the_state_can_be_taken_over() -> None:
    generator = Generator.from_seed(3)
    generator.normal([2])
    twin = Generator(copy_from=generator)
    other = Generator.from_state(generator.state.numpy(), "philox")
    expected = generator.uniform([3]).numpy().tolist()
    assert expected == twin.uniform([3]).numpy().tolist() == other.uniform([3]).numpy().tolist()


def test_a_variable_as_state_is_shared() -> None:
    state = tf.Variable([1, 0, 0], dtype=tf.int64)
    Generator.from_state(state, "philox").normal([1])
    assert [257, 0, 0] == state.numpy().tolist()


def test_the_counter_carries_into_its_upper_word() -> None:
    generator = Generator.from_state([-1, 0, 5], "philox")
    generator.skip(1)
    assert [255, 1, 5] == generator.state.numpy().tolist()


def test_what_is_skipped_is_what_would_have_been_drawn() -> None:
    drawing, skipping = Generator.from_seed(1), Generator.from_seed(1)
    drawing.normal([2, 3])
    skipping.skip(6)
    assert drawing.state.numpy().tolist() == skipping.state.numpy().tolist()


def test_skipping_returns_the_state_as_it_was() -> None:
    generator = Generator.from_seed(9)
    before = generator.skip(4)
    generator.skip(4)
    assert [9, 0, 0] == before.numpy().tolist()


def test_the_parts_of_a_split_differ() -> None:
    parts = Generator.from_seed(1).split(3)
    assert 3 == len({tuple(part.normal([2]).numpy().tolist()) for part in parts})


def test_nobody_can_foresee_a_generator_without_a_seed() -> None:
    one, other = Generator.from_non_deterministic_state(), Generator.from_non_deterministic_state()
    assert one.key.numpy() != other.key.numpy()


def test_the_global_generator_is_one_and_can_be_replaced() -> None:
    assert tf.random.get_global_generator() is tf.random.get_global_generator()
    mine = Generator.from_seed(1)
    tf.random.set_global_generator(mine)
    assert mine is tf.random.get_global_generator()


def test_the_key_is_the_last_number_of_the_state() -> None:
    generator = Generator.from_key_counter(7, [8, 9], "philox")
    assert (7, [8, 9, 7], 1) == (generator.key.numpy(), generator.state.numpy().tolist(), generator.algorithm)


def test_a_generator_lives_and_draws_where_it_was_made() -> None:
    tf.runtime.simulate_gpus(2)
    with tf.device("GPU:1"):
        generator = Generator.from_seed(1)
    with tf.runtime.recording() as record:
        generator.normal([2])
    assert "GPU:1" == generator.state.device[-5:]
    assert dict(record.ops)["RngReadAndSkip"][-5:] == "GPU:1"


def test_the_numbers_are_the_same_on_every_device() -> None:
    tf.runtime.simulate_gpus(1)
    drawn: list[Any] = []
    for place in ("CPU:0", "GPU:0"):
        with tf.device(place):
            generator = Generator.from_seed(5)
            drawn.append(
                [generator.normal([3]).numpy().tolist(), generator.uniform([3], 0, 9, tf.int32).numpy().tolist()]
            )
    assert drawn[0] == drawn[1]


def test_replicas_draw_different_numbers_from_one_seed() -> None:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def drawn() -> list[Any]:
        with strategy.scope():
            generator = Generator.from_seed(1)
        return [value.numpy().tolist() for value in strategy.run(lambda: generator.normal([2])).values]

    first, second = drawn()
    assert first != second
    assert [first, second] == drawn()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Generator.from_state([1, 2], "philox"), ValueError, "Shapes (2,) and [3] are incompatible"),
        (lambda: Generator.from_seed(1).reset([1, 2]), ValueError, "Shapes (2,) and [3] are incompatible"),
        (lambda: Generator.from_seed(1, "foo"), ValueError, "Argument `alg` got unsupported value foo."),
        (
            lambda: Generator.from_seed(1, "threefry").normal([2]),
            UnimplementedError,
            "Non-XLA devices don't support the ThreeFry algorithm.",
        ),
        (
            lambda: Generator.from_seed(1).uniform([2], dtype=tf.int32),
            ValueError,
            "For integer dtype <dtype: 'int32'>, minval and maxval must be both `None` or both non-`None`; got",
        ),
        (lambda: Generator.from_seed(1).normal([2], dtype=tf.int32), TypeError, "Cannot convert 0.0 to EagerTensor"),
        (lambda: untyped.random.Generator(), AssertionError, ""),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    refused(call, text, error)


def test_shapes_are_checked_by_the_kernels() -> None:
    refused(lambda: Generator.from_seed(1).normal([-1]), "Dimension -1 must be >= 0")
    refused(lambda: Generator.from_seed(1).normal(5), "shape must be a vector of {int32,int64}, got shape []")


# Drawing classes


@pytest.mark.parametrize("seed", range(3))
def test_classes_are_as_frequent_as_their_logits_say(seed: int) -> None:
    shares = np.array([0.1, 0.6, 0.3])
    drawn = tf.random.stateless_categorical(np.log(shares)[None], 20_000, [seed, 1]).numpy()
    assert np.abs(np.bincount(drawn[0], minlength=3) / 20_000 - shares).max() < 0.02


@pytest.mark.parametrize(
    ("logits", "samples", "text"),
    [
        ([1.0, 2.0], 3, "logits should be a matrix, got shape [2]"),
        ([[1.0, 2.0]], -1, "num_samples should be non-negative, got -1"),
        (np.zeros((2, 0), np.float32), 3, "num_classes should be positive, got 0"),
        ([[1.0, 2.0]], [3], "num_samples should be a scalar, got shape [1]"),
    ],
)
def test_classes_need_logits_and_a_number(logits: Any, samples: Any, text: str) -> None:
    refused(lambda: tf.random.categorical(logits, samples), text)


def test_a_class_that_is_impossible_is_never_drawn() -> None:
    drawn = tf.random.stateless_categorical([[0.0, -np.inf, 0.0]], 500, [1, 2]).numpy()
    assert {0, 2} == set(drawn[0].tolist())


# Binomial numbers


@pytest.mark.parametrize(("trials", "chance"), [(4.0, 0.3), (100.0, 0.4), (40.0, 0.9), (1000.0, 0.001)])
def test_successes_have_the_mean_and_spread_of_the_distribution(trials: float, chance: float) -> None:
    drawn = Generator.from_seed(1).binomial([4000], trials, chance, tf.float64).numpy()
    deviation = np.sqrt(trials * chance * (1 - chance))
    assert abs(drawn.mean() - trials * chance) < 4 * deviation / np.sqrt(4000)
    assert abs(drawn.std() / deviation - 1) < 0.06
    assert 0 <= drawn.min() <= drawn.max() <= trials


def test_the_shape_ends_with_that_of_the_parameters() -> None:
    text = "Shape passed in must end with broadcasted shape."
    refused(lambda: Generator.from_seed(1).binomial([5], [100.0], [0.7]), text)


# Bits


def test_bits_are_read_as_another_dtype_and_back() -> None:
    values = tf.constant([[1.5, -2.0]], tf.float64)
    assert [[1.5, -2.0]] == tf.bitcast(tf.bitcast(values, tf.uint16), tf.float64).numpy().tolist()


def test_the_last_axis_must_hold_the_parts_of_one_element() -> None:
    refused(lambda: tf.bitcast(tf.constant([1, 2, 3]), tf.float64), "Cannot bitcast from 3 to 2")
    refused(lambda: tf.bitcast(tf.constant(1.0), tf.float64), "Cannot bitcast from 1 to 2")
