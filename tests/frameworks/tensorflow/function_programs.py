"""Programs with `tf.function`, for TensorFlow with four logical CPUs; each returns its results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

keras: Any = import_module("keras")
tf: Any = import_module("tensorflow")
Program = Callable[[], Any]
PROGRAMS: dict[str, Program] = {}
X, Y = np.linspace(0, 1, 256, dtype="f").reshape(32, 8), np.linspace(1, 2, 64, dtype="f").reshape(32, 2)


def begin_with_four_cpus() -> None:
    """Gives TensorFlow four logical CPUs, unless a test of this process has done so."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    if tf.config.get_logical_device_configuration(cpu) is None:
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)


def square(size: int = 8) -> Any:
    return tf.reshape(tf.range(size * size, dtype=tf.float32), (size, size)) / size**2


def program(function: Program) -> Program:
    """Adds a program."""
    PROGRAMS[function.__name__] = function
    return function


@program
def two_devices() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        with tf.device("CPU:3"):
            y = tf.matmul(x, x)
        return tf.reduce_sum(y + x)

    return step(square())


@program
def missing_device() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        with tf.device("GPU:7"):
            return tf.linalg.inv(x + 9.0 * tf.eye(8))

    return step(square())


@program
def nested() -> Any:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.relu(x) * 2.0

    @tf.function
    def middle(x: Any) -> Any:
        with tf.device("CPU:1"):
            return inner(x) + inner(x * 3.0)

    @tf.function
    def outer(x: Any) -> Any:
        return tf.tanh(middle(x))

    return outer(square()), middle(square())


@program
def called_in_a_device_scope() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        return tf.sin(x) + tf.cos(x)

    with tf.device("CPU:2"):
        return step(square())


@program
def loop_over_a_range() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        for i in tf.range(3):
            with tf.device("CPU:1"):
                x = x + tf.cast(i, tf.float32)
        return x

    return step(square())


@program
def while_loop() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.matmul(y, x)), (0, x))

    return step(square())


@program
def conditions() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            x = x * 2.0
        else:
            x = tf.sqrt(-x)
        return tf.switch_case(tf.cast(x[0, 1], tf.int32), [lambda: x + 1.0, lambda: tf.exp(x)])

    return step(square()), step(-square())


@program
def loop_with_a_condition() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        total = tf.zeros(())
        for row in x:
            if tf.reduce_sum(row) > 3.0:
                total += tf.norm(row)
        return total

    return step(square())


@program
def tensor_array() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, 8)
        for i in tf.range(8):
            rows = rows.write(i, tf.cumsum(x[i]))
        return rows.stack()

    return step(square())


@program
def variables() -> Any:
    with tf.device("CPU:1"):
        weights = tf.Variable(square())
    count = tf.Variable(0)

    @tf.function
    def step(x: Any) -> Any:
        count.assign_add(1)
        weights.assign_sub(0.1 * x)
        return tf.matmul(x, weights)

    return step(square()), count.numpy(), weights.numpy()


@program
def gradient_inside() -> Any:
    weights = tf.Variable(square())

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softmax(x @ weights) ** 2)
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(gradient)
        return loss

    return step(square()), step(square())


@program
def gradient_outside() -> Any:
    weights = tf.Variable(square())

    @tf.function
    def model(x: Any) -> Any:
        with tf.device("CPU:2"):
            hidden = tf.nn.relu(x @ weights)
        return tf.sigmoid(hidden @ weights)

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(square()))
    return tape.gradient(loss, weights)


@program
def gradient_of_a_loop() -> Any:
    @tf.function
    def power(x: Any) -> Any:
        y = x
        for _ in tf.range(3):
            y = tf.tanh(y @ x)
        return tf.reduce_sum(y)

    x = square()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = power(x)
    return tape.gradient(y, x)


@program
def second_gradient() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(x**3)
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    return step(square())


@program
def custom_gradient() -> Any:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.identity(x), lambda upstream: tf.clip_by_norm(upstream, 0.5)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(clipped(x) * x)
        return tape.gradient(y, x)

    return step(square())


@program
def traces() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        return tf.reduce_sum(x * 2)

    return step(square()), step(square(4)), step(tf.range(6)), step(square())


@program
def mapped() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        return tf.map_fn(lambda row: tf.sort(row) * 2.0, x), tf.vectorized_map(lambda row: row + 1.0, x)

    return step(square())


@program
def python_inside() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        (doubled,) = tf.py_function(lambda y: y * 2.0, [x], [tf.float32])
        return doubled + tf.numpy_function(np.cos, [x], tf.float32)

    return step(square())


@program
def strings_and_tables() -> Any:
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    @tf.function
    def step(words: Any) -> Any:
        with tf.device("CPU:1"):
            joined = tf.strings.join([words, words], "-")
        return table.lookup(tf.strings.split(joined, "-").flat_values), tf.strings.length(joined)

    return step(tf.constant(["a", "c"]))


