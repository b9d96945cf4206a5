"""Features that a program may use after a block; each returns its output, its result or its error.

The calls of `tests/hostile` and the samples of `tests/ops` are entry points too; these are the ones that take more than
a call.
"""

from __future__ import annotations

import copy
import gc
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbtf as tf
from tests.ops.refusals import untyped


def _matrix() -> Any:
    return tf.constant([[1.0, 2.0], [3.0, 4.0]])


def assertion_in_a_function() -> Any:
    @tf.function
    def root(x: Any) -> Any:
        tf.debugging.assert_greater(x, 0.0)
        return tf.sqrt(x)

    return root(tf.constant(-1.0))


def assign_in_init_scope() -> Any:
    v = tf.Variable(0.0)

    @tf.function
    def change() -> Any:
        with tf.init_scope():
            v.assign(3.0)
        return v.read_value()

    return change(), v


def gradients_in_a_function() -> Any:
    return tf.function(lambda x: tf.gradients(x * x, x))(tf.constant(3.0))


def branch_in_a_function() -> Any:
    return tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: -x))(tf.constant(-3.0))


def case_in_a_function() -> Any:
    return tf.function(lambda x: tf.case([(x > 0, lambda: x)], default=lambda: x - 1))(tf.constant(-3.0))


def switch_in_a_function() -> Any:
    return tf.function(lambda i: tf.switch_case(i, [lambda: 1.0, lambda: 2.0]))(tf.constant(1))


def loop_in_a_function() -> Any:
    return tf.function(lambda x: tf.while_loop(lambda y: y < 10, lambda y: [y * 2], [x]))(tf.constant(3.0))


def map_in_a_function() -> Any:
    return tf.function(lambda x: tf.map_fn(lambda row: row * 2, x))(_matrix())


def scan_in_a_function() -> Any:
    return tf.function(lambda x: (tf.scan(lambda a, b: a + b, x), tf.foldl(lambda a, b: a + b, x)))(_matrix())


def autograph() -> Any:
    def count(x: Any) -> Any:
        total = x
        for i in tf.range(3):
            if i > 1:
                total = total + 1.0
            while total < 5:
                total = total * 2
        return total

    return tf.function(count)(tf.constant(1.0)), count(tf.constant(1.0))


def names_in_a_function() -> Any:
    @tf.function
    def show(x: Any) -> Any:
        with tf.name_scope("scope"):
            return tf.constant((x + 1).name)

    return show(tf.constant(1.0))


def printing_in_a_function() -> Any:
    tf.function(lambda x: tf.print("value", x))(tf.constant(1.0))
    tf.print("eager", tf.constant(2.0))


def random_in_a_function() -> Any:
    return tf.function(lambda: (tf.random.normal([2]), tf.random.uniform([2], seed=1)))()


def random_numbers() -> Any:
    generator = tf.random.Generator.from_seed(3)
    return tf.random.normal([2]), generator.normal([2]), tf.random.shuffle([1, 2, 3]), tf.random.get_global_generator()


def retracing() -> Any:
    function = tf.function(lambda x: x + 1)
    return [function(tf.ones([n])) for n in range(3)], function.experimental_get_tracing_count()


def variable_made_in_a_function() -> Any:
    store: list[Any] = []

    @tf.function
    def use(x: Any) -> Any:
        if not store:
            store.append(tf.Variable(2.0))
        return x * store[0]

    return use(tf.constant(3.0)), store[0].device


def eager_gradient() -> Any:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(x**3)
    return tape.gradient(y, x), tape.jacobian(x**2, x) if False else tape.watched_variables()


def second_gradient() -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        slope = inner.gradient(y, x)
    return slope, outer.gradient(slope, x)


def own_gradient() -> Any:
    @tf.custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda upstream: upstream * 100

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    return tape.gradient(y, x)


def placement() -> Any:
    v = tf.Variable([1.0])
    with tf.device("GPU:1"):
        w = tf.Variable([1.0])
        inner = tf.matmul(_matrix(), _matrix())
    with tf.device("CPU:0"):
        x = tf.constant(1.0)
    return v.device, w.device, inner.device, x.device, (v + w).device, tf.matmul(_matrix(), _matrix()).device


