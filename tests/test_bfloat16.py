"""Numbers of bfloat16: held where `ml_dtypes` is installed, refused in words where it is not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context
from tests.fake_cupy.devices import fake_context

ml_dtypes = pytest.importorskip("ml_dtypes")
SHORT = ml_dtypes.bfloat16
X = [[1.5, -2.0, 0.25], [3.0, -0.5, 7.5]]


def run(code: str) -> str:
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return completed.stdout


def test_importing_does_not_load_the_package() -> None:
    code = """
import sys, nbtf as tf
tf.as_dtype("bfloat16"), tf.constant(1.0) + 1.0
print("ml_dtypes" in sys.modules)
tf.constant(1.0, tf.bfloat16)
print("ml_dtypes" in sys.modules)
"""
    assert ["False", "True"] == run(code).split()


# What the dtype says


def test_what_stands_for_it() -> None:
    assert tf.bfloat16 is tf.as_dtype(SHORT) is tf.as_dtype(np.dtype(SHORT)) is tf.as_dtype(np.zeros(1, SHORT))


def test_properties() -> None:
    dtype = tf.bfloat16

    assert (SHORT, np.dtype(SHORT)) == (dtype.as_numpy_dtype, dtype.np_dtype)
    assert (2, True, False, True) == (dtype.size, dtype.is_floating, dtype.is_integer, dtype.is_numpy_compatible)
    assert (-3.3895313892515355e38, 3.3895313892515355e38) == (float(dtype.min), float(dtype.max))
    with pytest.raises(ValueError, match="does not have defined limits"):
        _ = dtype.limits


# Values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>"),
        ([1.5, 2], "<tf.Tensor: shape=(2,), dtype=bfloat16, numpy=array([1.5, 2], dtype=bfloat16)>"),
        ([np.float32(1.5), 2], "<tf.Tensor: shape=(2,), dtype=bfloat16, numpy=array([1.5, 2], dtype=bfloat16)>"),
        (1e40, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=inf>"),
        (1.00390625, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.0>"),
    ],
    ids=repr,
)
def test_constants_and_their_text(value: Any, text: str) -> None:
    assert text == repr(tf.constant(value, tf.bfloat16))


@pytest.mark.parametrize("value", [[True], 1j, "a"], ids=repr)
def test_what_is_no_number_of_it_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^Cannot convert .* to EagerTensor of dtype bfloat16"):
        tf.constant(value, tf.bfloat16)


def test_arrays_keep_the_dtype_and_come_back() -> None:
    array = np.array(X, SHORT)

    assert SHORT == tf.constant(array).numpy().dtype == tf.constant(array[0, 0]).numpy().dtype
    np.testing.assert_array_equal(array, tf.constant(array).numpy())
    assert "tf.Tensor([1.5 2.25], shape=(2,), dtype=bfloat16)" == str(tf.constant([1.5, 2.25], tf.bfloat16))


@pytest.mark.parametrize(
    "name", "bool int8 uint8 int32 int64 uint64 float16 float32 float64 complex64 complex128".split()
)
def test_casts_from_and_to_every_dtype(name: str) -> None:
    there = tf.cast(tf.constant([1.5, 2, 0], tf.bfloat16), name)
    back = tf.cast(there, tf.bfloat16)

    np.testing.assert_array_equal(np.array([1.5, 2, 0]).astype(name), there.numpy())
    np.testing.assert_array_equal(np.real(np.array([1.5, 2, 0]).astype(name)).astype(SHORT), back.numpy())


def test_scalars_of_python_take_the_dtype_and_other_dtypes_do_not_mix() -> None:
    x = tf.constant(2.0, tf.bfloat16)

    assert [3.0, 3.0, 3.0] == [float(result) for result in (x + 1.0, x + 1, 1.5 * x)]
    assert tf.bfloat16 is (x + 1.0).dtype
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a bfloat16 tensor but is a float tensor"):
        tf.add(x, tf.constant(1.0))


# Ops without a kernel


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (tf.math.rint, tf.errors.NotFoundError),
        (tf.linalg.diag_part, None),
        (tf.linalg.cholesky, tf.errors.InvalidArgumentError),
        (tf.linalg.svd, tf.errors.InvalidArgumentError),
        (lambda x: tf.linalg.triangular_solve(x, x), tf.errors.NotFoundError),
        (lambda x: tf.bitwise.invert(x), tf.errors.InvalidArgumentError),
    ],
)
def test_ops_without_a_kernel_are_refused_as_in_tensorflow(call: Callable[[Any], Any], error: Any) -> None:
    x = tf.constant([[2.0, 0.0], [0.0, 2.0]], tf.bfloat16)
    if error is None:
        assert tf.bfloat16 is call(x).dtype
        return
    with pytest.raises(error, match=r"BFLOAT16|bfloat16"):
        call(x)


def test_random_numbers_are_those_of_tensorflow() -> None:
    seed, short = [1, 2], tf.bfloat16

    # Source: TensorFlow 2.21.
    normal = [0.54296875, 0.20703125, 0.07373046875, 0.04638671875, -1.3046875]
    uniform = [0.34375, 0.8828125, 0.484375, 0.1484375, 0.1484375]
    truncated = [0.54296875, 0.20703125, 0.07373046875, 0.04638671875, 0.16796875]
    assert normal == tf.random.stateless_normal([5], seed, dtype=short).numpy().tolist()
    assert uniform == tf.random.stateless_uniform([5], seed, dtype=short).numpy().tolist()
    assert truncated == tf.random.stateless_truncated_normal([5], seed, dtype=short).numpy().tolist()
    assert [0.28125, 0.7109375] == tf.random.Generator.from_seed(1).uniform([2], dtype=short).numpy().tolist()


def test_ranges_are_those_of_tensorflow() -> None:
    assert [396, 396, 396, 398, 400] == tf.range(400, dtype=tf.bfloat16)[-5:].numpy().tolist()
    assert [294, 294, 296, 296, 298] == tf.range(0.0, 300.0, 1.3, dtype=tf.bfloat16)[-5:].numpy().tolist()
    assert tf.bfloat16 is tf.range(tf.constant(1, tf.bfloat16), 5).dtype


def test_a_real_gpu_refuses_it() -> None:
    with fake_context():
        x = tf.constant([1.0, 2.0])
        uses = [
            lambda: tf.cast(x, tf.bfloat16),
            lambda: tf.constant(1.0, tf.bfloat16),
            lambda: tf.zeros([2], tf.bfloat16),
            lambda: tf.Variable([1.0], dtype=tf.bfloat16),
            lambda: tf.function(lambda: tf.cast(x, tf.bfloat16))(),
        ]
        for use in uses:
            with pytest.raises(
                tf.errors.UnimplementedError, match=r"GPU:0 does not support bfloat16\. Use tf\.float16"
            ):
                use()
        with tf.device("CPU:0"):
            assert 3.0 == float(tf.constant(1.5, tf.bfloat16) * 2.0)


# Gradients, functions, variables

DERIVATIVES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    # Source: TensorFlow 2.21, for x = [1.5, -2, 0.25].
    "square": (tf.square, [3.0, -4.0, 0.5]),
    "matmul": (lambda x: tf.matmul(x[None], x[:, None]), [3.0, -4.0, 0.5]),
    "mean": (tf.reduce_mean, [0.333984375, 0.333984375, 0.333984375]),
    "cast": (lambda x: tf.cast(x, tf.float32) ** 2, [3.0, -4.0, 0.5]),
    "where": (lambda x: tf.where(x > 0, x, 2 * x), [1.0, 2.0, 1.0]),
    "pow": (lambda x: x**3, [6.75, 12.0, 0.1875]),
    "gather": (lambda x: tf.convert_to_tensor(tf.gather(x, [0, 0, 2])), [2.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_gradients(name: str) -> None:
    function, expected = DERIVATIVES[name]
    x = tf.constant([1.5, -2.0, 0.25], tf.bfloat16)
    for call in (function, tf.function(function)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        gradient = tf.convert_to_tensor(tape.gradient(y, x))
        assert tf.bfloat16 is gradient.dtype
        assert expected == gradient.numpy().tolist()


def test_custom_gradients() -> None:
    @tf.custom_gradient
    def cubed(x: Any) -> Any:
        return x**3, lambda upstream: upstream * 5.0

    x = tf.constant([1.5], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cubed(x)

    assert [5.0] == tape.gradient(y, x).numpy().tolist()


def test_functions_with_loops_and_conditions() -> None:
    @tf.function
    def grown(x: Any, steps: Any) -> Any:
        for _ in tf.range(steps):
            x = x * 1.5 + tf.cast(1, tf.bfloat16)
        if tf.reduce_sum(x) > 0:
            x = -x
        return x

    x = tf.constant(X[0], tf.bfloat16)

    assert [-5.875, 2.0, -3.0625] == grown(x, tf.constant(2)).numpy().tolist()


def test_variables() -> None:
    variable = tf.Variable([1.5, 2.0], dtype=tf.bfloat16)
    variable.assign_add([1.0, 2.0])
    variable.assign_sub(tf.constant([0.5, 1.0], tf.bfloat16))
    variable[0].assign(5.1)
    variable.scatter_add(tf.IndexedSlices(tf.constant([1.5], tf.bfloat16), [1]))

    assert [5.09375, 4.5] == variable.numpy().tolist()
    assert "<tf.Variable 'Variable:0' shape=(2,) dtype=bfloat16, numpy=array([5.09375, 4.5], dtype=bfloat16)>" == repr(
        variable
    )


def test_a_simulated_gpu_is_charged_two_bytes_for_each() -> None:
    with use_context(Context(simulated_machine(1, "Tesla K20m"), environ={})) as context:
        memory = context.devices.first.memory
        assert memory is not None
        before, held = memory.stats().in_use, []
        for make in (
            lambda: tf.zeros([1024, 512], tf.bfloat16),
            lambda: held[0] + 1.0,
            lambda: tf.nn.softmax(held[0]),
            lambda: tf.concat(tf.split(held[0], 2), 0),
            lambda: tf.Variable(tf.transpose(held[1])),
        ):
            held.append(make())

        assert 5 * 2 * 1024 * 512 <= memory.stats().in_use - before < 5 * 2 * 1024 * 512 + 2048


# Files


def test_checkpoints_keep_the_dtype(tmp_path: Path) -> None:
    variable = tf.Variable([1.5, 2.25], dtype=tf.bfloat16)
    path = tf.train.Checkpoint(v=variable).write(tmp_path / "c")
    variable.assign([0.0, 0.0])
    tf.train.Checkpoint(v=variable).read(path).assert_consumed()
    reader = tf.train.load_checkpoint(path)
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"

    assert [1.5, 2.25] == variable.numpy().tolist()
    assert tf.bfloat16 is reader.get_variable_to_dtype_map()[key]
    assert SHORT == reader.get_tensor(key).dtype


def test_a_checkpoint_of_another_dtype_is_refused(tmp_path: Path) -> None:
    values = {dtype: tf.Variable([1.5], dtype=dtype) for dtype in (tf.bfloat16, tf.float32)}
    for saved, read in ((tf.bfloat16, tf.float32), (tf.float32, tf.bfloat16)):
        path = tf.train.Checkpoint(v=values[saved]).write(tmp_path / saved.name)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"does not equal original dtype {saved.c_name}"):
            tf.train.Checkpoint(v=values[read]).read(path)


def test_without_the_package_its_files_are_refused(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(v=tf.Variable([1.5], dtype=tf.bfloat16)).write(tmp_path / "c")
    code = f"""
