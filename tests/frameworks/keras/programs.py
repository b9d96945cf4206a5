"""Programs of the real Keras, no two of a kind, whose numbers are the same on TensorFlow and on nbtf.

    python -m tests.frameworks.keras.programs               # on TensorFlow: writes programs.json
    python -m tests.frameworks.keras.programs nbtf 4 conv   # on nbtf with four simulated GPUs: prints the numbers

No program shuffles its data: TensorFlow's order of shuffled elements is its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("programs.json")
Numbers = list[float]

_DRAWN = np.random.default_rng(0)
X = _DRAWN.normal(size=(96, 8)).astype("float32")
LABELS = (X.sum(1) > 0).astype("int32")
TARGETS = (X[:, :2] * 0.5 + 0.1).astype("float32")
IMAGES = _DRAWN.normal(size=(32, 10, 10, 3)).astype("float32")
CLASSES = _DRAWN.integers(0, 3, 32)
WORDS = np.sort(_DRAWN.integers(0, 12, (48, 7)))[:, ::-1].copy()
SEQUENCES = _DRAWN.normal(size=(48, 6, 4)).astype("float32")


def _losses(history: Any, *names: str) -> Numbers:
    return [float(value) for name in names or ("loss",) for value in history.history[name]]


def functional(keras: Any, tf: Any) -> Numbers:
    """Two inputs, shared layers, and two outputs with weighted losses."""
    first, second = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    shared = keras.layers.Dense(6, activation="gelu")
    joined = keras.layers.Concatenate()([shared(first), shared(second), first * second])
    label = keras.layers.Dense(2, name="label")(joined)
    value = keras.layers.Dense(2, name="value")(keras.layers.Add()([label, keras.layers.Dense(2)(joined)]))
    model = keras.Model([first, second], {"label": label, "value": value})
    loss = {"label": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "value": "huber"}
    model.compile("adam", loss, loss_weights={"label": 1.0, "value": 0.5}, metrics={"label": "accuracy"})
    y = {"label": LABELS, "value": TARGETS}
    return _losses(
        model.fit([X, X[::-1]], y, batch_size=20, epochs=3, shuffle=False, verbose=0), "loss", "label_accuracy"
    )


def subclass(keras: Any, tf: Any) -> Numbers:
    """A model of blocks in a list, with a loss that a layer adds, a regularizer and metrics."""

    class Block(keras.layers.Layer):
        def __init__(self, units: int) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(units, activation="swish", kernel_regularizer="l2")
            self.norm = keras.layers.LayerNormalization()

        def call(self, inputs: Any) -> Any:
            outputs = self.norm(self.dense(inputs))
            self.add_loss(0.01 * keras.ops.mean(keras.ops.square(outputs)))
            return outputs

    class Blocks(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block(6), Block(5)]
            self.last = keras.layers.Dense(1, activation="sigmoid")

        def call(self, inputs: Any) -> Any:
            for block in self.blocks:
                inputs = block(inputs)
            return self.last(inputs)

    model = Blocks()
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(), "mae"])
    history = model.fit(X, LABELS, batch_size=32, epochs=2, shuffle=False, verbose=0)
    return [*_losses(history), *[float(value) for value in model.evaluate(X, LABELS, verbose=0)]]


def train_step(keras: Any, tf: Any) -> Numbers:
    """A train step of the user's own."""

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)
            self.mean = keras.metrics.Mean(name="loss")

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            grads = tape.gradient(loss, self.trainable_variables)
            grads, _ = tf.clip_by_global_norm(grads, 0.5)
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
            self.mean.update_state(loss)
            return {"loss": self.mean.result()}

    model = Own()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True))
    return _losses(model.fit(X, TARGETS, batch_size=25, epochs=3, shuffle=False, verbose=0))


