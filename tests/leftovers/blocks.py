"""Every block that a program can open, and every function that is called while another is traced, mapped or recorded.

A block is a function that runs a body inside it. `BLOCKS` has a row for each public name whose object is a context
manager or returns one; `tests/leftovers/test_leftovers.py` walks the public names and fails if a row is missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import nbtf as tf
from tests.ops.refusals import untyped

Body = Callable[[], Any]
Block = Callable[[Body], object]


def _of(*enter: Callable[[], AbstractContextManager[Any]]) -> Block:
    """Returns a block of nested `with` statements."""

    def run(body: Body) -> None:
        with ExitStack() as stack:
            for opened in enter:
                stack.enter_context(opened())
            body()

    return run


def _in_graph(enter: Callable[[Any], AbstractContextManager[Any]]) -> Block:
    """Returns a block that is opened in a graph."""

    def run(body: Body) -> None:
        graph = tf.Graph()
        with graph.as_default(), enter(graph):
            body()

    return run


def _session(body: Body) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.constant(1.0))
        body()


def _interactive_session(body: Body) -> None:
    with tf.Graph().as_default():
        session = tf.compat.v1.InteractiveSession()
        try:
            body()
        finally:
            session.close()


def _monitored_session(body: Body) -> None:
    with tf.Graph().as_default():
        tf.compat.v1.train.get_or_create_global_step()
        with tf.compat.v1.train.MonitoredTrainingSession() as session:
            session.run(tf.compat.v1.train.get_global_step())
            body()


def _event_file(body: Body) -> None:
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        with tf.compat.v1.summary.FileWriter(folder):
            body()


def _coordinator(body: Body) -> None:
    coordinator = tf.compat.v1.train.Coordinator()
    with coordinator.stop_on_exception():
        body()
    coordinator.join([])


def _tape_that_stops(body: Body) -> None:
    with tf.GradientTape(persistent=True) as tape:
        x = tf.constant(2.0)
        tape.watch(x)
        with tape.stop_recording():
            body()
        tape.gradient(x * x, x)


def _strategy() -> Any:
    return tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])


def _replicas(body: Body) -> None:
    strategy = _strategy()
    with strategy.scope():
        strategy.run(body)


def _merge_call(body: Body) -> None:
    def in_replica() -> None:
        context: Any = tf.distribute.get_replica_context()
        context.merge_call(lambda strategy: body())

    _strategy().run(in_replica)


def _cell_device(body: Body) -> None:
    undo = tf.runtime.cell_device("GPU:1")
    try:
        body()
    finally:
        undo()


def _observer(body: Body) -> None:
    undo = tf.runtime.observe(lambda event: None)
    try:
        body()
    finally:
        undo()


def _raising_observer(body: Body) -> None:
    def refuse(event: object) -> None:
        raise ValueError("an observer that fails")

    undo = tf.runtime.observe(refuse)
    try:
        body()
    finally:
        undo()


def _recorder(body: Body) -> None:
    stop = tf.runtime.start_recorder(tf.runtime.Recorder())
    try:
        body()
    finally:
        stop()


def _switched(on: Callable[[], object], off: Callable[[], object]) -> Block:
    """Returns a block in which the program changes a setting, and then restores it."""

    def run(body: Body) -> None:
        on()
        try:
            body()
        finally:
            off()

    return run


def _traced(body: Body) -> None:
    tf.function(lambda x: (body(), x * 2)[1])(tf.constant(1.0))


def _nested_trace(body: Body) -> None:
    inner = tf.function(lambda x: (body(), x * 2)[1])
    tf.function(lambda x: inner(x) + 1)(tf.constant(1.0))


def _branch(body: Body) -> None:
    tf.function(lambda x: tf.cond(x > 0, lambda: (body(), x)[1], lambda: x))(tf.constant(1.0))


def _loop(body: Body) -> None:
    tf.function(lambda x: tf.while_loop(lambda y: y < 3, lambda y: (body(), [y + 1])[1], [x]))(tf.constant(1.0))


def _mapped(body: Body) -> None:
    tf.map_fn(lambda x: (body(), x)[1], tf.constant([1.0, 2.0]))


def _vectorized(body: Body) -> None:
    tf.vectorized_map(lambda x: (body(), x)[1], tf.constant([1.0, 2.0]))


def _custom_gradient(body: Body) -> None:
    @tf.custom_gradient
    def square(x: Any) -> Any:
        def backward(upstream: Any) -> Any:
            body()
            return upstream

        return x * x, backward

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    tape.gradient(y, x)


def _recomputed(body: Body) -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda z: (body(), z * z)[1])(x)
    tape.gradient(y, x)


def _python_function(body: Body) -> None:
    tf.function(lambda x: tf.py_function(lambda y: (body(), y)[1], [x], tf.float32))(tf.constant(1.0))


def _data(body: Body) -> None:
    list(tf.data.Dataset.range(2).map(lambda x: (body(), x)[1]))


def _generator(body: Body) -> None:
    def numbers() -> Any:
        yield 1
        body()

    list(tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int32)))


def _creator(body: Body) -> None:
    with tf.variable_creator_scope(lambda make, **traits: make(**traits)):
        body()


def _layer(body: Body) -> None:
    class Layer(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            body()
            return x

    Layer()(tf.constant([[1.0]]))


def _functional_model(body: Body) -> None:
    class Layer(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            body()
            return x * 2

    inputs = tf.keras.Input((1,))
    tf.keras.Model(inputs, Layer()(inputs))


def _training(body: Body) -> None:
    class Model(tf.keras.Sequential):
        def train_step(self, data: Any) -> Any:
            body()
            return super().train_step(data)

    model = Model([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.ones([2, 1]), tf.ones([2, 1]), verbose=0)


def _callback(body: Body) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    callback = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: body())
    model.fit(tf.ones([2, 1]), tf.ones([2, 1]), verbose=0, callbacks=[callback])


def _summary_writer(body: Body) -> None:
    with tempfile.TemporaryDirectory() as folder, tf.summary.create_file_writer(folder).as_default(step=1):
        tf.summary.scalar("loss", 1.0)
        body()


def _variable_scope(body: Body) -> None:
    with tf.Graph().as_default(), tf.compat.v1.variable_scope("scope", reuse=tf.compat.v1.AUTO_REUSE):
        tf.compat.v1.get_variable("v", [2])
        body()


def _v1(name: str, *arguments: Any) -> Block:
    return _of(lambda: getattr(tf.compat.v1, name)(*arguments))


def _restart(body: Body) -> None:
    body()
    tf.runtime.restart()


BLOCKS: dict[str, Block] = {
    "tf.Graph.as_default": _in_graph(lambda graph: tf.device(None)),
    "tf.Graph.as_default twice": _of(lambda: tf.Graph().as_default(), lambda: tf.Graph().as_default()),
    "tf.Graph.device": _in_graph(lambda graph: graph.device("GPU:1")),
    "tf.Graph.name_scope": _in_graph(lambda graph: graph.name_scope("scope")),
    "tf.Graph.control_dependencies": _in_graph(lambda graph: graph.control_dependencies([tf.constant(1.0)])),
    "tf.Graph.colocate_with": _in_graph(lambda graph: graph.colocate_with(tf.constant(1.0))),
    "tf.Graph in tf.device": _of(lambda: tf.device("GPU:1"), lambda: tf.Graph().as_default()),
    "tf.Graph in a tape": _of(tf.GradientTape, lambda: tf.Graph().as_default()),
    "tf.Graph in a strategy": _of(lambda: _strategy().scope(), lambda: tf.Graph().as_default()),
    "tf.compat.v1.Session": _session,
    "tf.compat.v1.InteractiveSession": _interactive_session,
    "tf.compat.v1.train.MonitoredTrainingSession": _monitored_session,
    "tf.compat.v1.summary.FileWriter": _event_file,
    "tf.compat.v1.train.Coordinator.stop_on_exception": _coordinator,
    "tf.compat.v1.variable_scope": _variable_scope,
    "tf.compat.v1.variable_scope, eager": _v1("variable_scope", "scope"),
    "tf.compat.v1.device": _v1("device", "GPU:1"),
    "tf.compat.v1.name_scope": _v1("name_scope", "scope"),
    "tf.compat.v1.control_dependencies": _v1("control_dependencies", []),
    "tf.compat.v1.colocate_with": _v1("colocate_with", None),
    "tf.compat.v1.init_scope": _v1("init_scope"),
    "tf.init_scope": _of(tf.init_scope),
    "tf.init_scope in a function": lambda body: tf.function(lambda: _of(tf.init_scope)(body))(),
    "tf.device": _of(lambda: tf.device("GPU:1")),
    "tf.device twice": _of(lambda: tf.device("GPU:1"), lambda: tf.device(None)),
    "tf.name_scope": _of(lambda: tf.name_scope("scope")),
    "tf.autodiff.ForwardAccumulator": _of(lambda: tf.autodiff.ForwardAccumulator(tf.constant(1.0), tf.constant(1.0))),
    "tf.GradientTape": _of(tf.GradientTape),
    "tf.GradientTape twice": _of(tf.GradientTape, lambda: tf.GradientTape(persistent=True)),
    "tf.GradientTape.stop_recording": _tape_that_stops,
    "tf.variable_creator_scope": _creator,
    "tf.custom_gradient": _custom_gradient,
    "tf.recompute_grad": _recomputed,
    "tf.function": _traced,
    "tf.function twice": _nested_trace,
    "tf.cond": _branch,
    "tf.while_loop": _loop,
    "tf.map_fn": _mapped,
    "tf.vectorized_map": _vectorized,
    "tf.py_function": _python_function,
    "tf.data.Dataset.map": _data,
    "tf.data.Dataset.from_generator": _generator,
    "tf.distribute.MirroredStrategy.scope": _of(lambda: _strategy().scope()),
    "tf.distribute.OneDeviceStrategy.scope": _of(lambda: tf.distribute.OneDeviceStrategy("GPU:1").scope()),
    "tf.distribute.Strategy.run": _replicas,
    "tf.distribute.ReplicaContext.merge_call": _merge_call,
    "tf.distribute.StrategyExtended.colocate_vars_with": lambda body: _of(
        lambda: _strategy().scope(),
        lambda: tf.distribute.get_strategy().extended.colocate_vars_with(tf.Variable(1.0)),
    )(body),
    "tf.runtime.cell_device": _cell_device,
    "tf.runtime.observe": _observer,
    "tf.runtime.observe, raising": _raising_observer,
    "tf.runtime.start_recorder": _recorder,
    "tf.runtime.recording": _of(lambda: tf.runtime.recording()),
    "tf.runtime.watch": _of(lambda: tf.runtime.watch("torch")),
    "tf.runtime.set_default_device": _switched(
        lambda: tf.runtime.set_default_device("GPU:1"), lambda: tf.runtime.set_default_device(None)
    ),
    "tf.runtime.restart": _restart,
    "tf.config.run_functions_eagerly": _switched(
        lambda: tf.config.run_functions_eagerly(True), lambda: tf.config.run_functions_eagerly(False)
    ),
    "tf.config.set_soft_device_placement": _switched(
        lambda: tf.config.set_soft_device_placement(False), lambda: tf.config.set_soft_device_placement(True)
    ),
    "tf.debugging.set_log_device_placement": _switched(
        lambda: tf.debugging.set_log_device_placement(True), lambda: tf.debugging.set_log_device_placement(False)
    ),
    "tf.debugging.enable_check_numerics": _switched(
        tf.debugging.enable_check_numerics, tf.debugging.disable_check_numerics
    ),
    "tf.compat.v1.disable_eager_execution": _switched(
        lambda: tf.compat.v1.disable_eager_execution(),
        lambda: (tf.compat.v1.reset_default_graph(), tf.compat.v1.enable_eager_execution()),
    ),
    "tf.compat.v1.disable_v2_behavior": _switched(
        lambda: tf.compat.v1.disable_v2_behavior(),
        lambda: (tf.compat.v1.reset_default_graph(), tf.compat.v1.enable_v2_behavior()),
    ),
    "tf.compat.v1.disable_v2_behavior, restarted": _switched(
        lambda: tf.compat.v1.disable_v2_behavior(), tf.runtime.restart
    ),
    "tf.keras.layers.Layer.call": _layer,
    "tf.keras.Model": _functional_model,
    "tf.keras.Model.train_step": _training,
    "tf.keras.callbacks.Callback": _callback,
    "tf.keras.saving.CustomObjectScope": _of(lambda: tf.keras.saving.CustomObjectScope({"Thing": object})),
    "tf.summary.SummaryWriter.as_default": _summary_writer,
    "tf.summary.record_if": _of(lambda: tf.summary.record_if(True)),
}
"""The blocks by public name, with a variant after a comma or a word."""

PROCESSES = frozenset(
    {
        "tf.distribute.LocalCluster",
        "tf.distribute.cluster_resolver.KubernetesClusterResolver",
        "tf.distribute.cluster_resolver.SSHClusterResolver",
        "tf.distribute.cluster_resolver.SlurmClusterResolver",
    }
)
"""Blocks that start other processes; `tests/cluster` tests their effects."""


# Ways to leave a block


class BodyError(Exception):
    """The error that a body raises."""


def work() -> None:
    """Does typical work in a block; ignores work that the block rejects."""
    matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for step in (
        lambda: tf.matmul(matrix, matrix),
        lambda: tf.random.normal([2]),
        lambda: tf.Variable(matrix, name="of_the_block"),
        lambda: tf.function(lambda x: x + 1)(matrix),
        lambda: tf.cond(tf.constant(True), lambda: matrix, lambda: matrix),
        lambda: tf.map_fn(lambda row: row * 2, matrix),
        lambda: tf.keras.layers.Dense(2)(matrix),
        lambda: tf.debugging.assert_positive(matrix),
    ):
        try:
            step()
        except Exception:  # a block may reject this
            pass


def _raising(error: BaseException) -> Body:
    def body() -> None:
        work()
        raise error

    return body


def _failing_op() -> None:
    work()
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))


def _open_inside() -> None:
    """Leaves inner blocks open, which the end of the outer block closes."""
    work()
    tf.device("GPU:0").__enter__()
    tf.GradientTape().__enter__()
    tf.name_scope("left_open").__enter__()


EXITS: dict[str, Body] = {
    "nothing": lambda: None,
    "work": work,
    "error": _raising(BodyError()),
    "failing op": _failing_op,
    "interrupt": _raising(KeyboardInterrupt()),
    "exit": _raising(SystemExit()),
    "left open": _open_inside,
}
"""Bodies: a block ends after its last line, with an error, or with the end of a block around one that it left open."""

ENTRIES: dict[str, Body] = {
    "tf.device of no device": lambda: tf.device("nonsense").__enter__(),
    "tf.device of a number": lambda: untyped.device(5).__enter__(),
    "tf.device of a card that is not there": lambda: _of(lambda: tf.device("GPU:77"))(work),
    "tf.name_scope of no name": lambda: tf.name_scope("a b?").__enter__(),
    "tf.compat.v1.name_scope of no name": lambda: _in_graph(lambda graph: graph.name_scope("?"))(work),
    "tf.compat.v1.Session of no graph": lambda: untyped.compat.v1.Session(graph=5),
    "tf.compat.v1.variable_scope of nothing": lambda: tf.compat.v1.variable_scope(None).__enter__(),
    "tf.Graph.control_dependencies of a number": lambda: _in_graph(lambda graph: graph.control_dependencies(5))(work),
    "tf.distribute.MirroredStrategy of no device": lambda: tf.distribute.MirroredStrategy(["GPU:7"]).scope(),
    "tf.function of too many arguments": lambda: tf.function(lambda x: x)(1, 2),
    "tf.runtime.cell_device of no device": lambda: tf.runtime.cell_device("nonsense"),
    "tf.runtime.restart in a block": lambda: _of(lambda: tf.device("GPU:1"))(tf.runtime.restart),
    "a strategy in another": lambda: _of(lambda: _strategy().scope(), lambda: _strategy().scope())(work),
    "a session that is closed": lambda: tf.compat.v1.Session(graph=tf.Graph()).close(),
    "tf.Graph left before what is inside": lambda: _crossed(tf.Graph().as_default(), tf.device("GPU:1")),
    "a tape left before what is inside": lambda: _crossed(tf.GradientTape(), tf.device("GPU:1")),
    "tf.device left before what is inside": lambda: _crossed(tf.device("GPU:1"), tf.GradientTape()),
    "a strategy left before what is inside": lambda: _crossed(_strategy().scope(), tf.device("GPU:1")),
}
"""Blocks that are entered or left incorrectly."""


def _crossed(outer: Any, inner: Any) -> None:
    """Leaves the outer block first."""
    outer.__enter__()
    inner.__enter__()
    work()
    for block in (outer, inner):
        try:
            block.__exit__(None, None, None)
        except RuntimeError:
            pass


def cases() -> dict[str, Body]:
    """Returns every block that may have an effect afterwards, by name."""
    return {
        **{f"{name}: {end}": _case(block, body) for name, block in BLOCKS.items() for end, body in EXITS.items()},
        **ENTRIES,
    }


def _case(block: Block, body: Body) -> Body:
    return lambda: block(body)
