"""Is Keras as in TensorFlow 2.21, and does what only older guides write run where Keras 2 is asked for?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

keras = tf.keras


def model() -> Any:
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])


@pytest.fixture
def keras_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: keras.optimizers.Adam().lr, "^'Adam' object has no attribute 'lr'"),
        (lambda: setattr(keras.optimizers.SGD(), "lr", 0.5), "^'SGD' object has no attribute 'lr'"),
        (lambda: keras.optimizers.SGD(lr=0.5), r"^Argument\(s\) not recognized: {'lr': 0.5}"),
        (
            lambda: model().save_weights("ckpt"),
            r"^The filename must end in `\.weights\.h5`\. Received: filepath=ckpt",
        ),
        (
            lambda: keras.callbacks.ModelCheckpoint("ckpt", save_weights_only=True),
            r"^When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided must end in "
            r"`\.weights\.h5` \(Keras weights format\)\. Received: filepath=ckpt",
        ),
        (lambda: tf.reduce_sum(keras.Input((2,))), "^A KerasTensor cannot be used as input to a TensorFlow function"),
        (lambda: tf.convert_to_tensor(keras.Input((2,))), "^A KerasTensor cannot be used as input to a TensorFlow"),
    ],
    ids=["lr", "lr set", "lr given", "weights", "checkpoint", "reduce_sum", "convert_to_tensor"],
)
def test_keras_2_alone_is_refused_and_the_way_out_is_named(use: Any, says: str) -> None:
    with pytest.raises((AttributeError, ValueError), match=says) as refusal:
        use()

    assert "TF_USE_LEGACY_KERAS=1" in "".join(refusal.value.__notes__)


@pytest.mark.usefixtures("keras_2")
def test_the_learning_rate_has_its_older_name() -> None:
    optimizer = keras.optimizers.SGD(lr=0.5)
    before = float(optimizer.lr)
    optimizer.lr = 0.25

    assert (0.5, 0.25) == (before, float(optimizer.learning_rate))


@pytest.mark.usefixtures("keras_2")
@pytest.mark.parametrize("name", ["w.npz", "w.any", "w"])
def test_weights_come_back_under_any_ending(name: str, tmp_path: Path) -> None:
    written, read = model(), model()
    written.save_weights(tmp_path / name)
    read.load_weights(tmp_path / name)

    assert written.get_weights()[0].tolist() == read.get_weights()[0].tolist()


@pytest.mark.usefixtures("keras_2")
def test_weights_without_an_ending_are_the_latest_checkpoint(tmp_path: Path) -> None:
    model().save_weights(tmp_path / "ckpt_1")

    assert str(tmp_path / "ckpt_1") == tf.train.latest_checkpoint(tmp_path)


@pytest.mark.usefixtures("keras_2")
@pytest.mark.parametrize(
    "compute",
    [
        tf.square,
        tf.nn.softmax,
        lambda x: tf.reduce_mean(x, axis=-1),
        lambda x: tf.concat([x, tf.ones_like(x)], -1),
        lambda x: tf.reshape(tf.cast(x, tf.float64), (-1, 2, 2)),
        lambda x: tf.where(x > 4.0, x, 0.0),
    ],
    ids=["square", "softmax", "mean", "concat", "reshape", "where"],
)
def test_functions_of_tensors_become_steps_of_the_model(compute: Any) -> None:
    x = keras.Input((4,))
    value = np.arange(1.0, 9.0, dtype="float32").reshape(2, 4)

    np.testing.assert_allclose(keras.Model(x, compute(x))(value), compute(tf.constant(value)), rtol=1e-6)


@pytest.mark.usefixtures("keras_2")
def test_symbolic_loss_is_computed_in_each_call() -> None:
    x = keras.Input((2,))
    model = keras.Model(x, keras.layers.Dense(1)(x))
    model.add_loss(tf.reduce_sum(x) * 0.5)
    model.compile("sgd", "mse")
    model.fit(np.full((4, 2), 3.0), np.zeros((4, 1)), batch_size=4, verbose=0)
    model(np.ones((4, 2)))

    assert [4.0] == [float(loss) for loss in model.losses]
