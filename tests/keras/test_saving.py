"""Do models and weights come back from files as they were, and does training go on exactly?"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.machines import machine

keras = tf.keras
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = X.sum(1, keepdims=True) ** 2


class Wide(keras.Model):
    """Takes an argument, and says so in its config."""

    def __init__(self, units: int = 4, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.hidden = keras.layers.Dense(units)
        self.last = [keras.layers.Dense(1)]

    def call(self, x: Any) -> Any:
        return self.last[0](self.hidden(x))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class Bare(keras.Model):
    """Takes no argument, and writes no config."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = _deferred()

    def call(self, x: Any) -> Any:
        return self.inner(x)


def _sequential() -> Any:
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])


def _deferred() -> Any:
    return keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])


def _nested() -> Any:
    inputs = keras.Input((3,))
    return keras.Model(inputs, _deferred()(keras.layers.Dense(3)(inputs)))


def _trained(make: Callable[[], Any]) -> Any:
    model = make()
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    model.fit(X, Y, epochs=2, verbose=0)
    return model


def _results(model: Any) -> list[float]:
    return model.predict(X, verbose=0).ravel().tolist()


@pytest.mark.parametrize("name", ["model.keras", "folder"])
@pytest.mark.parametrize("make", [_sequential, _deferred, _nested, Wide, Bare])
def test_a_loaded_model_goes_on_training_as_the_one_that_was_saved(
    make: Callable[[], Any], name: str, tmp_path: Path
) -> None:
    model = _trained(make)
    model.save(tmp_path / name)
    loaded = keras.models.load_model(tmp_path / name, custom_objects={"Wide": Wide, "Bare": Bare})

    assert type(loaded) is type(model)
    assert _results(loaded) == _results(model)
    model.fit(X, Y, shuffle=False, verbose=0)
    loaded.fit(X, Y, shuffle=False, verbose=0)
    assert _results(loaded) == _results(model)


def test_weights_come_back(tmp_path: Path) -> None:
    model, other = _sequential(), _sequential()
    model.save_weights(tmp_path / "w.weights.h5")
    other.load_weights(tmp_path / "w.weights.h5")

    assert _results(other) == _results(model)


def test_the_newest_weights_of_a_folder_are_found(tmp_path: Path) -> None:
    model = _sequential()
    for number in (1, 2):
        model.save_weights(tmp_path / f"ckpt_{number}.weights.h5")
        os.utime(tmp_path / f"ckpt_{number}.weights.h5", (number, number))

    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt_2.weights.h5")


def test_weights_are_taken_from_a_whole_model(tmp_path: Path) -> None:
    model, other = _trained(_sequential), _sequential()
    model.save(tmp_path / "m.keras")
    other.load_weights(tmp_path / "m.keras")

    assert _results(other) == _results(model)


def test_a_model_loaded_in_a_scope_is_mirrored(tmp_path: Path) -> None:
    with machine(2):
        _trained(_sequential).save(tmp_path / "m.keras")
        with tf.distribute.MirroredStrategy().scope():
            loaded = keras.models.load_model(tmp_path / "m.keras")
        loaded.fit(X, Y, verbose=0)

        assert type(loaded.weights[0].value).__name__ == "MirroredVariable"
        assert int(loaded.optimizer.iterations.numpy()) == 3


def test_training_on_several_devices_goes_on_exactly(tmp_path: Path) -> None:
    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = _trained(_sequential)
        model.save(tmp_path / "m.keras")
        with strategy.scope():
            loaded = keras.models.load_model(tmp_path / "m.keras")
        model.fit(X, Y, shuffle=False, verbose=0)
        loaded.fit(X, Y, shuffle=False, verbose=0)

        assert _results(loaded) == _results(model)


def test_moving_averages_are_saved(tmp_path: Path) -> None:
    def made() -> Any:
        return keras.Sequential([keras.Input((3,)), keras.layers.BatchNormalization()])

    model = made()
    model(X, training=True)
    model.save(tmp_path / "m.keras")

    assert _results(keras.models.load_model(tmp_path / "m.keras")) == _results(model)


