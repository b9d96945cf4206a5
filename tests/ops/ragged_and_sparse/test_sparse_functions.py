"""Do functions of sparse tensors give what NumPy gives for the dense tensors: eagerly, traced, and their gradients?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf


def random_array(seed: int, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Returns random whole numbers, half of them zero."""
    generator = np.random.default_rng(seed)
    return (generator.integers(-3, 4, shape) * generator.integers(0, 2, shape)).astype(dtype)


def dense(sparse: Any) -> Any:
    return tf.sparse.to_dense(sparse)


A, B = random_array(0, (2, 3, 4)), random_array(1, (2, 3, 4))

CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "reshape": (lambda a, b: dense(tf.sparse.reshape(a, [4, -1])), lambda a, b: a.reshape(4, -1)),
    "reshape flat": (lambda a, b: dense(tf.sparse.reshape(a, [-1])), lambda a, b: a.reshape(-1)),
    "expand_dims": (lambda a, b: dense(tf.sparse.expand_dims(a)), lambda a, b: a[..., None]),
    "expand_dims 1": (lambda a, b: dense(tf.sparse.expand_dims(a, 1)), lambda a, b: a[:, None]),
    "transpose": (lambda a, b: dense(tf.sparse.transpose(a)), lambda a, b: a.T),
    "transpose order": (
        lambda a, b: dense(tf.sparse.transpose(a, [1, 0, 2])),
        lambda a, b: a.transpose(1, 0, 2),
    ),
    **{
        f"concat {axis}": (
            lambda a, b, axis=axis: dense(tf.sparse.concat(axis, [a, b, a])),
            lambda a, b, axis=axis: np.concatenate([a, b, a], axis),
        )
        for axis in (0, 1, -1)
    },
    "add": (lambda a, b: dense(tf.sparse.add(a, b)), lambda a, b: a + b),
    "maximum": (lambda a, b: dense(tf.sparse.maximum(a, b)), np.maximum),
    "minimum": (lambda a, b: dense(tf.sparse.minimum(a, b)), np.minimum),
    **{
        f"reduce_sum {axis}": (
            lambda a, b, axis=axis: tf.sparse.reduce_sum(a, axis),
            lambda a, b, axis=axis: a.sum(tuple(axis) if isinstance(axis, list) else axis),
        )
        for axis in (None, 0, -1, [0, 2])
    },
    "reduce_sum keepdims": (
        lambda a, b: dense(tf.sparse.reduce_sum(a, 1, True, output_is_sparse=True)),
        lambda a, b: a.sum(1, keepdims=True),
    ),
    "shape": (lambda a, b: tf.shape(a), lambda a, b: np.array(a.shape)),
    "size": (lambda a, b: tf.size(a), lambda a, b: a.size),
    "rank": (lambda a, b: tf.rank(a), lambda a, b: a.ndim),
    "times": (lambda a, b: dense(a * dense(b)), lambda a, b: a * b),
    "times row": (lambda a, b: dense(a * dense(b)[0, 0]), lambda a, b: a * b[0, 0]),
    "over": (lambda a, b: dense(a / (dense(b)[:, :1] ** 2 + 1)), lambda a, b: a / (b[:, :1] ** 2 + 1)),
    "bincount": (
        lambda a, b: dense(
            tf.sparse.bincount(tf.sparse.reshape(tf.sparse.map_values(tf.abs, tf.cast(a, tf.int32)), [-1]))
        ),
        lambda a, b: np.bincount(np.abs(a[a != 0]).astype(int)),
    ),
}


def traced(function: Callable[..., Any]) -> Any:
    spec = tf.SparseTensorSpec([None, None, 4], tf.float32)
    return tf.function(function, input_signature=[spec, spec])


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_numpy_gives(name: str) -> None:
    function, of_numpy = CASES[name]
    operands = tf.sparse.from_dense(A), tf.sparse.from_dense(B)

    for run in (function, traced(function)):
        np.testing.assert_array_equal(of_numpy(A, B), run(*operands).numpy())


@pytest.mark.parametrize("name", ["add", "reduce_sum 0", "reduce_sum None", "times row", "over", "reshape"])
def test_gradients_are_those_of_the_dense_function(name: str) -> None:
    function, of_numpy = CASES[name]
    weights = np.random.default_rng(3).normal(size=np.shape(of_numpy(A, B)))

    def loss(first: Any, second: Any) -> Any:
        a, b = tf.sparse.from_dense(A).with_values(first), tf.sparse.from_dense(B).with_values(second)
        return tf.reduce_sum(function(a, b) * tf.cast(weights, first.dtype))

    parts = [tf.cast(array[array != 0], tf.float64) for array in (A, B)]
    with tf.GradientTape() as tape:
        tape.watch(parts)
        value = loss(*parts)
    for part, grad in zip(parts, tape.gradient(value, parts), strict=True):
        for place in range(len(part)):
            step = tf.one_hot(place, len(part), 1e-4, 0.0, dtype=tf.float64)
            moved = [[each + sign * step if each is part else each for each in parts] for sign in (1, -1)]
            slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-4
            assert slope.numpy() == pytest.approx(0.0 if grad is None else grad.numpy()[place], abs=1e-6)


