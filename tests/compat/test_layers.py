"""Do layers make, name and share variables as those of TensorFlow 1?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf.compat.v1 as tf

layers = tf.layers


def names(variables: Any) -> list[str]:
    return [one.name for one in variables]


def images(*shape: int | None) -> Any:
    return tf.placeholder(tf.float32, shape or (None, 8, 8, 3))


def test_variables_are_named_after_the_layer() -> None:
    with tf.Graph().as_default():
        x = layers.flatten(layers.conv2d(images(), 4, 3))
        layers.dense(layers.dense(x, 5), 2, name="out", use_bias=False)

        assert ["conv2d/kernel:0", "conv2d/bias:0", "dense/kernel:0", "dense/bias:0", "out/kernel:0"] == names(
            tf.trainable_variables()
        )


def test_nodes_stand_in_the_scope_of_the_layer() -> None:
    with tf.Graph().as_default():
        x = images(None, 4)

        assert "dense/BiasAdd:0" == layers.dense(x, 2).name
        assert "dense_1/Relu:0" == layers.dense(x, 2, tf.nn.relu).name
        assert "mine/BiasAdd:0" == layers.dense(x, 2, name="mine").name


def test_kernels_start_as_glorot_says_and_biases_with_0() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        layers.dense(images(None, 50), 100)
        session.run(tf.global_variables_initializer())
        kernel, bias = session.run(tf.trainable_variables())

    assert 0.15 < np.abs(kernel).max() <= 0.2  # sqrt(6 / (50 + 100))
    assert not bias.any()


def test_variables_are_shared_by_name() -> None:
    with tf.Graph().as_default():
        x = images(None, 4)
        layers.dense(x, 2, name="mine")
        layers.dense(x, 2, name="mine", reuse=True)

        assert ["mine/kernel:0", "mine/bias:0"] == names(tf.global_variables())
        with pytest.raises(ValueError, match="Variable mine/kernel already exists"):
            layers.dense(x, 2, name="mine")


def test_layers_without_name_are_shared_in_a_scope_that_reuses() -> None:
    def net(x: Any) -> Any:
        return layers.dense(layers.dense(x, 3), 2)

    with tf.Graph().as_default():
        with tf.variable_scope("net"):
            net(images(None, 4))
        with tf.variable_scope("net", reuse=True):
            net(images(None, 4))

        assert ["net/dense/kernel:0", "net/dense/bias:0", "net/dense_1/kernel:0", "net/dense_1/bias:0"] == names(
            tf.global_variables()
        )


def test_dense_takes_more_than_two_axes() -> None:
    start = tf.constant_initializer([[1.0], [2.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        x = images(None, 3, 2)
        y = layers.dense(x, 1, kernel_initializer=start)
        session.run(tf.global_variables_initializer())

        assert [None, 3, 1] == y.shape.as_list()
        assert [[[3.0]] * 3] == session.run(y, {x: np.ones((1, 3, 2))}).tolist()


def test_images_get_the_shapes_of_their_windows() -> None:
    with tf.Graph().as_default():
        x = images()
        found = [
            layers.conv2d(x, 5, 3),
            layers.conv2d(x, 5, [3, 3], strides=2, padding="same"),
            layers.max_pooling2d(x, 2, 2),
            layers.flatten(x),
        ]

        shapes = [(None, 6, 6, 5), (None, 4, 4, 5), (None, 4, 4, 3), (None, 192)]
        assert shapes == [tuple(one.shape.as_list()) for one in found]


def test_dropout_drops_only_in_training() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, training = images(None, 100), tf.placeholder(tf.bool)
        y = layers.dropout(x, 0.5, training=training)
        ones = np.ones((10, 100))
        dropped, kept = [session.run(y, {x: ones, training: flag}) for flag in (True, False)]

    assert {0.0, 2.0} == set(dropped.reshape(-1).tolist())
    assert {1.0} == set(kept.reshape(-1).tolist())


def test_regularizers_make_losses() -> None:
    with tf.Graph().as_default():
        layers.dense(images(None, 4), 2, kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.reduce_sum)

        assert 2 == len(tf.losses.get_regularization_losses())


def test_what_is_not_known_is_asked_for() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="The last dimension of the inputs to `Dense` should be defined"):
            layers.dense(images(None, None), 2)
        with pytest.raises(ValueError, match="The channel dimension of the inputs should be defined"):
            layers.conv2d(images(None, 4, 4, None), 2, 2)
        with pytest.raises(TypeError, match="dense does not support these arguments: dtypes"):
            layers.dense(images(None, 4), 2, dtypes=1)


def test_at_once_other_layers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    tf.enable_eager_execution()

    with pytest.raises(RuntimeError, match=r"Use `tf\.keras\.layers"):
        layers.dense(nbtf.ones([1, 2]), 2)


def test_a_small_network_learns() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(32, 8, 8, 1)).astype(np.float32)
    y = (x[:, :4].sum((1, 2, 3)) > 0).astype(np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        given, wanted, training = images(None, 8, 8, 1), tf.placeholder(tf.int32, [None]), tf.placeholder(tf.bool)
        h = layers.conv2d(given, 4, 3, padding="same", activation=tf.nn.relu)
        h = layers.max_pooling2d(h, 2, 2)
        h = layers.dropout(layers.dense(layers.flatten(h), 16, tf.nn.relu), 0.1, training=training)
        loss = tf.losses.sparse_softmax_cross_entropy(wanted, layers.dense(h, 2))
        step = tf.train.AdamOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        feeds = {given: x, wanted: y, training: True}
        found = [float(session.run([loss, step], feeds)[0]) for _ in range(30)]

    assert found[-1] < found[0] / 3


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("dense", lambda x: layers.dense(x, 2)),
        ("flatten", layers.flatten),
        ("max_pooling2d", lambda x: layers.max_pooling2d(x, 2, 2)),
        ("dropout", layers.dropout),
    ],
    ids=["dense", "flatten", "max_pooling2d", "dropout"],
)
def test_programs_of_tensorflow_2_have_no_such_layers_but_with_keras_2(
    name: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tf.disable_v2_behavior()
    with pytest.raises(AttributeError, match=f"^`{name}` is not available with Keras 3") as refusal:
        make(images())
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")

    assert tf.float32 == make(images()).dtype
    assert "TF_USE_LEGACY_KERAS=1" in refusal.value.__notes__[0]
