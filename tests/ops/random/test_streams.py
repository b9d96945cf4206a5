"""Do random numbers follow TensorFlow's rules of seeds, and are they TensorFlow's?"""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.op import OPS
from nbtf._ops.random import philox
from nbtf._runtime.context import Context, use_context
from nbtf._runtime.seeds import LARGEST, Seeds
from nbtf.errors import InvalidArgumentError, UnimplementedError
from tests.machines import machine

FLOATS = [tf.float16, tf.float32, tf.float64]


def drawn(function: Any, *args: Any, **kwargs: Any) -> list[Any]:
    return function(*args, **kwargs).numpy().tolist()


# The generator


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ("00000000 00000000", "00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff", "ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("a4093822 299f31d0", "243f6a88 85a308d3 13198a2e 03707344", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_known_answers_of_its_authors(key: str, counter: str, words: str) -> None:
    def number(text: str) -> int:
        return sum(int(word, 16) << 32 * i for i, word in enumerate(text.split()))

    start = number(counter)
    made = philox.philox(np, number(key), (start & (1 << 64) - 1, start >> 64), 1)

    assert [int(word, 16) for word in words.split()] == made[0].tolist()


def test_counters_carry_from_one_word_into_the_next() -> None:
    low, high = philox.counters(np, ((1 << 64) - 1, 7), 3, 1)

    assert ([(1 << 64) - 1, 0, 1], [7, 8, 8]) == (low.tolist(), high.tolist())


def test_many_counters_give_the_same_words_as_few() -> None:
    whole = philox.philox(np, 5, (3, 4), philox.BLOCKS_AT_ONCE + 2)
    end = philox.philox(np, 5, (3 + philox.BLOCKS_AT_ONCE, 4), 2)

    assert end.tolist() == whole[-2:].tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_fill_the_unit_interval(dtype: tf.DType) -> None:
    numbers = tf.random.stateless_uniform([10000], [1, 2], dtype=dtype).numpy().astype(np.float64)

    assert 0 <= numbers.min() < 0.01
    assert 0.99 < numbers.max() < 1
    assert 0.49 < numbers.mean() < 0.51


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_have_mean_0_and_deviation_1(dtype: tf.DType) -> None:
    numbers = tf.random.stateless_normal([10000], [1, 2], dtype=dtype).numpy().astype(np.float64)

    assert abs(numbers.mean()) < 0.03
    assert abs(numbers.std() - 1) < 0.03
    assert numbers.max() > 3


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal_numbers_end_at_two_deviations(dtype: tf.DType) -> None:
    numbers = tf.random.stateless_truncated_normal([10000], [1, 2], dtype=dtype).numpy().astype(np.float64)

    assert 1.9 < np.abs(numbers).max() <= 2
    assert abs(numbers.std() - 0.8796) < 0.03  # of a normal distribution cut at two


def test_all_integers_of_a_range_come() -> None:
    assert [3, 4, 5] == sorted(set(drawn(tf.random.stateless_uniform, [100], [1, 2], 3, 6, tf.int32)))


def test_bounds_may_lie_anywhere() -> None:
    numbers = tf.random.stateless_uniform([1000], [1, 2], -(2**63), 2**63 - 1, tf.int64).numpy()

    assert numbers.min() < -(2**62)
    assert numbers.max() > 2**62


# TensorFlow's numbers: recorded from TensorFlow 2.21


@pytest.mark.parametrize(
    ("function", "kwargs", "numbers"),
    [
        ("stateless_uniform", {}, [0.8440604, 0.19204533, 0.9962232, 0.1603874, 0.27199018]),
        ("stateless_uniform", {"dtype": tf.float64}, [0.75248375, 0.96978577, 0.17592234, 0.85555566, 0.51481187]),
        ("stateless_uniform", {"dtype": tf.int32, "minval": -10, "maxval": 1000}, [760, 399, 394, 409, 577]),
        ("stateless_uniform", {"dtype": tf.int64, "maxval": 1000}, [444, 278, 67, 203, 923]),
        ("stateless_normal", {}, [0.5441101, 0.20738031, 0.07356432, 0.04643455, -1.3015898]),
        ("stateless_normal", {"dtype": tf.float64}, [-0.14231181, 0.74060725, -1.46904767, 1.14774745, -0.72188139]),
        ("stateless_truncated_normal", {}, [0.5441101, 0.20738031, 0.07356432, 0.04643455, 0.16820592]),
    ],
)
def test_a_seed_gives_tensorflows_numbers(function: str, kwargs: dict[str, Any], numbers: list[float]) -> None:
    made = drawn(getattr(tf.random, function), [5], seed=[1, 2], **kwargs)

    assert pytest.approx(numbers, rel=2e-7, abs=2e-8) == made


@pytest.mark.parametrize(
    ("function", "kwargs", "numbers"),
    [
        (tf.random.uniform, {}, [0.16513085, 0.9014813, 0.6309742, 0.4345461, 0.29193902]),
        (tf.random.uniform, {"dtype": tf.int32, "maxval": 100}, [62, 49, 27, 41, 98]),
        (tf.random.normal, {}, [-1.1012203, 1.5457517, 0.383644, -0.87965786, -1.2246722]),
        (tf.random.truncated_normal, {}, [-1.1012203, 1.5457517, 0.383644, -0.87965786, 1.4055201]),
    ],
)
def test_the_global_seed_gives_tensorflows_numbers(function: Any, kwargs: dict[str, Any], numbers: list[float]) -> None:
    tf.random.set_seed(1)

    assert pytest.approx(numbers, rel=2e-7, abs=2e-8) == drawn(function, [5], **kwargs)


def test_shuffle_gives_tensorflows_order() -> None:
    tf.random.set_seed(1)
    orders = [drawn(tf.random.shuffle, np.arange(10), seed=3) for _ in range(2)]

    assert [[7, 5, 9, 8, 0, 3, 1, 4, 6, 2], [1, 2, 6, 7, 0, 8, 3, 4, 9, 5]] == orders


def test_split_gives_tensorflows_seeds() -> None:
    assert [[1105988140, 1738052849], [-335576002, 370444179]] == drawn(tf.random.split, [1, 2])


# Seeds


def test_the_same_global_seed_starts_the_same_numbers() -> None:
    def run() -> list[Any]:
        tf.random.set_seed(42)
        return [drawn(tf.random.uniform, [3]), drawn(tf.random.normal, [3])]

    assert run() == run()


def test_with_a_global_seed_calls_differ() -> None:
    tf.random.set_seed(42)

    assert drawn(tf.random.uniform, [3]) != drawn(tf.random.uniform, [3])


def test_an_op_seed_goes_on_where_it_ended() -> None:
    tf.random.set_seed(1)
    first, second = (drawn(tf.random.uniform, [3], seed=5) for _ in range(2))
    tf.random.set_seed(1)

    assert first != second
    assert [first, second] == [drawn(tf.random.uniform, [3], seed=5) for _ in range(2)]


def test_an_op_seed_does_not_disturb_ops_without_one() -> None:
    tf.random.set_seed(1)
    alone = drawn(tf.random.uniform, [3])
    tf.random.set_seed(1)
    tf.random.uniform([3], seed=5)

    assert alone == drawn(tf.random.uniform, [3])


def test_an_op_seed_alone_is_the_same_in_each_run() -> None:
    runs = []
    for _ in range(2):
        with use_context(Context(environ={})):
            runs.append(drawn(tf.random.uniform, [3], seed=5))

    assert runs[0] == runs[1]


def test_without_seeds_runs_differ() -> None:
    runs = []
    for _ in range(2):
        with use_context(Context(environ={})):
            runs.append(drawn(tf.random.uniform, [3]))

    assert runs[0] != runs[1]


def test_each_device_asked_for_has_its_own_stream() -> None:
    tf.random.set_seed(1)
    first = drawn(tf.random.uniform, [3], seed=5)
    with tf.device("CPU:0"):
        assert first == drawn(tf.random.uniform, [3], seed=5)


@pytest.mark.parametrize(
    ("global_seed", "op_seed", "pair"),
    [
        (1, 7, (1, 7)),
        (-3, 7, (2147483644, 7)),
        (2**40 + 3, 7, (515, 7)),
        (0, 0, (0, LARGEST)),
        (None, 7, (87654321, 7)),
        (None, None, None),
    ],
)
def test_seeds_are_paired_as_in_tensorflow(global_seed: Any, op_seed: Any, pair: Any) -> None:
    seeds = Seeds()
    seeds.set_seed(global_seed)

    assert pair == seeds.pair(op_seed)


def test_op_seeds_come_from_the_global_one_as_in_tensorflow() -> None:
    seeds = Seeds()
    seeds.set_seed(np.int64(1))

    assert [(1, 577090037), (1, 271041745)] == [seeds.pair(None), seeds.pair(None)]


def test_threads_share_a_stream_without_losing_numbers() -> None:
    stream, taken = Seeds().stream("uniform", None), list[tuple[int, int]]()
    threads = [threading.Thread(target=lambda: taken.extend(stream.take(2) for _ in range(100))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 400 == len({low for low, _ in taken})


def test_seeds_of_a_context_do_not_reach_another() -> None:
    tf.random.set_seed(1)
    with use_context(Context(environ={})):
        other = drawn(tf.random.uniform, [3])

    assert other != drawn(tf.random.uniform, [3])


# Placement


def test_numbers_are_the_same_on_every_kind_of_device(on_device: str) -> None:
    tf.random.set_seed(1)
    numbers = tf.random.normal([5])

    assert on_device == numbers.device
    assert pytest.approx([-1.1012203, 1.5457517, 0.383644, -0.87965786, -1.2246722], rel=2e-7) == numbers.numpy()


def test_shuffle_runs_on_the_cpu() -> None:
    with machine(1):
        assert tf.random.shuffle([1.0, 2.0]).device.endswith("CPU:0")


# Arguments


def test_float_bounds_may_be_tensors_that_broadcast() -> None:
    numbers = tf.random.uniform([100, 2], [0.0, 5.0], [1.0, 6.0]).numpy()

    assert [0, 5] == np.floor(numbers.min(0)).tolist() == np.floor(numbers.max(0)).tolist()


def test_integers_need_an_upper_bound() -> None:
    with pytest.raises(ValueError, match=r"^Must specify maxval for integer dtype tf.int32$"):
        tf.random.uniform([3], dtype=tf.int32)


def test_dtypes_without_a_kernel_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got invalid value <dtype: 'uint8'>. Accepted dtypes are \(tf.float16"):
        tf.random.uniform([3], 0, 5, dtype=tf.uint8)


def test_normal_numbers_are_no_integers() -> None:
    with pytest.raises(TypeError, match=r"Cannot convert 0.0 to EagerTensor of dtype int32"):
        tf.random.normal([3], dtype=tf.int32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.random.uniform([3], 5, 4, tf.int32), "Need minval < maxval, got 5 >= 4 [Op:RandomUniformInt]"),
        (lambda: tf.random.uniform([3], [1], 4, tf.int32), "minval must be 0-D, got shape [1] [Op:RandomUniformInt]"),
        (lambda: tf.random.uniform([-1]), "Dimension -1 must be >= 0 [Op:RandomUniform]"),
        (
            lambda: tf.random.normal(3),
            "shape must be a vector of {int32,int64}, got shape [] [Op:RandomStandardNormal]",
        ),
        (
            lambda: tf.random.uniform([1.5]),
            "Value for attr 'T' of float is not in the list of allowed values: int32, int64",
        ),
        (lambda: tf.random.stateless_uniform([2], [1, 2, 3]), "seed must have shape [2], not [3]"),
    ],
)
def test_what_tensorflow_refuses_is_refused_in_its_words(call: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"dtype": tf.int32}, "must be both None or not None. Got `minval`=0 and `maxval`=None."),
        ({"dtype": tf.uint32, "maxval": 3}, "Please don't use unsigned integers in this case."),
        ({"dtype": tf.uint8, "maxval": 3}, "Accepted dtypes are (tf.float16, tf.bfloat16"),
        ({"alg": "dice"}, "Argument `alg` got unsupported value dice."),
    ],
)
def test_stateless_arguments_must_suit_each_other(kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        tf.random.stateless_uniform([3], [1, 2], **kwargs)


def test_threefry_is_said_to_be_missing() -> None:
    with pytest.raises(UnimplementedError, match="does not implement ThreeFry"):
        tf.random.stateless_uniform([3], [1, 2], alg="threefry")


def test_random_ops_have_no_gradient() -> None:
    assert OPS["RandomUniform"].no_gradient
    assert not OPS["RandomShuffle"].has_gradient