def test_gradient_of_maxima_goes_to_the_largest_elements() -> None:
    values = tf.constant([1.0, 5.0, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        sparse = tf.SparseTensor([[0, 0], [0, 1], [0, 2]], values, [2, 3])
        largest = tf.sparse.reduce_max(sparse, 1)

    assert [5.0, 0.0] == largest.numpy().tolist()
    assert [0.0, 0.5, 0.5] == tape.gradient(largest, values).numpy().tolist()


def test_maxima_leave_out_zeros_that_are_not_stored() -> None:
    s = tf.sparse.from_dense([[-1, 0], [0, 0], [-2, -3]])

    assert [-1, 0, -2] == tf.sparse.reduce_max(s, 1).numpy().tolist()
    kept = tf.sparse.reduce_max(s, 1, output_is_sparse=True)
    assert ([[0], [2]], [-1, -2]) == (kept.indices.numpy().tolist(), kept.values.numpy().tolist())


def test_sums_below_the_threshold_are_left_out() -> None:
    total = tf.sparse.add(tf.sparse.from_dense([1.0, 2.0, 0.0]), tf.sparse.from_dense([-1.0, 0.0, 3.0]), 2.5)

    assert [3.0] == total.values.numpy().tolist()


def test_a_large_sparse_tensor_is_never_made_dense() -> None:
    shape = [10**9, 10**9]
    a, b = tf.SparseTensor([[5, 10**8]], [1.0], shape), tf.SparseTensor([[5, 10**8]], [2.0], shape)

    assert [3.0] == tf.sparse.add(a, b).values.numpy().tolist()
    assert [[10**8, 5]] == tf.sparse.transpose(tf.sparse.maximum(a, b)).indices.numpy().tolist()
    assert [[5 * 10**9 + 10**8]] == tf.sparse.reshape(a, [-1]).indices.numpy().tolist()
    assert [1.0] == tf.sparse.reduce_sum(a, 1, output_is_sparse=True).values.numpy().tolist()


def test_other_lengths_may_differ_in_a_concatenation() -> None:
    a, b = tf.sparse.from_dense([[1, 2, 3]]), tf.sparse.from_dense([[4], [5]])

    joined = dense(tf.sparse.concat(0, [a, b], expand_nonconcat_dims=True))
    assert [[1, 2, 3], [4, 0, 0], [5, 0, 0]] == joined.numpy().tolist()


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda s: tf.sparse.reshape(s, [5]), tf.errors.InvalidArgumentError, "but the requested shape has 5"),
        (
            lambda s: tf.sparse.reshape(s, [-1, -1]),
            tf.errors.InvalidArgumentError,
            "only one output dimension may be -1",
        ),
        (lambda s: tf.sparse.reshape(s, [4, -1]), tf.errors.InvalidArgumentError, "multiple of 4"),
        (lambda s: tf.sparse.expand_dims(s, 5), tf.errors.InvalidArgumentError, "within [0, 2]"),
        (lambda s: tf.sparse.expand_dims(s, "x"), TypeError, "axis must be an integer value"),
        (lambda s: tf.sparse.concat(2, [s, s]), tf.errors.InvalidArgumentError, "must be in range [-2, 2)"),
        (
            lambda s: tf.sparse.concat(0, [s, tf.sparse.transpose(s)]),
            tf.errors.InvalidArgumentError,
            "expected 3 for dimension 1 but got 2 at position 1",
        ),
        (lambda s: tf.sparse.retain(s, [True]), ValueError, "Dimensions 2 and 1 are not compatible"),
        (lambda s: tf.sparse.reduce_sum(s, 2), tf.errors.InvalidArgumentError, "Invalid reduction dimension 2"),
        (lambda s: tf.sparse.add(s, tf.sparse.transpose(s)), tf.errors.InvalidArgumentError, "got 2 and 3"),
        (lambda s: tf.sparse.bincount(s, axis=1), ValueError, "axis=1"),
        (lambda s: tf.sparse.bincount([-1]), tf.errors.InvalidArgumentError, "non-negative"),
        (lambda s: s * tf.ones([3, 3]), tf.errors.InvalidArgumentError, "incompatible shapes: [2,3] vs. [3,3]"),
        (lambda s: s / 0.0, tf.errors.InvalidArgumentError, "cannot divide by zero"),
        (lambda s: s * s, TypeError, "unsupported operand"),
    ],
)
def test_what_does_not_fit_is_refused(function: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        function(tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))

    assert text in str(caught.value)


def test_counts_have_the_lengths_that_are_asked_for() -> None:
    numbers = [[3, 1, 1], [0, 5, 1]]
    counts = tf.sparse.bincount(numbers, axis=-1, minlength=4, maxlength=4)

    assert [[0, 2, 0, 1], [1, 1, 0, 0]] == dense(counts).numpy().tolist()
    assert [[0, 1, 0, 1], [1, 1, 0, 0]] == dense(
        tf.sparse.bincount(numbers, axis=-1, maxlength=4, binary_output=True)
    ).numpy().tolist()
    assert tf.int32 == counts.dtype
    weighted = tf.sparse.bincount([1, 1, 2], weights=[0.5, 1.0, 2.0])
    assert [0.0, 1.5, 2.0] == dense(weighted).numpy().tolist()
    ragged = tf.sparse.bincount(tf.ragged.constant([[1, 1], [], [0]]), axis=-1)
    assert [[0, 2], [0, 0], [1, 0]] == dense(ragged).numpy().tolist()