def loop(keras: Any, tf: Any) -> Numbers:
    """A training loop in a tf.function, over batches of which the last is shorter."""
    model = keras.Sequential([keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam(0.05)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(reduce_retracing=True)
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    return [float(step(x, y)) for x, y in tf.data.Dataset.from_tensor_slices((X, LABELS)).batch(36)]


def callbacks(keras: Any, tf: Any) -> Numbers:
    """Callbacks that stop, schedule, and save the best weights."""
    model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.2), "mse")
    with tempfile.TemporaryDirectory() as folder:
        best = f"{folder}/best.weights.h5"
        parts = [
            keras.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True),
            keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=0, min_delta=0.05),
            keras.callbacks.ModelCheckpoint(best, save_best_only=True, save_weights_only=True),
            keras.callbacks.TerminateOnNaN(),
        ]
        history = model.fit(
            X, TARGETS, validation_split=0.25, epochs=6, batch_size=16, shuffle=False, verbose=0, callbacks=parts
        )
        model.load_weights(best)
    return [*_losses(history, "loss", "val_loss", "learning_rate"), float(model.evaluate(X, TARGETS, verbose=0))]


def recurrent(keras: Any, tf: Any) -> Numbers:
    """Masked words through LSTM, GRU and a bidirectional layer."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Embedding(12, 6, mask_zero=True),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.GRU(5, return_sequences=True),
            layers.SimpleRNN(3),
            layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return _losses(model.fit(WORDS, LABELS[:48], batch_size=16, epochs=2, shuffle=False, verbose=0))


def transformer(keras: Any, tf: Any) -> Numbers:
    """A transformer block with causal attention."""
    layers = keras.layers
    inputs = keras.Input((6, 4))
    hidden = layers.Dense(8)(inputs)
    attended = layers.MultiHeadAttention(2, 4)(hidden, hidden, use_causal_mask=True)
    hidden = layers.LayerNormalization()(hidden + attended)
    hidden = layers.LayerNormalization()(hidden + layers.Dense(8, activation="gelu")(hidden))
    outputs = layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.AdditiveAttention()([hidden, hidden])))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.AdamW(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return _losses(model.fit(SEQUENCES, LABELS[:48], batch_size=16, epochs=2, shuffle=False, verbose=0))


def conv(keras: Any, tf: Any) -> Numbers:
    """Convolutions with batch normalization, pooling and a separable layer."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(6, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(8, 3, strides=2, padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(IMAGES, CLASSES, batch_size=12, epochs=2, shuffle=False, verbose=0)
    return [*_losses(history, "loss", "accuracy"), float(model.evaluate(IMAGES, CLASSES, verbose=0)[0])]


def autoencoder(keras: Any, tf: Any) -> Numbers:
    """Down with strides, and up with a transposed convolution and by repetition."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(4, 3, strides=2, padding="same", activation="elu"),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="elu"),
            layers.AveragePooling2D(2),
            layers.UpSampling2D(),
            layers.Conv2D(3, 1),
        ]
    )
    model.compile("nadam", "mse")
    return _losses(model.fit(IMAGES, IMAGES, batch_size=8, epochs=2, shuffle=False, verbose=0))


def mixed(keras: Any, tf: Any) -> Numbers:
    """Mixed precision with a scaled loss."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = keras.Sequential(
            [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax", dtype="float32")]
        )
        model.compile("adam", "sparse_categorical_crossentropy")
        return _losses(model.fit(X, LABELS, batch_size=32, epochs=2, shuffle=False, verbose=0))
    finally:
        keras.mixed_precision.set_global_policy("float32")