def placement_log() -> Any:
    tf.debugging.set_log_device_placement(True)
    try:
        tf.matmul(_matrix(), _matrix())
        tf.function(lambda x: tf.matmul(x, x))(_matrix())
        tf.Variable([1.0, 2.0]).assign_add([7.0, 8.0])  # scalars are constants that the runtime remembers
    finally:
        tf.debugging.set_log_device_placement(False)


def recording() -> Any:
    with tf.runtime.recording() as recorded:
        tf.matmul(_matrix(), _matrix())
        with tf.device("GPU:1"):
            tf.add(1.0, 2.0)
    return [str(event.reason) for event in recorded.events if isinstance(event, tf.runtime.OpPlaced)]


def observers() -> Any:
    events: list[str] = []
    x, y = _matrix(), _matrix()
    gc.collect()  # first frees objects that the block has left to the garbage collector
    undo = tf.runtime.observe(lambda event: events.append(type(event).__name__))
    tf.add(x, y)
    undo()
    return events


def settings() -> Any:
    return (
        tf.executing_eagerly(),
        tf.inside_function(),
        tf.compat.v1.executing_eagerly(),
        tf.compat.v1.get_default_graph() is tf.compat.v1.get_default_graph(),
        tf.compat.v1.get_default_session(),
        tf.distribute.has_strategy(),
        tf.distribute.in_cross_replica_context(),
        type(tf.distribute.get_strategy()).__name__,
        tf.config.functions_run_eagerly(),
        tf.config.get_soft_device_placement(),
        tf.config.experimental.get_device_policy(),
        tf.debugging.get_log_device_placement(),
        tf.debugging.is_traceback_filtering_enabled(),
        tf.runtime.get_default_device(),
        tf.summary.should_record_summaries(),
        tf.keras.backend.learning_phase() if hasattr(tf.keras.backend, "learning_phase") else None,
        tf.keras.backend.floatx(),
        tf.keras.backend.image_data_format(),
        tf.keras.mixed_precision.global_policy().name,
        sorted(tf.keras.saving.get_custom_objects()),
        tf.compat.v1.get_variable_scope().name,
        tf.compat.v1.trainable_variables(),
        tf.config.list_logical_devices(),
    )


def public_names() -> Any:
    """Are functions of the namespaces themselves, and can they be pickled?"""
    names = [name for name in dir(tf) if callable(getattr(tf, name)) and not isinstance(getattr(tf, name), type)]
    functions = [getattr(tf, name) for name in names]
    return [f.__qualname__ for f in functions if hasattr(f, "__qualname__")], [
        pickle.loads(pickle.dumps(f)) is f for f in functions if f.__class__.__name__ == "function"
    ]


def same_objects() -> Any:
    return tf.add is tf.math.add, tf.nn.relu is KEPT["relu"], tf.reshape is KEPT["reshape"], tf.cond is KEPT["cond"]


KEPT: dict[str, Any] = {"relu": tf.nn.relu, "reshape": tf.reshape, "cond": tf.cond, "case": tf.case}
"""Functions that a program imported earlier."""


def kept_functions_in_a_graph() -> Any:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = KEPT["cond"](x > 0, lambda: x, lambda: -x)
        z = KEPT["relu"](KEPT["reshape"](y, [1]))
        with tf.compat.v1.Session() as session:
            return session.run([y, z], {x: -3.0})


def session() -> Any:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        v = tf.compat.v1.get_variable("v", [], initializer=tf.compat.v1.ones_initializer())
        y = tf.reduce_sum(x * v, name="y")
        slope = tf.gradients(y, v)
        with tf.compat.v1.Session() as running:
            running.run(tf.compat.v1.global_variables_initializer())
            return y.name, v.name, running.run([y, slope], {x: [1.0, 2.0]})


def operators() -> Any:
    x = _matrix()
    return x + 1, 2 - x, x @ x, x[0], x[:, 1], -x, abs(-x), x > 2, x == x, bool(x[0, 0]), [*x], f"{x}", repr(x)


def conversion() -> Any:
    return tf.convert_to_tensor([1, 2]), tf.constant(1.5).numpy(), tf.cast([1.7], tf.int32), tf.strings.join(["a", "b"])


def sparse_and_ragged() -> Any:
    ragged: Any = tf.ragged.constant([[1], [2, 3]])
    return tf.sparse.to_dense(tf.sparse.from_dense([[0, 1]])), ragged.to_tensor(), tf.function(lambda r: r + 1)(ragged)


