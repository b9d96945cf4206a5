"""Programs of TensorFlow users; each returns its results, which must not depend on whether its ops are watched."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

tf: Any = import_module("tensorflow")
keras: Any = import_module("keras")

X, Y = np.linspace(0, 1, 64, dtype="f").reshape(16, 4), np.linspace(1, 2, 32, dtype="f").reshape(16, 2)
Program = Callable[[], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Adds a program."""
    PROGRAMS[function.__name__] = function
    return function


@program
def constants() -> Any:
    values = [
        tf.constant(3.0),
        tf.constant([1, 2]),
        tf.constant("a"),
        tf.constant([[1.0]], tf.float64),
        tf.constant(True),
    ]
    return [*values, tf.convert_to_tensor(X), tf.constant(np.float32(7.0)), tf.zeros(3), tf.range(4), tf.eye(2)]


@program
def operators() -> Any:
    a = tf.ones((4, 4))
    return a + 1.0, 2.0 * a, a @ a, -a, a[1:, 0], a > 0.5, a**2.0, abs(a), a + X[:4]


@program
def several_outputs() -> Any:
    values, counts = tf.unique([1, 2, 1])
    return *tf.split(tf.range(6), 3), *tf.linalg.qr(tf.eye(3)), values, counts, *tf.nn.top_k([1.0, 3.0, 2.0], 2)


@program
def lists_of_tensors() -> Any:
    a = tf.ones((2, 2))
    return tf.concat([a, [[1.0, 2.0]]], 0), tf.stack([a, a]), tf.add_n([a, a, a]), tf.meshgrid([1.0, 2.0], [3.0])


@program
def explicit_devices() -> Any:
    with tf.device("CPU:1"):
        a = tf.ones((8, 8))
    with tf.device("CPU:2"):
        b = tf.matmul(a, a)
        with tf.device(None):
            c = b + a
    return b, c, b + a


@program
def soft_placement() -> Any:
    with tf.device("GPU:1"):
        return tf.sqrt([4.0])


@program
def strings() -> Any:
    return tf.strings.join(["a", "b"]), tf.strings.length(["ab", "c"]), tf.strings.to_number("3.5")


@program
def random_numbers() -> Any:
    generator = tf.random.Generator.from_seed(1)
    return tf.random.uniform((3,)), tf.random.normal((2, 2)), generator.normal((2,)), tf.random.shuffle(tf.range(5))


@program
def tape() -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as gradients:
        gradients.watch(x)
        y = tf.sin(x) * x + tf.reduce_sum(tf.exp([x, 1.0]))
    return gradients.gradient(y, x)


@program
def second_order() -> Any:
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@program
def jacobian() -> Any:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as gradients:
        y = x * x
    return gradients.jacobian(y, x, experimental_use_pfor=False), gradients.gradient(y, x)


@program
def custom_gradient() -> Any:
    @tf.custom_gradient
    def clip(x: Any) -> Any:
        return x * 2.0, lambda upstream: tf.clip_by_norm(upstream, 0.5)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as gradients:
        gradients.watch(x)
        y = clip(x)
    return gradients.gradient(y, x)


@program
def variables() -> Any:
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("CPU:3"):
        w = tf.Variable(tf.ones((2, 2)))
    v.assign_add([1.0, 1.0])
    w.assign(w * 2.0)
    w.scatter_nd_update([[0, 0]], [5.0])
    return v * v, v[0], w @ w, v + 1.0, v.sparse_read([0])


@program
def function() -> Any:
    @tf.function
    def affine(x: Any) -> Any:
        return tf.matmul(x, x) + 1.0

    return affine(tf.ones((3, 3))), affine(tf.ones((3, 3))), affine(tf.ones((2, 2)))


@program
def nested_functions() -> Any:
    @tf.function
    def inner(x: Any) -> Any:
        with tf.device("CPU:3"):
            return x * 2.0

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + inner(x + 1.0)

    return outer(tf.constant([1.0]))


@program
def function_gradient() -> Any:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def loss(x: Any) -> Any:
        return tf.reduce_sum(tf.matmul(x, v) ** 2.0)

    with tf.GradientTape() as gradients:
        y = loss(tf.ones((2, 2)))
    return y, gradients.gradient(y, v)


@program
def training_step_in_function() -> Any:
    v, optimizer = tf.Variable([1.0, 2.0]), keras.optimizers.SGD(0.1, momentum=0.9)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as gradients:
            loss = tf.reduce_sum(v * v)
        optimizer.apply_gradients([(gradients.gradient(loss, v), v)])
        return loss

    optimizer.build([v])
    return step(), step(), v


@program
def control_flow() -> Any:
    @tf.function
    def collatz(n: Any) -> Any:
        steps = tf.constant(0)
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (tf.constant(0), tf.constant(1.0)))
    return collatz(tf.constant(6)), loop, tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))


@program
def mapped() -> Any:
    x = tf.constant([[1.0], [2.0]])
    scanned = tf.scan(lambda total, each: total + each, x)
    return tf.map_fn(lambda each: each * 2.0, x), tf.vectorized_map(tf.square, x), scanned


@program
def eager_functions() -> Any:
    tf.config.run_functions_eagerly(True)
    try:
        return function()
    finally:
        tf.config.run_functions_eagerly(False)


@program
def compiled() -> Any:
    @tf.function(jit_compile=True)
    def fused(x: Any) -> Any:
        return tf.reduce_sum(tf.exp(x) * 2.0)

    return fused(tf.constant([1.0, 2.0])), fused(tf.constant([1.0, 2.0]))


@program
def python_functions() -> Any:
    doubled = tf.numpy_function(lambda x: x * 2, [tf.constant([1.0])], tf.float32)
    return doubled, tf.py_function(lambda x: x + tf.constant(1.0), [tf.constant([1.0])], tf.float32)


