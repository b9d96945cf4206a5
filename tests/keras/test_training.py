"""Does a model learn, and does it tell of it in Keras' words?"""

from __future__ import annotations

import gc
import random
from typing import Any
from weakref import ref

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import layers, models, optimizers

X = np.random.RandomState(0).rand(10, 3).astype(np.float32)
Y = np.random.RandomState(1).rand(10, 1).astype(np.float32)
CLASSES = np.arange(10) % 2


def model(**compiled: Any) -> Any:
    random.seed(1)
    np.random.seed(1)
    made: Any = models.Sequential([layers.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(1)])
    made.compile(**{"optimizer": "sgd", "loss": "mse", **compiled})
    return made


def two_outputs(**compiled: Any) -> Any:
    inputs = layers.Input((3,))
    outputs = [layers.Dense(2, name="alpha", activation="softmax")(inputs), layers.Dense(1, name="beta")(inputs)]
    made: Any = models.Model(inputs, outputs)
    made.compile(**{"optimizer": "sgd", **compiled})
    return made


# fit, by hand


def test_fit_makes_the_steps_that_a_tape_makes() -> None:
    by_fit, by_hand = model(), model()
    by_hand.set_weights(by_fit.get_weights())
    by_fit.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for _ in range(2):
        for start in range(0, 10, 4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((by_hand(X[start : start + 4]) - Y[start : start + 4]) ** 2)
            weights = by_hand.trainable_variables
            by_hand.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    for one, other in zip(by_fit.get_weights(), by_hand.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_loss_of_a_pass_is_the_mean_over_its_rows() -> None:
    made = model(optimizer=optimizers.SGD(0.0))
    expected = ((made.predict(X, verbose=0) - Y) ** 2).mean()

    assert made.fit(X, Y, batch_size=4, verbose=0).history["loss"] == [pytest.approx(expected, rel=1e-5)]


def test_the_history_has_all_results_in_alphabetical_order() -> None:
    history = model(metrics=["mae", "accuracy"]).fit(X, Y, epochs=2, batch_size=4, validation_split=0.2, verbose=0)

    assert list(history.history) == ["accuracy", "loss", "mae", "val_accuracy", "val_loss", "val_mae"]
    assert (history.epoch, history.params) == ([0, 1], {"verbose": 0, "epochs": 2, "steps": 2})


def test_fit_goes_on_from_an_initial_epoch() -> None:
    assert model().fit(X, Y, epochs=5, initial_epoch=3, verbose=0).epoch == [3, 4]


def test_the_same_seed_gives_the_same_order_of_rows() -> None:
    one, other = model(), model()
    histories: list[Any] = []
    for made in (one, other):
        tf.random.set_seed(7)
        histories.append(made.fit(X, Y, batch_size=2, epochs=2, verbose=0).history)

    assert histories[0] == histories[1]


def test_regularizers_count_in_the_loss() -> None:
    made: Any = models.Sequential([layers.Input((3,)), layers.Dense(1, kernel_regularizer="l2")])
    made.compile("sgd", "mse")
    expected = ((made.predict(X, verbose=0) - Y) ** 2).mean() + 0.01 * (made.get_weights()[0] ** 2).sum()

    assert made.evaluate(X, Y, verbose=0) == pytest.approx(expected, rel=1e-5)


def test_class_weights_and_sample_weights_do_the_same() -> None:
    one, other = model(), model()
    one.fit(X, CLASSES, class_weight={0: 1.0, 1: 3.0}, shuffle=False, verbose=0)
    other.fit(X, CLASSES, sample_weight=np.where(CLASSES, 3.0, 1.0), shuffle=False, verbose=0)

    assert [w.tolist() for w in one.get_weights()] == [w.tolist() for w in other.get_weights()]


def test_validation_comes_as_often_as_is_said() -> None:
    history = model().fit(X, Y, epochs=4, validation_data=(X, Y), validation_freq=2, verbose=0)
    listed = model().fit(X, Y, epochs=4, validation_data=(X, Y), validation_freq=[1, 2, 4], verbose=0)

    assert (len(history.history["val_loss"]), len(listed.history["val_loss"])) == (2, 3)


# Results


def test_evaluate_gives_loss_and_metrics_in_the_order_of_compile() -> None:
    made = model(metrics=["mae", "accuracy"])
    results = made.evaluate(X, Y, verbose=0, return_dict=True)

    assert made.evaluate(X, Y, verbose=0) == [results["loss"], results["mae"], results["accuracy"]]
    assert made.metrics_names == ["loss", "compile_metrics"]


def test_predict_gives_arrays_for_all_rows_in_the_form_of_the_outputs() -> None:
    made = two_outputs(loss="mse")
    alpha, beta = made.predict(X, batch_size=4, verbose=0)

    assert (type(alpha), alpha.shape, beta.shape) == (np.ndarray, (10, 2), (10, 1))
    np.testing.assert_allclose(made.predict_on_batch(X)[0], alpha, rtol=1e-5)


def test_single_batches_are_learned_from_and_tested() -> None:
    made = model(metrics=["mae"])
    before = made.test_on_batch(X, Y, return_dict=True)
    made.reset_metrics()

    assert made.train_on_batch(X, Y) == [before["loss"], before["mae"]]
    assert made.optimizer.iterations.numpy() == 1


@pytest.mark.parametrize(
    ("outputs", "labels", "kind"),
    [(1, CLASSES, "BinaryAccuracy"), (2, CLASSES, "SparseCategoricalAccuracy"), (2, np.eye(2)[CLASSES], "Categorical")],
)
def test_accuracy_is_the_one_that_suits_the_shapes(outputs: int, labels: Any, kind: str) -> None:
    made: Any = models.Sequential([layers.Input((3,)), layers.Dense(outputs, activation="sigmoid")])
    made.compile("sgd", "sparse_categorical_crossentropy" if kind[0] == "S" else "mse", metrics=["accuracy"])
    made.evaluate(X, labels, verbose=0)

    assert type(made.metrics[1].metrics[0]).__name__.startswith(kind)


@pytest.mark.parametrize(
    "compiled",
    [
        {"loss": ["sparse_categorical_crossentropy", "mse"], "metrics": [["accuracy"], ["mae"]]},
        {
            "loss": {"alpha": "sparse_categorical_crossentropy", "beta": "mse"},
            "metrics": {"alpha": "accuracy", "beta": "mae"},
        },
    ],
)
@pytest.mark.parametrize("targets", [[CLASSES, Y], {"beta": Y, "alpha": CLASSES}])
def test_results_of_several_outputs_bear_their_names(compiled: Any, targets: Any) -> None:
    history = two_outputs(**compiled).fit(X, targets, verbose=0).history

    assert list(history) == ["alpha_accuracy", "alpha_loss", "beta_loss", "beta_mae", "loss"]
    assert history["loss"][0] == pytest.approx(history["alpha_loss"][0] + history["beta_loss"][0], rel=1e-5)


def test_losses_of_several_outputs_are_weighted() -> None:
    results = two_outputs(loss=["mse", "mse"], loss_weights=[1.0, 2.0]).evaluate(
        X, [np.eye(2)[CLASSES], Y], verbose=0, return_dict=True
    )

    assert results["loss"] == pytest.approx(results["alpha_loss"] + 2 * results["beta_loss"], rel=1e-5)


def test_weighted_metrics_take_weights_and_get_a_name_of_their_own() -> None:
    made = model(metrics=["mae"], weighted_metrics=["mae"])
    results = made.evaluate(X, Y, sample_weight=CLASSES.astype(np.float32), verbose=0, return_dict=True)
    errors = np.abs(made.predict(X, verbose=0) - Y)[:, 0]

    assert results["mae"] == pytest.approx(errors.mean(), rel=1e-5)
    assert results["weighted_mae"] == pytest.approx(errors[CLASSES == 1].mean(), rel=1e-5)


# Steps that a subclass writes


class Own(models.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"own": loss * 2}

    def test_step(self, data: Any) -> Any:
        return {"tested": tf.constant(3.0)}

    def predict_step(self, data: Any) -> Any:
        return self(data, training=False) * 0.0


def test_training_without_strategies_leaves_nothing_to_the_garbage_collector() -> None:
    made = model(metrics=["mae"])
    made.fit(X, Y, verbose=0)
    gc.collect()
    gc.disable()
    try:
        made.fit(X, Y, batch_size=2, epochs=3, verbose=0)
        left = gc.collect()
    finally:
        gc.enable()

    assert left == 0


def test_a_model_that_was_trained_goes_with_its_last_name() -> None:
    made = model(metrics=["mae"])
    history = made.fit(X, Y, validation_split=0.2, verbose=0)
    made.train_on_batch(X, Y)
    made.predict(X, verbose=0)
    alive = ref(made)
    gc.disable()
    try:
        del made
        left = alive()
    finally:
        gc.enable()

    assert (left, history.model) == (None, None)


def test_a_subclass_may_write_its_own_steps() -> None:
    made = Own()
    made.compile("sgd", "mse")
    history = made.fit(X, Y, epochs=2, validation_data=(X, Y), verbose=0).history

    assert list(history) == ["own", "val_tested"]
    assert history["own"][1] < history["own"][0]
    assert made.predict(X, verbose=0).tolist() == np.zeros((10, 1)).tolist()


def test_metrics_that_a_step_of_its_own_looks_at_are_in_the_results() -> None:
    class Looks(Own):
        def test_step(self, data: Any) -> Any:
            for metric in self.metrics[1:]:
                metric.update_state(data[1], self(data[0], training=False))
            return {metric.name: metric.result() for metric in self.metrics}

    made = Looks()
    made.compile("sgd", "mse", metrics=["mae"])
    expected = np.abs(made(X).numpy() - Y).mean()

    assert made.evaluate(X, Y, verbose=0) == [0.0, pytest.approx(expected, rel=1e-5)]


def test_a_subclass_may_write_its_own_loss_and_metrics() -> None:
    class Doubled(models.Sequential):
        def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, **others: Any) -> Any:
            return 2.0 * tf.reduce_mean((y - y_pred) ** 2)

        def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            seen.append(int(y_pred.shape[0]))
            return super().compute_metrics(x, y, y_pred, sample_weight)

    seen: list[int] = []
    made: Any = Doubled([layers.Input((3,)), layers.Dense(1)])
    made.compile("sgd", metrics=["mae"])
    expected = 2 * ((made.predict(X, verbose=0) - Y) ** 2).mean()

    assert made.evaluate(X, Y, batch_size=4, verbose=0)[0] == pytest.approx(expected, rel=1e-5)
    assert seen == [4, 2]  # once for each shape: Python runs while a step is traced


def test_an_interrupted_step_leaves_no_trace() -> None:
    class Interrupted(optimizers.SGD):
        def update(self, step: Any, gradient: Any, variable: Any, *slots: Any) -> None:
            super().update(step, gradient, variable, *slots)
            if step.number == 2 and "bias" in variable.name:
                raise KeyboardInterrupt

    made, other = model(optimizer=Interrupted(0.1), metrics=["mae"]), model(optimizer=optimizers.SGD(0.1))
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    other.train_on_batch(X[:4], Y[:4])

    assert [w.tolist() for w in made.get_weights()] == [w.tolist() for w in other.get_weights()]
    assert made.optimizer.iterations.numpy() == 1


# Errors


@pytest.mark.parametrize("name", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_a_model_must_be_compiled(name: str) -> None:
    made: Any = models.Sequential([layers.Dense(1)])
    with pytest.raises(ValueError, match=r"^You must call `compile\(\)` before using the model\.$"):
        getattr(made, name)(X, Y)


@pytest.mark.parametrize(
    ("compiled", "targets", "kind", "text"),
    [
        ({"optimizer": "foo"}, Y, ValueError, "Could not interpret optimizer identifier: foo"),
        ({"metrics": "mse"}, Y, ValueError, r"^Expected `metrics` argument to be a list, tuple, or dict\. Received "),
        ({"metrics": ["foo"]}, Y, ValueError, "^Could not interpret metric identifier: foo$"),
        ({"loss": None}, Y, ValueError, r"^No loss to compute\. Provide a `loss` argument in `compile\(\)`\.$"),
        ({}, None, ValueError, "^None values not supported"),
    ],
)
def test_what_is_wrong_is_told_in_keras_words(compiled: Any, targets: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        model(**compiled).fit(X, targets, verbose=0)


@pytest.mark.parametrize(
    ("compiled", "targets", "text"),
    [
        ({"loss": {"alpha": "mse", "gamma": "mse"}}, [Y, Y], r"^Expected keys \['alpha', 'beta'\] in loss dict, but "),
        ({"loss": ["mse", "mse"]}, [Y], "^y_true and y_pred have different structures"),
        ({"loss": "mse", "loss_weights": [1.0]}, [Y, Y], "^`loss_weights` must match the number of losses, got 2 "),
        ({"loss": "mse", "metrics": ["mae"]}, [Y, Y], r"^Invalid `metrics`\. `metrics` should contain metrics "),
    ],
)
def test_what_does_not_suit_the_outputs_is_told_in_keras_words(compiled: Any, targets: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        two_outputs(**compiled).fit(X, targets, verbose=0)


def test_an_argument_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'foo'"):
        model().fit(X, Y, foo=3)


def test_what_compile_was_given_can_be_written_down_and_used_again() -> None:
    one, other = model(metrics=["mae"]), model()
    other.compile_from_config(one.get_compile_config())

    assert other.get_compile_config() == one.get_compile_config()
    assert type(other.optimizer) is optimizers.SGD


def test_each_batch_has_a_loss_and_metrics_of_its_own() -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    x, y = np.ones((2, 2)), np.ones((2, 1))
    other, zeros = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), np.zeros((3, 1))

    # the numbers are those of Keras on TensorFlow 2.21
    assert [model.train_on_batch(x, y) for _ in range(3)] == [
        pytest.approx(row, rel=1e-4) for row in ([1.0, 1.0], [0.8836, 0.94], [0.78075, 0.8836])
    ]
    for _ in range(2):
        assert model.test_on_batch(x, y) == pytest.approx([0.68987, 0.83058], rel=1e-4)
        assert model.test_on_batch(other, zeros, return_dict=True) == pytest.approx(
            {"loss": 7.43447, "mae": 2.4596}, rel=1e-4
        )
    assert model.evaluate(x, y, verbose=0) == pytest.approx([0.68987, 0.83058], rel=1e-4)
    assert {name: float(value) for name, value in model.get_metrics_result().items()} == pytest.approx(
        {"loss": 0.68987, "mae": 0.83058}, rel=1e-4
    )
