"""Do functions of `tf.nn` take the arguments of TensorFlow 1?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf.compat.v1 as tf

nn = tf.nn

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], np.float32)
SHARES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
IMAGES = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
FILTERS = np.ones((2, 2, 2, 3), np.float32)


def run(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "filter": (
        lambda: nn.conv2d(IMAGES, filter=FILTERS, strides=[1, 1, 1, 1], padding="SAME"),
        lambda: nbtf.nn.conv2d(IMAGES, FILTERS, 1, "SAME"),
    ),
    "filters": (
        lambda: nn.conv2d(IMAGES, filters=FILTERS, strides=2, padding="VALID"),
        lambda: nbtf.nn.conv2d(IMAGES, FILTERS, 2, "VALID"),
    ),
    "largest": (
        lambda: nn.max_pool(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        lambda: nbtf.nn.max_pool2d(IMAGES, 2, 2, "SAME"),
    ),
    "mean": (
        lambda: nn.avg_pool(value=IMAGES, ksize=2, strides=2, padding="VALID"),
        lambda: nbtf.nn.avg_pool2d(IMAGES, 2, 2, "VALID"),
    ),
    "softmax": (lambda: nn.softmax(X, dim=0), lambda: nbtf.nn.softmax(X, 0)),
    "log_softmax": (lambda: nn.log_softmax(X), lambda: nbtf.nn.log_softmax(X)),
    "shares": (
        lambda: nn.softmax_cross_entropy_with_logits(labels=SHARES, logits=X),
        lambda: nbtf.nn.softmax_cross_entropy_with_logits(SHARES, X),
    ),
    "shares, second form": (
        lambda: nn.softmax_cross_entropy_with_logits_v2(labels=SHARES, logits=X),
        lambda: nbtf.nn.softmax_cross_entropy_with_logits(SHARES, X),
    ),
    "classes": (
        lambda: nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=X),
        lambda: nbtf.nn.sparse_softmax_cross_entropy_with_logits([2, 0], X),
    ),
    "sigmoid": (
        lambda: nn.sigmoid_cross_entropy_with_logits(labels=SHARES, logits=X),
        lambda: nbtf.nn.sigmoid_cross_entropy_with_logits(SHARES, X),
    ),
    "weighted": (
        lambda: nn.weighted_cross_entropy_with_logits(targets=SHARES, logits=X, pos_weight=2.0),
        lambda: nbtf.nn.weighted_cross_entropy_with_logits(SHARES, X, 2.0),
    ),
    "rows": (lambda: nn.embedding_lookup([X], [1, 0]), lambda: nbtf.gather(X, [1, 0])),
    "layer": (lambda: nn.xw_plus_b(X, X.T, [1.0, 2.0]), lambda: nbtf.add(nbtf.matmul(X, X.T), [1.0, 2.0])),
    "unit": (lambda: nn.l2_normalize(X, dim=1), lambda: nbtf.math.l2_normalize(X, 1)),
    "zeros": (lambda: nn.zero_fraction(SHARES), lambda: nbtf.constant(2 / 3)),
    "best": (lambda: nn.in_top_k(X, [2, 2], 1), lambda: nbtf.constant([True, False])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_result_is_that_of_the_younger_function(name: str) -> None:
    older, younger = PAIRS[name]

    np.testing.assert_allclose(run(older), younger().numpy(), rtol=1e-6)


def test_gradients_do_not_flow_into_labels_in_the_first_form() -> None:
    with tf.Graph().as_default():
        labels = tf.constant(SHARES)
        first = nn.softmax_cross_entropy_with_logits(labels=labels, logits=X)
        second = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=X)

        assert [True, False] == [tf.gradients(one, labels)[0] is None for one in (first, second)]


def test_what_is_kept_by_dropout_may_be_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, keep = tf.placeholder(tf.float32, [None, 50]), tf.placeholder(tf.float32)
        y = nn.dropout(x, keep)
        ones = np.ones((20, 50))
        first, second, whole = [session.run(y, {x: ones, keep: part}) for part in (0.5, 0.5, 1.0)]

        assert {0.0, 2.0} == set(first.reshape(-1).tolist())
        assert (first != second).any()
        assert (whole == 1).all()
        assert [None, 50] == y.shape.as_list()


def test_dropout_wants_one_rate() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="`rate` must be provided"):
            nn.dropout(X)
        with pytest.raises(ValueError, match="Cannot specify both"):
            nn.dropout(X, 0.5, rate=0.5)
        with pytest.raises(ValueError, match="`rate` must be a scalar tensor or a float in the range"):
            nn.dropout(X, rate=1.5)


def test_nodes_are_called_as_in_tensorflow() -> None:
    with tf.Graph().as_default():
        found = [
            nn.conv2d(IMAGES, FILTERS, 1, "SAME", name="conv"),
            nn.max_pool(IMAGES, 2, 2, "SAME", name="pool1"),
            nn.xw_plus_b(X, X.T, [1.0, 2.0], name="logits"),
            nn.softmax(X),
            nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=X, name="xent"),
            nn.relu(X, name="r"),
        ]

        assert ["conv:0", "pool1:0", "logits:0", "Softmax:0", "xent/xent:0", "r:0"] == [one.name for one in found]