@program
def dataset_in_a_function() -> Any:
    dataset = tf.data.Dataset.range(10).map(lambda number: number * 2).batch(3)

    @tf.function
    def total() -> Any:
        result = tf.zeros((), tf.int64)
        for batch in dataset:
            result += tf.reduce_sum(batch)
        return result

    return total()


@program
def iterator_argument() -> Any:
    @tf.function
    def step(iterator: Any) -> Any:
        x, y = next(iterator)
        return tf.reduce_mean((tf.reduce_sum(x, 1) - tf.reduce_sum(y, 1)) ** 2)

    batches = iter(tf.data.Dataset.from_tensor_slices((X, Y)).batch(16))
    return step(batches), step(batches)


@program
def convolution() -> Any:
    kernel, bias = tf.Variable(tf.fill((3, 3, 2, 4), 0.1)), tf.Variable(tf.zeros(4))

    @tf.function
    def step(images: Any) -> Any:
        features = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(images, kernel, 1, "SAME"), bias))
        return tf.nn.max_pool2d(features, 2, 2, "VALID")

    return step(tf.ones((2, 8, 8, 2)))


@program
def what_an_optimizer_changes() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        scale = tf.sqrt(tf.constant(4.0)) + 1.0
        y = tf.transpose(tf.transpose(x)) / scale
        return tf.reshape(tf.reshape(y, (4, 16)), (8, 8)) + y * scale + y * scale

    return step(square())


@program
def sparse_and_ragged() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        sparse = tf.sparse.from_dense(tf.where(x > 0.5, x, 0.0))
        ragged = tf.RaggedTensor.from_row_splits(x[0], [0, 3, 3, 8])
        return tf.sparse.sparse_dense_matmul(sparse, x), tf.reduce_sum(ragged, 1)

    return step(square())


@program
def effects() -> Any:
    total = tf.Variable(0.0)

    @tf.function
    def step(x: Any) -> None:
        tf.debugging.assert_non_negative(x)
        total.assign_add(tf.reduce_sum(x))

    step(square())
    return total.numpy()


@program
def random_numbers() -> Any:
    generator = tf.random.Generator.from_seed(3)

    @tf.function
    def step() -> Any:
        return tf.random.stateless_normal((4,), (1, 2)) + generator.uniform((4,))

    return step(), step()


@program
def module() -> Any:
    class Dense(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = tf.Variable(square())

        @tf.function(input_signature=[tf.TensorSpec((None, 8))])
        def __call__(self, x: Any) -> Any:
            with tf.device("CPU:1"):
                return x @ self.weights

    dense = Dense()
    return dense(square()), dense(square()[:2])


@cache
def two_replicas() -> Any:
    """The only strategy: those of one process use the same keys for their collective ops, and fail."""
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@program
def mirrored() -> Any:
    strategy = two_replicas()
    with strategy.scope():
        weights = tf.Variable(square())

    def replica(x: Any) -> Any:
        context = tf.distribute.get_replica_context()
        return context.all_reduce("sum", tf.reduce_sum(x @ weights))

    @tf.function
    def step(x: Any) -> Any:
        return strategy.reduce("mean", strategy.run(replica, (x,)), axis=None)

    return step(square())


def perceptron(**options: Any) -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(2)])
    model.compile("adam", "mse", metrics=["mae"], **options)
    return model


@program
def keras_fit() -> Any:
    model = perceptron()
    model.fit(X, Y, batch_size=10, epochs=2, verbose=0)
    return [*model.evaluate(X, Y, verbose=0), *model.predict(X, verbose=0)[0]]


@program
def keras_fit_of_two_steps() -> Any:
    model = perceptron(steps_per_execution=2)
    model.fit(X, Y, batch_size=8, verbose=0)
    return model.get_weights()


@program
def keras_fit_on_two_replicas() -> Any:
    with two_replicas().scope():
        model = perceptron()
    model.fit(X, Y, batch_size=16, verbose=0)
    return model.get_weights()


@program
def keras_convolution() -> Any:
    keras.utils.set_random_seed(1)
    inputs = keras.Input((8, 8, 2))
    features = keras.layers.BatchNormalization()(keras.layers.Conv2D(4, 3, activation="relu")(inputs))
    outputs = keras.layers.Dense(2)(keras.layers.Dropout(0.5)(keras.layers.Flatten()(features)))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    model.fit(np.ones((16, 8, 8, 2), "f"), np.ones((16, 2), "f"), batch_size=8, verbose=0)
    return model.get_weights()


@program
def keras_recurrent() -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4, 2)), keras.layers.LSTM(3), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(X.reshape(32, 4, 2), Y, batch_size=16, verbose=0)
    return model.get_weights()


@program
def keras_training_loop() -> Any:
    model, optimizer = perceptron(), keras.optimizers.SGD(0.1)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = keras.losses.mean_squared_error(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return tf.reduce_mean(loss)

    return [train(x, y) for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)]


@program
def compiled_inside() -> Any:
    @tf.function(jit_compile=True)
    def inner(x: Any) -> Any:
        return tf.nn.relu(x @ x) + 1.0

    @tf.function
    def outer(x: Any) -> Any:
        return tf.reduce_sum(inner(x)) * 2.0

    return outer(square())
