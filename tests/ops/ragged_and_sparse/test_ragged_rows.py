"""Are axes merged, rows gathered and sums taken as in TensorFlow 2.21, whose answers are recorded here?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError, UnimplementedError
from tests.ops.refusals import refused


def deep() -> Any:
    return tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])


def flat() -> Any:
    return tf.ragged.constant([[1.0, 2.0], [], [3.0]])


def of_blocks() -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(12), [3, 2, 2]), [2, 1])


def cube() -> Any:
    return tf.reshape(tf.range(24), [4, 3, 2])


def listed(value: Any) -> Any:
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


def nested(value: Any) -> Any:
    """Returns nested lists, without arrays inside."""
    return [nested(item) for item in value] if isinstance(value, list | np.ndarray) else value


@pytest.mark.parametrize(
    ("make", "axes", "expected"),
    [
        (deep, (0, 1), [[1, 2], [3], [4, 5, 6]]),
        (deep, (1, 2), [[1, 2, 3], [], [4, 5, 6]]),
        (deep, (-2, -1), [[1, 2, 3], [], [4, 5, 6]]),
        (deep, (0, 2), [1, 2, 3, 4, 5, 6]),
        (deep, (1, 1), [[[1, 2], [3]], [], [[4, 5, 6]]]),
        (of_blocks, (2, 3), [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11]]]),
        (of_blocks, (1, 2), [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8, 9], [10, 11]]]),
        (of_blocks, (1, 3), [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11]]),
        (of_blocks, (0, 3), list(range(12))),
    ],
)
def test_axes_are_merged(make: Callable[[], Any], axes: tuple[int, int], expected: Any) -> None:
    assert expected == nested(listed(make().merge_dims(*axes)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: tf.gather(flat(), [2, 0]), [[3.0], [1.0, 2.0]]),
        (lambda: tf.gather(flat(), 2), [3.0]),
        (lambda: tf.gather(flat(), [[0, 1]]), [[[1.0, 2.0], []]]),
        (lambda: tf.gather(flat(), tf.ragged.constant([[0], [2, 1]])), [[[1.0, 2.0]], [[3.0], []]]),
        (lambda: tf.gather(deep(), [2, 0]), [[[4, 5, 6]], [[1, 2], [3]]]),
        (
            lambda: tf.gather(cube(), tf.ragged.constant([[0], [], [1], [2]]), axis=1, batch_dims=1),
            [[[0, 1]], [], [[14, 15]], [[22, 23]]],
        ),
        (
            lambda: tf.gather(cube()[:2], tf.ragged.constant([[0], [1, 2]]), axis=1),
            [[[[0, 1]], [[2, 3], [4, 5]]], [[[6, 7]], [[8, 9], [10, 11]]]],
        ),
        (
            lambda: tf.gather(cube()[:1], tf.ragged.constant([[0], [1, 1]]), axis=-1),
            [[[[0], [1, 1]], [[2], [3, 3]], [[4], [5, 5]]]],
        ),
    ],
)
def test_rows_are_gathered(call: Callable[[], Any], expected: Any) -> None:
    assert expected == nested(listed(call()))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: tf.reduce_sum(flat()), 6.0),
        (lambda: tf.reduce_sum(flat(), 0), [4.0, 2.0]),
        (lambda: tf.reduce_sum(flat(), -1), [3.0, 0.0, 3.0]),
        (lambda: tf.reduce_sum(flat(), 1, keepdims=True), [[3.0], [0.0], [3.0]]),
        (lambda: tf.reduce_sum(flat(), 0, keepdims=True), [[4.0, 2.0]]),
        (lambda: tf.reduce_sum(flat(), [0, 1]), 6.0),
        (lambda: tf.reduce_sum(flat(), []), [[1.0, 2.0], [], [3.0]]),
        (lambda: tf.reduce_sum(deep(), keepdims=True), [[[21]]]),
        (lambda: tf.reduce_sum(deep(), 0), [[5, 7, 6], [3]]),
        (lambda: tf.reduce_sum(deep(), 1), [[4, 2], [], [4, 5, 6]]),
        (lambda: tf.reduce_sum(deep(), 2), [[3, 3], [], [15]]),
        (lambda: tf.reduce_sum(deep(), [1, 2]), [6, 0, 15]),
        (lambda: tf.reduce_sum(deep(), [0, 1]), [8, 7, 6]),
        (lambda: tf.reduce_sum(deep(), [0, 2]), [18, 3]),
        (lambda: tf.reduce_sum(of_blocks(), 1), [[[4, 6], [8, 10]], [[8, 9], [10, 11]]]),
    ],
)
def test_sums_are_taken(call: Callable[[], Any], expected: Any) -> None:
    assert expected == nested(listed(call()))


def test_shapes_have_the_lengths_of_uniform_axes() -> None:
    shape: Any = tf.shape(deep())
    inner = tf.shape(of_blocks(), tf.int64)

    assert "<DynamicRaggedShape lengths=[3, (2, 0, 1), (2, 1, 3)] num_row_partitions=2>" == repr(shape)
    assert [3, 2, 2] == [shape[0].numpy(), inner[2].numpy(), inner[-1].numpy()]
    assert [tf.int32, tf.int64] == [shape[0].dtype, inner[0].dtype]
    assert (3, 2) == (shape.rank, shape.num_row_partitions)
    with pytest.raises(ValueError, match="Index 1 is not uniform"):
        _ = shape[1]
    with pytest.raises(IndexError, match="Axis 3 does not exist"):
        _ = shape[3]
    with pytest.raises(UnimplementedError, match="indexed only with integers"):
        _ = shape[1:]


def test_zeros_and_ones_have_the_same_rows() -> None:
    assert [[1.0, 1.0], [], [1.0]] == listed(tf.ones_like(flat()))
    assert [[[0, 0], [0]], [], [[0, 0, 0]]] == listed(tf.zeros_like(deep(), tf.int64))


def test_functions_map_rows() -> None:
    rows = tf.ragged.constant([[1, 1, 2], [], [3]])

    assert [[1, 2], [], [3]] == listed(tf.map_fn(lambda row: tf.unique(row)[0], rows))
    assert [4, 0, 3] == listed(tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.int32))
    assert [[[2, 4], [6]], [], [[8, 10, 12]]] == listed(tf.map_fn(lambda row: row * 2, deep()))
    with pytest.raises(ValueError, match="fn must return the rows of a ragged tensor, not scalars"):
        tf.map_fn(tf.reduce_sum, rows)


def test_sums_and_rows_have_gradients() -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        ragged = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
        chosen = tf.gather(ragged, [0, 0, 2])
        weighted = tf.reduce_sum(chosen, 1) * [1.0, 10.0, 100.0]
    gradient = tf.convert_to_tensor(tape.gradient(weighted, values))

    assert [11.0, 11.0, 100.0] == gradient.numpy().tolist()


def test_sums_of_random_rows_are_those_of_padded_rows() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        inner = random.integers(0, 4, random.integers(1, 6)).tolist()
        outer = np.diff([0, *sorted(random.integers(0, len(inner) + 1, 2)), len(inner)]).tolist()
        values = tf.constant(random.integers(-9, 9, sum(inner)))
        rows = tf.RaggedTensor.from_row_lengths(tf.RaggedTensor.from_row_lengths(values, inner), outer)
        for axis in range(3):
            sums = tf.reduce_sum(rows, axis)
            padded = tf.reduce_sum(rows.to_tensor(), axis)
            padded_sums = sums.to_tensor() if isinstance(sums, tf.RaggedTensor) else sums
            shape = padded_sums.shape.as_list()
            assert padded_sums.numpy().tolist() == padded[tuple(slice(n) for n in shape)].numpy().tolist()
            assert int(tf.reduce_sum(padded)) == int(tf.reduce_sum(padded_sums))


@pytest.mark.parametrize(
    ("call", "text", "error"),
    [
        (lambda: deep().merge_dims(2, 1), "Expected outer_axis (2) to be less than or equal to inner_axis", ValueError),
        (lambda: deep().merge_dims(0, 3), "inner_axis=3 out of bounds: expected -3<=inner_axis<3", ValueError),
        (lambda: tf.reduce_sum(flat(), 2), "axis=2 out of bounds: expected -2<=axis<2", ValueError),
        (lambda: tf.gather(flat(), [9]), "indices[0] = 9 is not in [0, 3)", InvalidArgumentError),
        (
            lambda: tf.gather(cube(), tf.ragged.constant([[0], [9]])),
            "indices[1] = 9 is not in [0, 4)",
            InvalidArgumentError,
        ),
        (
            lambda: tf.gather(flat(), [0, 0], axis=1),
            "tf.gather takes only rows of a ragged tensor: axis 0 and batch_dims 0, not axis 1",
            UnimplementedError,
        ),
        (
            lambda: tf.gather(cube(), tf.ragged.constant([[[0]], [[1]]]), axis=2, batch_dims=2),
            "tf.gather at ragged indices supports batch_dims 1 along axis 1, not 2 along axis 2",
            UnimplementedError,
        ),
    ],
)
def test_what_is_refused_has_a_reason(call: Callable[[], Any], text: str, error: type[Exception]) -> None:
    refused(call, text, error)