import sys
sys.modules["ml_dtypes"] = None
import nbtf as tf
path, key = {str(path)!r}, "v/.ATTRIBUTES/VARIABLE_VALUE"
for read in (lambda: tf.train.load_variable(path, key), lambda: tf.train.Checkpoint(v=tf.Variable([1.0])).read(path)):
    try:
        print("answered", read())
    except tf.errors.DataLossError as error:
        print("has bfloat16 numbers: install ml_dtypes" in str(error))
"""
    assert ["True", "True"] == run(code).split()


def test_saved_functions_have_it_in_signature_constants_and_variables(tmp_path: Path) -> None:
    class Scaled(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable([1.5, 2.25], dtype=tf.bfloat16)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.bfloat16)])
        def scale(self, x: Any) -> Any:
            return x * self.factor + tf.constant(0.5, tf.bfloat16)

    tf.saved_model.save(Scaled(), str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))

    assert [2.0, 5.0] == loaded.scale(tf.constant([1.0, 2.0], tf.bfloat16)).numpy().tolist()
    assert tf.bfloat16 is loaded.factor.dtype


def test_serialized_tensors_come_back() -> None:
    x = tf.constant(X, tf.bfloat16)

    np.testing.assert_array_equal(x, tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.bfloat16))
    np.testing.assert_array_equal(x, tf.bitcast(tf.bitcast(x, tf.uint16), tf.bfloat16))
    np.testing.assert_array_equal(x, pickle.loads(pickle.dumps(x)))


# Layers


def test_layers_compute_in_it_and_keep_float32() -> None:
    layer = tf.keras.layers.Dense(3, dtype="mixed_bfloat16", kernel_initializer="ones")
    result = layer(tf.constant([[1.0, 2.0]]))

    assert (tf.bfloat16, "float32") == (result.dtype, layer.kernel.dtype)
    assert [[3.0, 3.0, 3.0]] == result.numpy().tolist()


def test_a_model_trains_in_it(tmp_path: Path) -> None:
    layers = [
        tf.keras.layers.Dense(units, activation, dtype="mixed_bfloat16", kernel_initializer="ones")
        for units, activation in ((3, "relu"), (1, None))
    ]
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), *layers])
    model.compile("sgd", "mse")
    rows = np.arange(8.0).reshape(2, 4) / 8
    history = model.fit(rows, np.ones((2, 1)), epochs=1, verbose=0, batch_size=2).history

    assert [27.0625] == history["loss"]  # Source: TensorFlow 2.21.
    assert "float32" == model.weights[0].dtype


def test_weights_of_bfloat16_are_saved(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1, dtype="bfloat16")])
    path = tmp_path / "w.weights.h5"
    model.save_weights(path)
    before = model.weights[0].numpy().tolist()
    model.weights[0].assign([[0.0], [0.0]])
    model.load_weights(path)

    assert before == model.weights[0].numpy().tolist()
    assert "bfloat16" == model.weights[0].dtype
