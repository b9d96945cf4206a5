"""Shapes, or even ranks, that only a run tells: losses, lookups and squeezed tensors take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_sparse_cross_entropy_takes_placeholders_of_any_rank(axes: int) -> None:
    logits, labels = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    found = tf.Session().run(losses, {logits: np.zeros([1] * axes + [4]), labels: np.zeros([1] * axes)})

    assert np.full([1] * axes, np.log(4)) == pytest.approx(found)


def test_labels_without_a_shape_go_with_logits_that_have_one() -> None:
    labels = tf.placeholder(tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([2, 4]))

    assert [np.log(4)] * 2 == pytest.approx(tf.Session().run(losses, {labels: [0, 1]}))


def test_the_rank_of_squeezed_tensors_is_open_where_a_length_is() -> None:
    x = tf.placeholder(tf.float32, [None, 3])

    assert (None, 1) == (tf.squeeze(x).shape.rank, tf.squeeze(x, [0]).shape.rank)
    assert (3,) == tf.Session().run(tf.squeeze(x), {x: [[1, 2, 3]]}).shape


def test_what_is_unique_is_a_vector() -> None:
    assert [[None], [2]] == [one.shape.as_list() for one in tf.unique([1, 1])]


@pytest.mark.parametrize("logits", [[2, 3], None])
def test_cross_entropy_takes_labels_whose_shape_only_a_run_tells(logits: list[int] | None) -> None:
    labels, scores = tf.placeholder("float"), tf.placeholder("float", logits)
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=scores)

    found = tf.Session().run(losses, {labels: [[1, 0, 0], [0, 1, 0]], scores: np.zeros([2, 3])})

    assert [np.log(3)] * 2 == pytest.approx(found)
    assert (None if logits is None else [2]) == (losses.shape.as_list() if losses.shape.ndims else None)


def test_images_may_be_placeholders_without_a_shape() -> None:
    images = tf.placeholder(tf.float32)
    y = tf.nn.conv2d(images, tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "VALID")

    assert (1, 2, 2, 1) == tf.Session().run(y, {images: np.ones([1, 3, 3, 1])}).shape


def test_rows_that_a_gradient_gives_are_fetched() -> None:
    table = tf.Variable(tf.zeros([4, 3]))
    (rows,) = tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1])), table)

    with tf.Session() as session:
        session.run(table.initializer)
        values, indices, shape = session.run(rows)

    assert np.ones([2, 3]).tolist() == values.tolist()
    assert ([1, 1], [4, 3]) == (indices.tolist(), shape.tolist())
