"""After `disable_eager_execution`, and inside `tf.Graph().as_default()`, all of `tf.*` builds graphs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.variables.resource import read_variable
from tests.ops.arguments import plain
from tests.ops.samples import Sample, all_samples
from tests.sweeps import check_each


@pytest.fixture(params=["switched", "a block"])
def graphs(request: pytest.FixtureRequest) -> Iterator[Any]:
    v1 = tf.compat.v1
    if request.param == "switched":
        v1.disable_eager_execution()
        yield v1
        return
    with tf.Graph().as_default():
        yield v1


@pytest.mark.usefixtures("graphs")
def test_ops_operators_and_functions_build_nodes() -> None:
    a = tf.constant([[1.0, 2.0]], name="a")
    tensors = [a, tf.matmul(a, [[1.0], [2.0]]), a + 1.0, tf.nn.relu(a), tf.math.log(a), a[0], tf.cast(a, tf.int32)]

    assert ["a", "MatMul", "add", "Relu", "Log", "strided_slice", "Cast"] == [one.op.name for one in tensors]
    assert not tf.executing_eagerly()


def test_the_guides_program_is_three_nodes(graphs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
        b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    c = tf.matmul(a, b)
    with graphs.Session(config=graphs.ConfigProto(log_device_placement=True)) as session:
        product = session.run(c)

    assert [[22.0, 28.0], [49.0, 64.0]] == product.tolist()
    assert ["MatMul", "a", "b"] == [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("graphs")
def test_constants_have_as_many_elements_as_their_shape() -> None:
    assert (2, 3) == tuple(tf.constant(1.0, shape=[2, 3]).shape)
    with pytest.raises(TypeError, match=r"^Expected Tensor's shape: \(4,\), but got \(2,\)\.$"):
        tf.constant([1, 2], shape=[4])


# Source: TensorFlow 2.21, the same calls inside `with tf.Graph().as_default()`.
NAMES = {
    "zeros": lambda a: tf.zeros([2, 2]),
    "ones": lambda a: tf.ones([2]),
    "zeros_like": lambda a: tf.zeros_like(a),
    "random_normal": lambda a: tf.random.normal([2]),
    "random_uniform/RandomUniform": lambda a: tf.random.uniform([2]),
    "Sum": lambda a: tf.reduce_sum(a),
    "Size": lambda a: tf.size(a),
    "Rank": lambda a: tf.rank(a),
    "stack": lambda a: tf.stack([1, 2]),
    "one_hot": lambda a: tf.one_hot([1], 3),
    "eye/diag": lambda a: tf.eye(2),
    "dropout/SelectV2": lambda a: tf.nn.dropout(a, rate=0.5),
    "clip_by_value": lambda a: tf.clip_by_value(a, 0.0, 1.0),
    "norm/Squeeze": lambda a: tf.norm(a),
    "SelectV2": lambda a: tf.where([True], [1], [2]),
    "moments/Squeeze": lambda a: tf.nn.moments(a, [0])[0],
    "truncated_normal": lambda a: tf.random.truncated_normal([2]),
    "Fill": lambda a: tf.fill([2], 3.0),
    "concat": lambda a: tf.concat([[1], [2]], axis=0),
}


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("name", NAMES)
def test_nodes_have_tensorflows_names(name: str) -> None:
    assert name == NAMES[name](tf.constant([1.0, 2.0], name="a")).op.name


def test_a_session_trains_a_variable(graphs: Any) -> None:
    x = graphs.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable(tf.ones([2, 1]), name="w")
    loss = tf.reduce_mean(tf.square(x @ w - 1.0))
    train = graphs.train.GradientDescentOptimizer(0.1).minimize(loss)
    with graphs.Session() as session:
        session.run(graphs.global_variables_initializer())
        first, *_, last = [session.run([loss, train], {x: [[1.0, 2.0]]})[0] for _ in range(9)]

    assert "<tf.Variable 'w:0' shape=(2, 1) dtype=float32>" == repr(w)
    assert (None, 2) == tuple(x.shape)
    assert 4.0 == first > 0.1 > last


def test_branches_and_loops_run_when_their_turn_comes(graphs: Any) -> None:
    x = graphs.placeholder(tf.float32, [])
    chosen = tf.cond(x > 0, lambda: x * 2, lambda: tf.negative(x))
    counted = tf.while_loop(lambda i: tf.less(i, 5), lambda i: [tf.add(i, 2)], [tf.constant(0)])
    mapped = tf.map_fn(lambda one: one + x, tf.constant([1.0, 2.0]))

    assert [6.0, 6] == graphs.Session().run([chosen, tf.nest.flatten(counted)[0]], {x: 3.0})
    assert isinstance(counted, list)
    assert [-2.0, -1.0] == graphs.Session().run(mapped, {x: -3.0}).tolist()


def test_blocks_belong_to_nodes(graphs: Any) -> None:
    with tf.device("/GPU:1"), tf.name_scope("tower"):
        a = tf.square(2.0)

    assert ("tower/Square", "/device:GPU:1") == (a.op.name, a.device)


def test_python_functions_in_a_graph_run_at_once(graphs: Any) -> None:
    y = tf.py_function(lambda x: tf.add(x, 1.0) if tf.executing_eagerly() else x, [2.0], tf.float32)

    assert 3.0 == graphs.Session().run(y)


def test_constants_are_known_while_a_graph_is_built(graphs: Any) -> None:
    assert [3, None] == [tf.get_static_value(one) for one in (tf.constant(3), graphs.placeholder(tf.int32))]


@pytest.mark.usefixtures("graphs")
def test_keras_does_not_train_in_a_graph() -> None:
    with pytest.raises(RuntimeError, match=r"^`tf\.data\.Dataset` only supports Python-style iteration in eager mode"):
        tf.keras.Sequential([tf.keras.layers.Dense(1)]).predict(np.ones((2, 2)))


def test_ops_run_at_once_outside_a_block() -> None:
    with tf.Graph().as_default():
        tf.constant(1.0)

    assert tf.executing_eagerly()
    assert 2.0 == tf.add(1.0, tf.ones([])).numpy()
    assert 1.0 == tf.Variable(1.0).numpy()


def test_other_threads_build_graphs_too() -> None:
    tf.compat.v1.disable_eager_execution()
    tensors: list[Any] = []
    thread = threading.Thread(target=lambda: tensors.append(tf.zeros([2])))
    thread.start()
    thread.join()

    assert ["zeros:0"] == [one.name for one in tensors]


def test_eager_execution_comes_back_while_the_graph_is_empty() -> None:
    tf.compat.v1.disable_eager_execution()
    tf.compat.v1.enable_eager_execution()

    assert 2.0 == tf.add(tf.constant(1.0), 1.0).numpy()


def test_a_restart_is_eager_again() -> None:
    tf.compat.v1.disable_v2_behavior()
    tf.runtime.restart()

    assert tf.executing_eagerly()
    assert 2.0 == tf.add(tf.constant(1.0), 1.0).numpy()


def test_eager_variables_are_those_of_tensorflow_2() -> None:
    v1 = tf.compat.v1
    with v1.variable_scope("s"):
        v = v1.get_variable("w", initializer=1.0)
    with v1.variable_scope("s", reuse=True):
        again = v1.get_variable("w", initializer=2.0)

    assert ["s/w:0", "s/w:0"] == [v.name, again.name]
    assert [1.0, 2.0] == [v.numpy(), again.numpy()]
    assert v1.global_variables_initializer() is None
    assert [] == v1.global_variables()


def test_optimizers_take_functions_in_eager_programs() -> None:
    v = tf.Variable(1.0)
    tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(lambda: v * v)

    assert np.float32(0.8) == v.numpy()


SAMPLES = [
    one
    for one in all_samples()
    if one.expected is not None and not one.op.startswith("Random") and one.function is not read_variable
]


def looking_for_a_graph(function: Any) -> Any:
    """Returns what stands in a namespace for a function since there was a graph."""
    modules = [tf, tf.math, tf.nn, tf.linalg, tf.strings, tf.random, tf.debugging]
    functions = [one for module in modules for one in vars(module).values()]
    return next((one for one in functions if getattr(one, "eager", None) is function), function)


def test_what_a_graph_gives_is_what_an_op_gives_at_once() -> None:
    check_each(SAMPLES, a_graph_gives_what_an_op_gives_at_once)


def a_graph_gives_what_an_op_gives_at_once(sample: Sample) -> None:
    expected = [np.asarray(one) for one in tf.nest.flatten(sample.function(*plain(sample.args), **sample.kwargs))]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        function = looking_for_a_graph(sample.function)
        try:
            nodes = tf.nest.flatten(function(*plain(sample.args), **sample.kwargs))
            session.graph.as_graph_element(nodes[0])
        except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
            pytest.skip(f"cannot be built: {error}")
        session.run(tf.compat.v1.global_variables_initializer())
        values = session.run(nodes)

    for value, one in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, one)


def test_printing_is_a_node(graphs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    node = tf.print("x =", tf.constant([1.0]), summarize=2)
    before = capsys.readouterr()
    graphs.Session().run(node)

    assert ("", "x = [1]\n") == (before.err, capsys.readouterr().err)