@program
def dataset() -> Any:
    data = tf.data.Dataset.range(10).map(lambda i: i * i).filter(lambda i: i % 2 == 0).batch(2)
    return list(data), next(iter(tf.data.Dataset.from_tensor_slices(X).shuffle(4, seed=1).batch(4)))


@program
def prefetched() -> Any:
    data = tf.data.Dataset.from_generator(lambda: iter([1, 2, 3]), output_signature=tf.TensorSpec((), tf.int32))
    return list(data.prefetch(2)), data.reduce(np.int32(0), lambda total, each: total + each)


@program
def exceptions() -> Any:
    messages: list[str] = []
    for work in (
        lambda: tf.matmul(tf.ones((2, 3)), tf.ones((2, 3))),
        lambda: tf.reshape(tf.ones(4), (3,)),
        lambda: tf.gather([1.0], [5]),
        lambda: tf.add(tf.ones(2), "x"),
        lambda: tf.debugging.assert_equal(1, 2),
        lambda: tf.io.read_file("/no/such/file"),
        lambda: next(iter(tf.data.Dataset.range(0))),
        lambda: tf.function(lambda x: tf.gather(x, [7]))(tf.ones(2)),
        lambda: tf.numpy_function(_fail, [1.0], tf.float32),
    ):
        try:
            work()
        except Exception as error:
            messages.append(type(error).__name__)
    return messages


def _fail(x: Any) -> Any:
    raise ValueError("no")


@program
def no_device() -> Any:
    tf.config.set_soft_device_placement(False)
    try:
        with tf.device("GPU:0"):
            tf.sqrt([4.0])
    except tf.errors.InvalidArgumentError as error:
        return type(error).__name__
    finally:
        tf.config.set_soft_device_placement(True)


@program
def threads() -> Any:
    results: list[Any] = []
    for number in range(3):
        thread = threading.Thread(target=lambda number=number: results.append(tf.ones((2, 2)) * float(number)))
        thread.start()
        thread.join()
    return results


@program
def sparse_and_ragged() -> Any:
    sparse = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
    ragged = tf.ragged.constant([[1, 2], [3]])
    return tf.sparse.to_dense(sparse), tf.sparse.sparse_dense_matmul(sparse, tf.ones((2, 2))), (ragged + 1).to_tensor()


@program
def tensor_arrays_and_tables() -> Any:
    array = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0)
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    return array.stack(), tf.lookup.StaticHashTable(keys, -1).lookup(tf.constant(["b", "c"]))


@program
def images() -> Any:
    picture = tf.reshape(tf.range(64, dtype=tf.float32), (1, 8, 8, 1))
    small = tf.image.resize(picture, (4, 4))
    return small, tf.nn.conv2d(picture, tf.ones((3, 3, 1, 2)), 1, "SAME"), tf.nn.max_pool2d(picture, 2, 2, "VALID")


@program
def checkpoints() -> Any:
    v = tf.Variable([1.0, 2.0])
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=v).save(str(Path(folder, "c")))
        v.assign([0.0, 0.0])
        tf.train.Checkpoint(v=v).restore(path)
        return v


@program
def saved_model() -> Any:
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.scale = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec((None,), tf.float32)])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        loaded = tf.saved_model.load(folder)
        return loaded.scale(tf.constant([1.0, 2.0]))


def _dense() -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(2)])


@program
def sequential() -> Any:
    model = _dense()
    model.compile("adam", "mse", metrics=["mae"])
    losses = model.fit(X, Y, batch_size=8, epochs=2, verbose=0).history["loss"]
    return losses, model.predict(X, verbose=0), model.evaluate(X, Y, verbose=0)


@program
def functional() -> Any:
    first, second = keras.Input((4,)), keras.Input((4,))
    joined = keras.layers.Concatenate()([keras.layers.Dense(4, "tanh")(first), second])
    model = keras.Model([first, second], keras.layers.Dropout(0.5, seed=1)(keras.layers.Dense(2)(joined)))
    return model([X, X]), model([X, X], training=True)


@program
def fit_eagerly() -> Any:
    model = _dense()
    model.compile("sgd", "mse", run_eagerly=True)
    return model.fit(X, Y, batch_size=8, verbose=0).history["loss"]


@program
def custom_loop() -> Any:
    model, optimizer, losses = _dense(), keras.optimizers.Adam(0.01), []
    for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(8):
        with tf.GradientTape() as gradients:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2.0)
        optimizer.apply_gradients(
            zip(gradients.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        losses.append(loss)
    return losses


@program
def convolutional() -> Any:
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.Flatten(), layers.Dense(2)]
    )
    model.compile("rmsprop", "mse")
    return model.fit(np.ones((8, 8, 8, 1), "f"), np.ones((8, 2), "f"), verbose=0).history["loss"]


@program
def recurrent() -> Any:
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model.train_on_batch(np.ones((2, 5, 3), "f"), np.ones((2, 1), "f"))


@program
def mirrored_run() -> Any:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2", "CPU:3"])
    with strategy.scope():
        v = tf.Variable(1.0)

    def step() -> Any:
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        return v * (number + 1.0)

    return strategy.reduce("SUM", strategy.run(step), axis=None), strategy.run(tf.function(step)).values


@program
def mirrored_fit() -> Any:
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = _dense()
        model.compile("sgd", "mse")
    return model.fit(X, Y, batch_size=8, verbose=0).history["loss"]


@program
def one_device_strategy() -> Any:
    strategy = tf.distribute.OneDeviceStrategy("CPU:2")
    return strategy.run(lambda: tf.ones((2,)) * 3.0)
