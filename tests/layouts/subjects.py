"""The subjects: samples of all ops, activations, layers and optimizers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._ops.op import OPS
from tests.layouts.memory import Array
from tests.ops.samples import Made, all_samples

_OWN_DTYPE = ""
_FLOATING, _WHOLE = ("float16", "float32", "float64", "complex64", "complex128"), ("int8", "uint8", "int32", "int64")


@dataclass(frozen=True)
class Subject:
    """A function with arguments whose arrays are laid out in different ways.

    `dtypes` names the dtypes that arrays are cast to; "" stands for their own. `differentiable` says whether gradients
    towards the arrays are compared as well, `traceable` whether a traced function may consist of it.
    """

    name: str
    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = (_OWN_DTYPE,)
    differentiable: bool = False
    traceable: bool = False


def cast(array: Array, dtype: str) -> Array:
    """Returns an array of numbers as another dtype: floats as floats or complex numbers, integers as integers."""
    if (dtype in _FLOATING and array.dtype.kind in "fc") or (dtype in _WHOLE and array.dtype.kind in "iu"):
        with np.errstate(over="ignore"):
            return (array.real if dtype.startswith("float") else array).astype(dtype)
    return array


def subjects() -> Iterator[Subject]:
    """Yields everything."""
    yield from samples()
    yield from activations()
    yield from layers()
    yield from optimizers()
    yield from whole_programs()


def samples() -> Iterator[Subject]:
    """Yields the samples of all ops; several samples of one function are numbered."""
    counts: dict[str, int] = {}
    for sample in all_samples():
        number = counts[str(sample)] = counts.get(str(sample), 0) + 1
        classes = {type(part) for arg in sample.args for part in (arg if isinstance(arg, list | tuple) else [arg])}
        is_random = "Random" in sample.op or sample.op in ("TruncatedNormal", "Multinomial")
        makes = bool(OPS[sample.op].results) and sample.op != "VarHandleOp"
        alone = not is_random and classes.isdisjoint({Made, slice}) and makes
        allowed = {dtype.name for dtypes in OPS[sample.op].sets.values() for dtype in dtypes}
        names = _FLOATING if sample.op == "StridedSlice" else (*_FLOATING, *_WHOLE)  # its integers are keys
        dtypes = tuple(name for name in names if name in allowed)
        yield Subject(
            f"{sample} {number}",
            sample.function,
            sample.args,
            sample.kwargs,
            (_OWN_DTYPE, *dtypes),
            bool(sample.differentiable),
            alone,
        )


WIDE = np.linspace(-4.0, 4.0, 24, dtype=np.float32).reshape(2, 3, 4)


def activations() -> Iterator[Subject]:
    """Yields every function of `tf.keras.activations` of one argument, alone and after a layer that permutes axes."""
    for name, function in inspect.getmembers(tf.keras.activations, inspect.isfunction):
        if name in ("serialize", "deserialize", "get"):
            continue
        yield Subject(f"activation {name}", function, [WIDE], {}, ("", "float16", "float64"), True, True)
        yield Subject(f"permuted activation {name}", _permuted(name), [WIDE], {}, ("",), True, True)


def _permute(x: Any) -> Any:
    return tf.transpose(x, [0, 2, 1])


def _permuted(name: str) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        return tf.keras.layers.Activation(name)(tf.keras.layers.Lambda(_permute)(x))

    return call


LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "Dense": (lambda: tf.keras.layers.Dense(3, activation="gelu"), (2, 4)),
    "Embedding": (lambda: tf.keras.layers.Embedding(7, 3), (2, 4)),
    "LayerNormalization": (lambda: tf.keras.layers.LayerNormalization(), (2, 3, 4)),
    "LayerNormalization, two axes": (lambda: tf.keras.layers.LayerNormalization(axis=[1, 2]), (2, 3, 4)),
    "BatchNormalization": (lambda: tf.keras.layers.BatchNormalization(), (6, 4)),
    "LSTM": (lambda: tf.keras.layers.LSTM(3, return_sequences=True), (2, 5, 4)),
    "GRU": (lambda: tf.keras.layers.GRU(3), (2, 5, 4)),
    "Bidirectional": (lambda: tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(2)), (2, 5, 4)),
    "Conv1D": (lambda: tf.keras.layers.Conv1D(3, 2), (2, 6, 3)),
    "Conv2D": (lambda: tf.keras.layers.Conv2D(3, 3, padding="same"), (2, 6, 6, 3)),
    "Conv2D, many channels": (lambda: tf.keras.layers.Conv2D(48, 3), (6, 14, 14, 48)),
    "Conv2D, much padding": (lambda: tf.keras.layers.Conv2D(4, 5, padding="same"), (2, 4, 4, 32)),
    "Conv2DTranspose": (lambda: tf.keras.layers.Conv2DTranspose(3, 3, strides=2), (2, 4, 4, 3)),
    "MaxPooling2D": (lambda: tf.keras.layers.MaxPooling2D(), (2, 6, 6, 3)),
    "AveragePooling2D": (lambda: tf.keras.layers.AveragePooling2D(), (2, 6, 6, 3)),
    "GlobalAveragePooling2D": (lambda: tf.keras.layers.GlobalAveragePooling2D(), (2, 6, 6, 3)),
    "UpSampling2D": (lambda: tf.keras.layers.UpSampling2D(), (2, 3, 3, 2)),
    "Softmax": (lambda: tf.keras.layers.Softmax(axis=1), (2, 3, 4)),
    "Flatten": (lambda: tf.keras.layers.Flatten(), (2, 3, 4)),
}


def layers() -> Iterator[Subject]:
    """Yields layers whose weights also get the layout."""
    for name, (make, shape) in LAYERS.items():
        numbers = np.random.default_rng(3).normal(0.0, 1.0, shape).astype("float32")
        if name == "Embedding":
            numbers = (np.abs(numbers * 3) % 7).astype("int32")
        weights = _weights_of(make, numbers)
        yield Subject(f"layer {name}", _with_weights(make), [numbers, weights], {}, ("",), True, False)


def _weights_of(make: Callable[[], Any], numbers: Array) -> list[Array]:
    tf.keras.utils.set_random_seed(5)
    layer = make()
    layer(tf.constant(numbers))
    return [np.asarray(weight.numpy()) for weight in layer.trainable_weights]


def _with_weights(make: Callable[[], Any]) -> Callable[..., Any]:
    """Returns a function of inputs and weights, which uses these arrays directly as a layer's variables."""

    def call(x: Any, weights: Sequence[Any]) -> Any:
        tf.keras.utils.set_random_seed(5)
        layer = make()
        layer.build(x.shape)
        for variable, value in zip(layer.trainable_weights, weights, strict=True):
            getattr(variable, "handle", variable)._array = value._array
        with tf.GradientTape() as tape:
            result = layer(x, training=True)
            total = tf.reduce_sum(tf.square(result))
        return result, tape.gradient(total, layer.trainable_weights)

    return call


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "Nadam": {},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Adagrad": {},
    "Adadelta": {},
    "Ftrl": {"l1_regularization_strength": 0.01},
}
"""Every optimizer, with arguments that make it use most of its ops."""