def test_a_registered_class_is_found(tmp_path: Path) -> None:
    @keras.saving.register_keras_serializable(package="Mine")
    class Twice(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return 2 * x

    keras.Sequential([keras.Input((3,)), Twice()]).save(tmp_path / "m.keras")
    assert _results(keras.models.load_model(tmp_path / "m.keras")) == (2 * X).ravel().tolist()


def test_a_class_that_is_not_known_is_asked_for(tmp_path: Path) -> None:
    _trained(Wide).save(tmp_path / "m.keras")

    with pytest.raises(TypeError, match=r"Could not locate 'Wide'.*custom_objects"):
        keras.models.load_model(tmp_path / "m.keras")


def test_compile_false_leaves_the_model_uncompiled(tmp_path: Path) -> None:
    _trained(_sequential).save(tmp_path / "m.keras")

    assert not keras.models.load_model(tmp_path / "m.keras", compile=False).compiled


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.keras").write_text("no model")

    with pytest.raises(ValueError, match="File not found"):
        keras.models.load_model(tmp_path / "nothing.keras")
    with pytest.raises(FileNotFoundError):
        keras.models.load_model(tmp_path / "nothing.h5")
    with pytest.raises(ValueError, match="Invalid filepath extension"):
        _sequential().save("")
    with pytest.raises(ValueError, match="is not a model written by nbtf"):
        keras.models.load_model(tmp_path / "text.keras")
    with pytest.raises(ValueError, match="Invalid filepath extension"):
        _sequential().save(tmp_path / "m.pb")
    with pytest.raises(ValueError, match="no weights yet"):
        _deferred().save_weights(tmp_path / "w.weights.h5")
    with pytest.raises(FileNotFoundError):
        _sequential().load_weights(tmp_path / "nothing")


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _sequential()
    model.save(tmp_path / "m.keras")
    before = (tmp_path / "m.keras").read_bytes()

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("zipfile.ZipFile.writestr", full)
    with pytest.raises(OSError, match="no space"):
        model.save(tmp_path / "m.keras")
    assert (tmp_path / "m.keras").read_bytes() == before


def test_weights_of_another_model_are_refused_or_left_out(tmp_path: Path) -> None:
    _sequential().save_weights(tmp_path / "w.weights.h5")
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    kept = other.layers[1].get_weights()[0].tolist()

    with pytest.raises(ValueError, match=r"has shape \(4, 1\)"):
        other.load_weights(tmp_path / "w.weights.h5")
    other.load_weights(tmp_path / "w.weights.h5", skip_mismatch=True)
    assert other.layers[1].get_weights()[0].tolist() == kept


def test_dropout_goes_on_where_it_was(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5)])
    model(X, training=True)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")

    assert loaded(X, training=True).numpy().tolist() == model(X, training=True).numpy().tolist()


def _away(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.abs(y_true - y_pred), -1)


def test_schedules_and_functions_of_compile_come_back(tmp_path: Path) -> None:
    model = _sequential()
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    model.compile(keras.optimizers.SGD(schedule, momentum=0.9), loss=_away, metrics=[keras.metrics.MeanSquaredError()])
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects={"_away": _away})

    histories = [one.fit(X, Y, shuffle=False, verbose=0).history for one in (model, loaded)]
    assert histories[0] == histories[1]


def test_a_lambda_is_asked_for(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: 2 * x)])
    model.save(tmp_path / "m.keras")

    with pytest.raises(TypeError, match="Cannot load a lambda: it has no name"):
        keras.models.load_model(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects={"<lambda>": lambda x: 2 * x})
    assert _results(loaded) == (2 * X).ravel().tolist()


def test_several_inputs_and_outputs_come_back(tmp_path: Path) -> None:
    one, two = keras.Input((3,), name="one"), keras.Input((3,), name="two")
    both = keras.layers.concatenate([one, two])
    model = keras.Model([one, two], {"a": keras.layers.Dense(1)(both), "b": keras.layers.Dense(2)(both)})
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")

    expected, found = (each.predict({"one": X, "two": X}, verbose=0) for each in (model, loaded))
    assert {name: found[name].tolist() for name in found} == {name: expected[name].tolist() for name in expected}