def datasets(keras: Any, tf: Any) -> Numbers:
    """Datasets for training and validation, with class weights and a schedule."""
    model = keras.Sequential([keras.layers.Dense(6, activation="selu"), keras.layers.Dense(2, activation="softmax")])
    rate = keras.optimizers.schedules.CosineDecay(0.1, 12)
    model.compile(keras.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((X, LABELS))
    batches = data.map(lambda x, y: (x * 2.0, y)).batch(16).repeat().prefetch(2)
    history = model.fit(
        batches,
        steps_per_epoch=5,
        epochs=2,
        validation_data=data.batch(40),
        class_weight={0: 1.0, 1: 2.0},
        verbose=0,
    )
    return _losses(history, "loss", "val_loss")


def weights(keras: Any, tf: Any) -> Numbers:
    """Sample weights, constraints, an average of the weights, and clipped gradients."""
    model = keras.Sequential(
        [keras.layers.Dense(6, kernel_constraint="max_norm", activation="relu"), keras.layers.Dense(2)]
    )
    optimizer = keras.optimizers.Adam(0.02, clipnorm=0.5, use_ema=True, ema_momentum=0.9, weight_decay=0.01)
    model.compile(optimizer, "log_cosh")
    history = model.fit(
        X, TARGETS, sample_weight=np.linspace(0, 1, 96), batch_size=30, epochs=2, shuffle=False, verbose=0
    )
    return [*_losses(history), float(model.evaluate(X, TARGETS, verbose=0))]


def accumulation(keras: Any, tf: Any) -> Numbers:
    """Gradients of several batches before each update, and a generator of batches."""
    model = keras.Sequential([keras.layers.Dense(3, activation="softplus"), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Lion(0.01, gradient_accumulation_steps=2), "mae")

    def batches() -> Any:
        for begin in range(0, 96, 16):
            yield X[begin : begin + 16], TARGETS[begin : begin + 16]

    first = model.fit(batches(), verbose=0)
    return _losses(first) + _losses(model.fit(batches(), verbose=0))


def saving(keras: Any, tf: Any) -> Numbers:
    """A model with a registered layer, saved and loaded with its optimizer, then trained on."""

    @keras.saving.register_keras_serializable("tests")
    class Scale(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    model = keras.Sequential([keras.Input((8,)), Scale(), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    losses = _losses(model.fit(X, TARGETS, batch_size=32, shuffle=False, verbose=0))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m.keras")
        loaded = keras.models.load_model(f"{folder}/m.keras")
    return losses + _losses(loaded.fit(X, TARGETS, batch_size=32, epochs=2, shuffle=False, verbose=0))


def embedding_pairs(keras: Any, tf: Any) -> Numbers:
    """Dot products of embeddings, whose gradients are rows, with another optimizer for sparse rows."""
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    vectors = keras.layers.Embedding(12, 4), keras.layers.Embedding(12, 4)
    product = keras.layers.Dot(1)([vectors[0](user), vectors[1](item)])
    model = keras.Model([user, item], product)
    model.compile(keras.optimizers.Adagrad(0.1), "mse")
    pairs = [WORDS[:, 0], WORDS[:, 1]]
    return _losses(model.fit(pairs, TARGETS[:48, 0], batch_size=16, epochs=3, shuffle=False, verbose=0))


def volumes(keras: Any, tf: Any) -> Numbers:
    """Convolutions in one and three dimensions."""
    layers = keras.layers
    line = keras.Sequential(
        [layers.Conv1D(4, 3, dilation_rate=2), layers.MaxPooling1D(), layers.Flatten(), layers.Dense(1)]
    )
    line.compile("sgd", "mse")
    space = keras.Sequential([layers.Conv3D(3, 2), layers.MaxPooling3D(), layers.Flatten(), layers.Dense(1)])
    space.compile("sgd", "mse")
    cubes = IMAGES[:, :6, :6].reshape(32, 6, 6, 3, 1)
    first = line.fit(SEQUENCES, TARGETS[:48, 0], batch_size=16, shuffle=False, verbose=0)
    return _losses(first) + _losses(space.fit(cubes, TARGETS[:32, 0], batch_size=16, shuffle=False, verbose=0))


def eager(keras: Any, tf: Any) -> Numbers:
    """The same step without tf.function, and predictions and batches by hand."""
    model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)])
    model.compile("adamax", "mse", run_eagerly=True)
    losses = _losses(model.fit(X, TARGETS, batch_size=40, shuffle=False, verbose=0))
    return [*losses, float(model.train_on_batch(X[:9], TARGETS[:9])), float(model.predict(X, verbose=0).sum())]


def by_hand(keras: Any, tf: Any) -> Numbers:
    """Gradients of keras.ops, without a model: a Newton step on a small loss."""
    weight = keras.Variable(np.linspace(-1, 1, 8, dtype="float32"))
    values: Numbers = []
    for _ in range(3):
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            loss = keras.ops.mean(keras.ops.logaddexp(0.0, keras.ops.matmul(X, weight)))
            grad = inner.gradient(loss, weight)
            slope = keras.ops.sum(grad * grad)
        second = outer.gradient(slope, weight)
        weight.assign(weight - 0.5 * grad - 0.1 * second)
        values.append(float(loss))
    return values


def noise(keras: Any, tf: Any) -> Numbers:
    """A variational model that draws from a generator of seeds."""

    class Sampling(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seeds = keras.random.SeedGenerator(7)

        def call(self, inputs: Any) -> Any:
            mean, spread = inputs
            return mean + keras.ops.exp(spread) * keras.random.normal(keras.ops.shape(mean), seed=self.seeds)

    inputs = keras.Input((8,))
    mean, spread = keras.layers.Dense(2)(inputs), keras.layers.Dense(2)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(8)(Sampling()([mean, spread])))
    model.compile("adam", "mse")
    return _losses(model.fit(X, X, batch_size=32, epochs=2, shuffle=False, verbose=0))


def mirrored_on(replicas: int) -> Callable[[Any, Any], Numbers]:
    """Returns a program that trains on several replicas: simulated GPUs, or TensorFlow's logical CPUs."""

    def mirrored(keras: Any, tf: Any) -> Numbers:
        kind = "GPU" if len(tf.config.list_logical_devices("GPU")) >= replicas else "CPU"
        if len(tf.config.list_logical_devices(kind)) < replicas:
            return []
        strategy = tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(replicas)])
        with strategy.scope():
            model = keras.Sequential(
                [keras.layers.Dense(6, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
            )
            model.compile("adam", "mse", metrics=["mae"])
        history = model.fit(X, TARGETS, batch_size=24, epochs=2, shuffle=False, verbose=0)
        predicted = model.predict(X, batch_size=32, verbose=0)
        return [*_losses(history, "loss", "mae"), float(np.abs(predicted).sum())]

    return mirrored


PROGRAMS: dict[str, Callable[[Any, Any], Numbers]] = {
    program.__name__: program
    for program in (
        *(functional, subclass, train_step, loop, callbacks, recurrent, transformer, conv, autoencoder, mixed),
        *(datasets, weights, accumulation, saving, embedding_pairs, volumes, eager, by_hand, noise),
    )
} | {f"mirrored_{replicas}": mirrored_on(replicas) for replicas in (2,)}


def run(names: list[str]) -> dict[str, Numbers | str]:
    """Runs programs, and returns their numbers by name, or the text of an error."""
    keras: Any = import_module("keras")
    tf: Any = import_module("tensorflow")
    results: dict[str, Numbers | str] = {}
    for name in names:
        keras.backend.clear_session()
        keras.utils.set_random_seed(3)
        try:
            results[name] = PROGRAMS[name](keras, tf)
        except Exception as error:  # the test shows it
            results[name] = f"{type(error).__name__}: {error}"
    return results


def main(library: str = "tensorflow", gpus: str = "0", *names: str) -> None:
    """Runs programs on TensorFlow and writes their numbers, or on nbtf and prints them."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if library == "nbtf":
        import nbtf

        nbtf.runtime.present_as_tensorflow()
        if int(gpus):
            nbtf.runtime.simulate_gpus(int(gpus))
        print(json.dumps(run([*names] or [*PROGRAMS])))
        return
    tf: Any = import_module("tensorflow")
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
    results = run([*names] or [*PROGRAMS])
    known = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() and names else {}
    RECORDED.write_text(json.dumps({**known, **results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