def dataset() -> Any:
    pairs = tf.data.Dataset.range(6).map(lambda x: x * 2).filter(lambda x: x > 2).shuffle(4, seed=1).batch(2)
    return list(pairs), pairs.element_spec


def dataset_in_a_function() -> Any:
    @tf.function
    def total(values: Any) -> Any:
        result = tf.constant(0, tf.int64)
        for value in values:
            result += value
        return result

    return total(tf.data.Dataset.range(5))


def model() -> Any:
    tf.keras.utils.set_random_seed(7)
    layers = tf.keras.layers
    network = tf.keras.Sequential([layers.Dense(2, "relu"), layers.Dropout(0.5), layers.Dense(1)])
    network.compile(tf.keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    history = network.fit(tf.ones([4, 2]), tf.ones([4, 1]), epochs=2, verbose=0, batch_size=2)
    devices = [variable.value.device for variable in [*network.weights, *network.optimizer.variables]]
    return history.history, network.predict(tf.ones([1, 2]), verbose=0), devices


def functional_model() -> Any:
    tf.keras.utils.set_random_seed(7)
    inputs = tf.keras.Input((2,))
    hidden = tf.keras.layers.Dense(3)(inputs)
    network = tf.keras.Model(inputs, tf.nn.relu(hidden) if False else tf.keras.layers.ReLU()(hidden))
    return network(tf.ones([1, 2])), network.get_config()["layers"][0]["class_name"]


def checkpoint() -> Any:
    v = tf.Variable([1.0, 2.0])
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=v).save(str(Path(folder) / "c"))
        v.assign([0.0, 0.0])
        tf.train.Checkpoint(v=v).restore(path)
    return v


def saved_model() -> Any:
    tf.keras.utils.set_random_seed(7)
    network = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    network.build((None, 2))
    with tempfile.TemporaryDirectory() as folder:
        network.save(f"{folder}/model.keras")
        return tf.keras.models.load_model(f"{folder}/model.keras")(tf.ones([1, 2]))


def strategy() -> Any:
    mirrored = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    with mirrored.scope():
        v: Any = tf.Variable(1.0)

    def step() -> Any:
        v.assign_add(1.0)
        context: Any = tf.distribute.get_replica_context()
        return context.replica_id_in_sync_group

    numbers = mirrored.run(step)
    return mirrored.experimental_local_results(numbers), v, [part.device for part in v.values]


def copies() -> Any:
    v = tf.Variable([1.0])
    return copy.deepcopy(v), copy.copy(tf.constant(1.0)), pickle.loads(pickle.dumps(tf.float32))


def first_version() -> Any:
    v = tf.compat.v1.get_variable("v", [2], initializer=tf.compat.v1.ones_initializer())
    return v, tf.compat.v1.assign(v, [2.0, 3.0]), tf.compat.v1.cond(tf.constant(True), lambda: v, lambda: -v)


def first_version_in_a_function() -> Any:
    @tf.function
    def run(x: Any) -> Any:
        tf.compat.v1.assert_positive(x)
        y = tf.compat.v1.cond(x > 0, lambda: x, lambda: -x)
        return tf.compat.v1.where(y > 0, y, -y) + tf.compat.v1.reduce_sum(y)

    return run(tf.constant(2.0)), run(tf.constant(-2.0))


def errors() -> Any:
    texts: list[str] = []
    for call in (
        lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
        lambda: tf.constant(1.0) + tf.constant(1),
        lambda: tf.compat.v1.placeholder(tf.float32),
        lambda: tf.function(lambda x: bool(x), autograph=False)(tf.constant(True)),
        lambda: tf.compat.v1.train.Saver(),
        lambda: tf.function(lambda x: tf.matmul(x, x))(tf.ones([2, 3])),
        lambda: untyped.distribute.get_replica_context().merge_call(lambda strategy: 1),
    ):
        try:
            texts.append(repr(call()))
        except Exception as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts


FEATURES: dict[str, Callable[[], Any]] = {
    name: feature
    for name, feature in list(globals().items())
    if getattr(feature, "__module__", "") == __name__ and not name.startswith("_") and callable(feature)
}
"""The features by name."""
