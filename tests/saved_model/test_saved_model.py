"""Can what was saved be called again, with its variables and signatures, also on several devices?"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._storage import folders
from nbtf.saved_model.writing import OBJECTS, VALUES
from tests.machines import machine

keras = tf.keras
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)


class Line(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = tf.Variable(2.0, name="slope")
        self.parts = {"offsets": [tf.Variable(1.0, trainable=False), 3]}
        self.again = self.slope
        self.kept = (tf.constant([1, 2]), np.arange(2), "text", tf.float32, {3, 4})

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.parts["offsets"][0]

    @tf.function
    def twice(self, x: Any) -> Any:
        return {"double": 2 * self(x)}


class Clipped(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call_custom_grad(self, x: Any) -> Any:
        return _clipped(x)


@tf.custom_gradient
def _clipped(y: Any) -> Any:
    return y, lambda dy: tf.clip_by_norm(dy, 0.5)


class Scaled(keras.layers.Layer):
    def call(self, x: Any) -> Any:
        return 3 * x


def _again(obj: Any, folder: Path, **kwargs: Any) -> Any:
    tf.saved_model.save(obj, folder, **kwargs)
    return tf.saved_model.load(folder)


def test_a_module_can_be_called_again(tmp_path: Path) -> None:
    line = Line()
    line.slope.assign(5.0)
    loaded = _again(line, tmp_path)

    assert type(loaded) is Line
    assert loaded([1.0, 2.0]).numpy().tolist() == [6.0, 11.0]
    assert [(v.name, v.trainable) for v in loaded.variables] == [(v.name, v.trainable) for v in line.variables]


def test_values_in_attributes_come_back(tmp_path: Path) -> None:
    tensor, array, text, dtype, numbers = _again(Line(), tmp_path).kept

    assert (tensor.numpy().tolist(), tensor.dtype, array.tolist(), text) == ([1, 2], tf.int32, [0, 1], "text")
    assert (dtype, numbers) == (tf.float32, {3, 4})


def test_what_was_one_variable_is_one_again(tmp_path: Path) -> None:
    loaded = _again(Line(), tmp_path)

    assert loaded.again is loaded.slope
    assert len(loaded.trainable_variables) == 1


def test_the_loaded_variables_are_others(tmp_path: Path) -> None:
    line = Line()
    _again(line, tmp_path).slope.assign(9.0)

    assert line.slope.numpy() == 2.0


def test_custom_gradients_stay(tmp_path: Path) -> None:
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    loaded = _again(Clipped(), tmp_path, options=options)
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = loaded.call_custom_grad(v * v)

    assert tape.gradient(y, v).numpy() == 2.0


def test_the_only_function_with_a_signature_serves(tmp_path: Path) -> None:
    loaded = _again(Line(), tmp_path)

    assert list(loaded.signatures) == ["serving_default"]
    assert loaded.signatures["serving_default"](x=[1.0])["output_0"].numpy().tolist() == [3.0]


def test_signatures_are_chosen_by_name(tmp_path: Path) -> None:
    line = Line()
    loaded = _again(line, tmp_path, signatures={"twice": line.twice})

    assert loaded.signatures["twice"](tf.constant([1.0]))["double"].numpy().tolist() == [6.0]
    assert repr(loaded.signatures) == "_SignatureMap({'twice': <Signature twice>})"


def test_a_keras_model_serves(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), Scaled(), keras.layers.Dense(1)])
    loaded = _again(model, tmp_path)
    served = loaded.signatures["serving_default"](tf.constant(X))

    assert served["output_0"].numpy().tolist() == model(X).numpy().tolist()
    assert loaded.predict(X, verbose=0).tolist() == model.predict(X, verbose=0).tolist()


def test_a_compiled_model_goes_on_training(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, X[:, :1], verbose=0)
    loaded = _again(model, tmp_path)
    for one in (model, loaded):
        one.fit(X, X[:, :1], verbose=0, shuffle=False)

    assert loaded(X).numpy().tolist() == model(X).numpy().tolist()


def _away(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.abs(y_true - y_pred), -1)


def test_functions_of_compile_are_found(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", _away)

    assert _again(model, tmp_path).evaluate(X, X[:, :1], verbose=0) == model.evaluate(X, X[:, :1], verbose=0)


def test_a_model_that_is_not_built_has_no_signature(tmp_path: Path) -> None:
    assert dict(_again(keras.Sequential([keras.layers.Dense(1)]), tmp_path).signatures) == {}


def test_a_layer_in_a_module_comes_back(tmp_path: Path) -> None:
    module: Any = tf.Module()
    module.dense = keras.layers.Dense(2)
    expected = module.dense(X).numpy()

    assert _again(module, tmp_path).dense(X).numpy().tolist() == expected.tolist()


def test_a_checkpoint_object_can_be_saved(tmp_path: Path) -> None:
    loaded = _again(tf.train.Checkpoint(v=tf.Variable([1, 2])), tmp_path)

    assert loaded.v.numpy().tolist() == [1, 2]


def test_a_class_made_in_a_function_is_known_to_the_process(tmp_path: Path) -> None:
    class Local(tf.Module):
        def __call__(self, x: Any) -> Any:
            return x + 1

    assert _again(Local(), tmp_path)(1) == 2


def test_a_class_that_cannot_be_found_is_named(tmp_path: Path) -> None:
    tf.saved_model.save(Line(), tmp_path)
    parts = folders.read(tmp_path, (OBJECTS, VALUES))
    folders.write(tmp_path, {**parts, OBJECTS: parts[OBJECTS].replace(b'"Line"', b'"Gone"')})

    with pytest.raises(
        ValueError, match=r"test_saved_model\.Gone cannot be found\. The folder stores values, variables"
    ):
        tf.saved_model.load(tmp_path)


def test_what_cannot_be_kept_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module: Any = tf.Module()
    module.made_here, module.v = lambda: 1, tf.Variable(1)
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    loaded = _again(module, tmp_path)
    logger.removeHandler(caplog.handler)

    assert "leaves out attributes that it cannot store: Module.made_here (function)" in caplog.text
    assert loaded.v.numpy() == 1
    assert not hasattr(loaded, "made_here")


def test_a_loaded_model_is_mirrored_in_a_scope(tmp_path: Path) -> None:
    with machine(2):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        tf.saved_model.save(model, tmp_path)
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            loaded = tf.saved_model.load(tmp_path)
        data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(8))
        result = strategy.run(loaded.signatures["serving_default"], args=(next(iter(data)),))["output_0"]

        parts = strategy.experimental_local_results(result)
        assert np.concatenate([one.numpy() for one in parts]) == pytest.approx(model(X).numpy(), abs=1e-6)


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Expected an object of type `Trackable`.*Got 3 with type"):
        tf.saved_model.save(3, tmp_path)
    with pytest.raises(ValueError, match="Expected a TensorFlow function"):
        tf.saved_model.save(Line(), tmp_path, signatures="x")


def test_a_folder_without_one_is_told_from_tensorflows(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.load(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(OSError, match="TensorFlow's own format cannot be read"):
        tf.saved_model.load(tmp_path)
    assert not tf.saved_model.contains_saved_model(tmp_path)
