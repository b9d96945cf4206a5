from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
import nbtf.compat.v1 as tf1


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: tf1.arg_max(x, 1), [2, 0]),
        (lambda x: tf1.arg_min(x, 0), [1, 1, 1]),
        (lambda x: tf1.argmax(x, dimension=1), [2, 0]),
        (lambda x: tf1.reduce_max(x, reduction_indices=[1], keep_dims=True), [[3.0], [0.0]]),
        (lambda x: tf1.expand_dims(x, dim=0)[0, 0], [1.0, 2.0, 3.0]),
        (lambda x: tf1.squeeze(x[:1], squeeze_dims=[0]), [1.0, 2.0, 3.0]),
        (lambda x: tf1.lin_space(0.0, 1.0, 3), [0.0, 0.5, 1.0]),
        (lambda x: tf1.where_v2(x[1] < -1.0, 1.0, x[0]), [1.0, 1.0, 1.0]),
        (lambda x: tf1.where([True, False], x, -x), [[1.0, 2.0, 3.0], [0.0, 3.0, 2.0]]),
        (lambda x: tf1.batch_gather(x, tf1.constant([[0], [1]])), [[1.0], [-3.0]]),
        (lambda x: tf1.div([7, -7], 2), [3, -4]),
        (lambda x: tf1.floordiv(x[0], 2.0), [0.0, 1.0, 1.0]),
        (lambda x: tf1.mod(x[0], 2.0), [1.0, 0.0, 1.0]),
        (lambda x: tf1.realdiv(x[0], 2.0), [0.5, 1.0, 1.5]),
        (lambda x: tf1.div_no_nan(x[0], [0.0, 1.0, 2.0]), [0.0, 2.0, 1.5]),
        (lambda x: tf1.to_int64(x[0]), [1, 2, 3]),
        (lambda x: tf1.to_double(x[0]), [1.0, 2.0, 3.0]),
        (lambda x: tf1.logical_xor([True, False], [True, True]), [False, True]),
        (lambda x: tf1.accumulate_n([x[0], x[0]]), [2.0, 4.0, 6.0]),
        (lambda x: tf1.count_nonzero(x, reduction_indices=1), [3, 2]),
        (lambda x: tf1.clip_by_norm([3.0, 4.0], 1.0), pytest.approx([0.6, 0.8])),
        (lambda x: tf1.clip_by_global_norm([tf1.constant([3.0, 4.0])], 1.0)[0][0], pytest.approx([0.6, 0.8])),
        (lambda x: tf1.matrix_inverse([[2.0]]), [[0.5]]),
        (lambda x: tf1.diag([1.0, 2.0]), [[1.0, 0.0], [0.0, 2.0]]),
        (lambda x: tf1.reverse_v2(x[0], [0]), [3.0, 2.0, 1.0]),
        (lambda x: tf1.boolean_mask(x, [True, False]), [[1.0, 2.0, 3.0]]),
        (lambda x: tf1.dynamic_partition(x[0], [1, 0, 1], 2)[1], [1.0, 3.0]),
        (lambda x: tf1.random_normal([0, 2]), []),
        (lambda x: tf1.placeholder_with_default([1.0], [None]), [1.0]),
    ],
)
def test_older_names_and_arguments_compute(build: Callable[..., Any], expected: Any) -> None:
    x = tf1.constant([[1.0, 2.0, 3.0], [0.0, -3.0, -2.0]])

    assert expected == tf1.Session().run(build(x)).tolist()


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (
            lambda x: tf1.reduce_sum(x, axis=0, reduction_indices=0),
            "Cannot specify both 'reduction_indices' and 'axis'",
        ),
        (lambda x: tf1.reduce_sum(x, keepdims=True, keep_dims=True), "Cannot specify both 'keep_dims' and 'keepdims'"),
        (lambda x: tf1.expand_dims(x), "Must specify an axis argument"),
        (lambda x: tf1.add_n([]), "Inputs must be an iterable of at least one Tensor"),
        (lambda x: tf1.where(x > 0.0, x), "x and y must both be non-None or both be None"),
        (lambda x: tf1.zeros([None, 2]), "Cannot convert a partially known TensorShape"),
    ],
)
def test_arguments_that_contradict_are_refused(build: Callable[..., Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build(tf1.constant([1.0]))


def test_a_default_can_be_fed() -> None:
    x = tf1.placeholder_with_default([1.0], [None])

    assert ([None], [2.0, 3.0]) == (x.shape.as_list(), tf1.Session().run(x, {x: [2.0, 3.0]}).tolist())


def test_scopes_of_ops_are_scopes() -> None:
    with tf1.name_scope(None, "s", []) as scope:
        a = tf1.constant(1)
        with tf1.init_scope():
            b = tf1.constant(1)

    assert ["s/", "s/Const:0", "Const:0"] == [scope, a.name, b.name]


def test_tensors_of_graphs_can_be_told() -> None:
    assert (True, False) == (tf1.is_symbolic_tensor(tf1.constant(1)), tf1.is_symbolic_tensor(1))
    assert (True, False) == (tf1.is_numeric_tensor(tf1.constant(1)), tf1.is_numeric_tensor(tf1.constant("t")))


def test_layers_of_today_need_values() -> None:
    with pytest.raises(AttributeError, match=r"use tf\.layers instead"):
        tf1.keras.layers.Dense(1)(tf1.placeholder(tf1.float32, [None, 2]))


def test_an_iterator_gives_elements_where_ops_run_at_once_and_a_graph_says_what_to_write() -> None:
    with pytest.raises(AttributeError, match="make_one_shot_iterator") as error:
        tf1.data.make_one_shot_iterator(tf.data.Dataset.range(2))
    assert "for element in dataset" in error.value.__notes__[0]
    tf1.enable_eager_execution()
    numbers = tf1.data.make_one_shot_iterator(tf.data.Dataset.range(2))

    assert [int(numbers.get_next()), int(numbers.get_next())] == [0, 1]