def optimizers() -> Iterator[Subject]:
    """Yields three steps of every optimizer."""
    random = np.random.default_rng(4)
    weights, gradients = (random.normal(0.0, 1.0, (3, 4)).astype("float32") for _ in range(2))
    for name, settings in OPTIMIZERS.items():
        for traced in (False, True):
            call = _steps(name, settings, traced)
            yield Subject(
                f"optimizer {name}{' in a function' * traced}", call, [weights, gradients], {}, ("", "float64")
            )


def _steps(name: str, settings: dict[str, Any], traced: bool) -> Callable[..., Any]:
    def call(weights: Any, gradients: Any) -> Any:
        variable = tf.Variable(weights)
        variable._array = weights._array
        optimizer = getattr(tf.keras.optimizers, name)(0.1, **settings)

        def step(gradients: Any) -> None:
            optimizer.apply_gradients([(gradients, variable)])

        take = tf.function(step) if traced else step
        for _ in range(3):
            take(gradients)
        return [variable.value(), *[tf.convert_to_tensor(slot) for slot in optimizer.variables]]

    return call


def whole_programs() -> Iterator[Subject]:
    """Yields datasets and training, which use arrays outside ops."""
    numbers = np.random.default_rng(6).normal(0.0, 1.0, (4, 3, 2)).astype("float32")
    yield Subject("dataset", _batches, [numbers], {}, ("", "float64"))
    yield Subject("fit of tensors", _trained(lambda x: x), [numbers])
    yield Subject("fit of arrays", _trained(lambda x: x._array), [numbers])


def _batches(x: Any) -> list[Any]:
    dataset = tf.data.Dataset.from_tensor_slices((x, -x)).map(lambda a, b: (tf.transpose(a), b)).repeat(2).batch(3)
    return [part for batch in dataset for part in batch]


def _trained(form: Callable[[Any], Any]) -> Callable[..., Any]:
    """Returns a function that trains a model on inputs in one form; it returns weights and predictions."""

    def call(x: Any) -> list[Any]:
        tf.keras.utils.set_random_seed(8)
        layers = [tf.keras.layers.Lambda(_permute), tf.keras.layers.Activation("gelu"), tf.keras.layers.Flatten()]
        model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        inputs, targets = form(x), np.ones((x.shape[0] if x.shape.rank else 1, 1), "float32")
        model.fit(inputs, targets, batch_size=2, epochs=2, shuffle=False, verbose=0)
        return [*map(tf.convert_to_tensor, model.get_weights()), tf.convert_to_tensor(model.predict(inputs, verbose=0))]

    return call
