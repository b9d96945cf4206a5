"""Do gradients flow back through a graph as TensorFlow 1 builds them?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
import nbtf.compat.v1 as tf1
from nbtf.compat._v1._graph.defaults import constant, name_scope, placeholder
from nbtf.compat._v1._graph.device_spec import DeviceSpec
from nbtf.compat._v1._graph.gradients import gradients, hessians
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.session import Session


def run(fetches: Any, feeds: dict[Any, Any] | None = None) -> Any:
    return Session(graph=flat(fetches)[0].graph).run(fetches, feeds)


def flat(fetches: Any) -> list[Any]:
    return fetches if isinstance(fetches, list) else [fetches]


def test_the_gradients_of_several_paths_add_up() -> None:
    with Graph().as_default():
        x = constant(3.0)
        (slope,) = gradients(x * x + x, x)

        assert 7.0 == run(slope)
        assert "AddN" == slope.op.type


def test_new_nodes_are_named_after_those_they_belong_to() -> None:
    with Graph().as_default():
        x, w = placeholder("float32", [2, 3]), placeholder("float32", [3, 4])
        with name_scope("tower"):
            y = tf.reduce_sum(tf.matmul(x, w))

        assert ["gradients/tower/MatMul_grad/MatMul_1:0"] == [one.name for one in gradients(y, [w])]
        assert ["again/tower/MatMul_grad/MatMul_1:0"] == [one.name for one in gradients(y, [w], name="again")]


def test_a_source_that_does_not_matter_has_no_gradient() -> None:
    with Graph().as_default():
        x, z = constant([1.0, 2.0]), constant([1.0, 2.0])

        assert [None] == gradients(x * x, z)
        assert [0.0, 0.0] == run(gradients(x * x, z, unconnected_gradients="zero"))[0].tolist()


def test_integers_have_no_gradient() -> None:
    with Graph().as_default():
        x = constant(1.5)

        assert [None] == gradients(tf.cast(x, "int32"), x)


def test_the_sum_of_several_targets_is_meant() -> None:
    with Graph().as_default():
        x = constant(2.0)

        assert [15.0] == run(gradients([x * x * x, 3.0 * x], x))


def test_gradients_can_start_with_something_else_than_ones() -> None:
    with Graph().as_default():
        x = constant([1.0, 2.0])
        (slope,) = gradients(x * x, x, grad_ys=constant([10.0, 100.0]))

        assert [20.0, 400.0] == run(slope).tolist()


def test_as_many_starts_as_targets_are_wanted() -> None:
    with Graph().as_default():
        x = constant(1.0)

        with pytest.raises(ValueError, match=r"Length mismatch\. Passed 2 grad_ys for 1 ys"):
            gradients(x * x, x, grad_ys=[None, None])


def test_an_unknown_way_to_be_unconnected_is_refused() -> None:
    with Graph().as_default():
        x = constant(1.0)

        with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'foo'"):
            gradients(x * x, x, unconnected_gradients="foo")


def test_nothing_flows_through_what_is_stopped() -> None:
    with Graph().as_default():
        x = constant(3.0)
        y = x * x

        assert [None] == gradients(y * 2.0, x, stop_gradients=[y])
        assert [3.0] == run(gradients(tf.stop_gradient(x) * x, x))


def test_a_source_may_stand_between_others() -> None:
    with Graph().as_default():
        x = constant(3.0)
        y = x * x

        assert [5.0, 30.0] == run(gradients(y * 5.0, [y, x]))


def test_second_derivatives_are_there() -> None:
    with Graph().as_default():
        x = placeholder("float32", [None])
        (first,) = gradients(x * x * x, x)
        (second,) = gradients(first, x)

        assert [6.0, 12.0] == run(second, {x: [1.0, 2.0]}).tolist()


def test_second_derivatives_flow_through_gradients_that_were_left() -> None:
    with Graph().as_default():
        x = placeholder("float32", [None])
        (first,) = gradients(tf.reduce_mean(x * x) ** 2.0, x)
        (second,) = gradients(tf.reduce_sum(first * [1.0, 0.0]), x)

        # first[0] is 2 m * 2 x0 / n = (x0 x0 + x1 x1) x0, with m = (x0 x0 + x1 x1) / n
        assert [7.0, 4.0] == run(second, {x: [1.0, 2.0]}).tolist()


def test_a_network_with_any_number_of_rows_has_gradients() -> None:
    rows = np.array([[1.0, -1.0], [0.5, 2.0], [3.0, 1.0]], np.float32)
    weights = np.array([[0.5, -0.5], [0.25, 1.0]], np.float32)
    with Graph().as_default():
        x, labels = placeholder("float32", [None, 2]), placeholder("int32", [None])
        w, b = constant(weights), constant([0.1, -0.1])
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.nn.relu(tf.matmul(x, w) + b))
        )
        found = run(gradients(loss, [w, b, x]), {x: rows, labels: [0, 1, 1]})

    eager = [tf.constant(weights), tf.constant([0.1, -0.1]), tf.constant(rows)]
    with tf.GradientTape() as tape:
        tape.watch(eager)
        logits = tf.nn.relu(tf.matmul(eager[2], eager[0]) + eager[1])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 1], logits=logits))
    for one, expected in zip(found, tape.gradient(loss, eager), strict=True):
        np.testing.assert_allclose(one, expected.numpy(), rtol=1e-6)


def test_a_convolution_with_any_number_of_images_has_gradients() -> None:
    with Graph().as_default():
        x, w = placeholder("float32", [None, 4, 4, 1]), constant(np.ones((2, 2, 1, 1), np.float32))
        y = tf.nn.max_pool2d(tf.nn.conv2d(x, w, 1, "SAME"), 2, 2, "VALID")
        found = run(gradients(y, [w, x]), {x: np.ones((3, 4, 4, 1))})

    assert [12.0] * 4 == found[0].reshape(-1).tolist()
    assert (3, 4, 4, 1) == found[1].shape


def test_a_gradient_stands_where_it_is_asked_for() -> None:
    with Graph().as_default() as graph:
        x = constant(3.0)
        with graph.device("/gpu:1"):
            y = x * x
        with graph.device("/gpu:0"):
            (slope,) = gradients(y, x)

        assert "/device:GPU:0" == slope.op.inputs[0].device


def test_a_gradient_can_stand_where_its_node_does() -> None:
    with Graph().as_default() as graph:
        x = constant(3.0)
        with graph.device(DeviceSpec(device_type="GPU", device_index=1)):
            y = x * x
        with graph.device("/gpu:0"):
            (slope,) = gradients(y, x, colocate_gradients_with_ops=True)

        assert "/device:GPU:1" == slope.op.inputs[0].device


def test_rows_that_were_read_stay_rows() -> None:
    with Graph().as_default():
        table = constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        (slope,) = gradients(tf.gather(table, [2, 0, 2]), table)

        assert isinstance(slope, tf.IndexedSlices)
        assert [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]] == run(tf.convert_to_tensor(slope)).tolist()


def test_rows_and_a_whole_add_up_to_a_whole() -> None:
    with Graph().as_default():
        table = constant([[1.0], [3.0]])
        (slope,) = gradients([tf.gather(table, [1]), table * 2.0], table)

        assert [[2.0], [3.0]] == run(slope).tolist()


def test_an_op_without_gradient_says_so() -> None:
    with Graph().as_default():
        x = constant([1.0, 2.0])
        y = tf.truncatemod(x, x)

        with pytest.raises(LookupError, match=r"No gradient defined for operation'TruncateMod' \(op type: TruncateMod"):
            gradients(y, x)


def test_hessians_are_second_derivatives() -> None:
    with Graph().as_default():
        x = constant([1.0, 2.0])
        (found,) = hessians(tf.reduce_sum(x * x * x) + x[0] * x[1], x)

        assert [[6.0, 1.0], [1.0, 12.0]] == run(found).tolist()


def test_each_node_is_met_once() -> None:
    with Graph().as_default() as graph:
        x = y = constant(1.0)
        for _ in range(60):  # 2 ** 60 paths
            y = y + y
        gradients(y, x)

        assert 60 == len([one for one in graph.get_operations() if one.type == "AddN"])


def test_ops_that_are_left_run_under_the_name_of_their_node() -> None:
    names: list[str | None] = []
    with Graph().as_default():
        x = placeholder("float32", [None])
        slope = gradients(tf.reduce_mean(x), x)
        stop = tf.runtime.observe(lambda event: names.append(getattr(event, "node", None)))
        run(slope, {x: [1.0, 2.0]})
        stop()

    assert "gradients/Mean_grad/BroadcastTo" in names


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_variable_may_be_a_source(resource: bool) -> None:
    with Graph().as_default(), Session() as session:
        v = tf1.Variable([1.0, 2.0], use_resource=resource)
        found = gradients(v * v, v)
        session.run(v.initializer)

        assert [2.0, 4.0] == session.run(found[0]).tolist()


def test_gradients_flow_through_the_branch_that_is_taken() -> None:
    with Graph().as_default():
        x, yes = placeholder("float32", []), placeholder("bool", [])
        slope = gradients(tf1.cond(yes, lambda: x * x, lambda: x * 3.0), x)

        assert [10.0] == run(slope, {x: 5.0, yes: True})
        assert [3.0] == run(slope, {x: 5.0, yes: False})


def test_gradients_flow_through_all_rounds_of_a_loop() -> None:
    with Graph().as_default():
        x = placeholder("float32", [])
        _, y = tf1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, constant(1.0)])

        assert [12.0] == run(gradients(y, x), {x: 2.0})


def test_no_gradients_flow_through_functions_of_arrays() -> None:
    with Graph().as_default():
        x = constant([1.0, 2.0])

        assert [None] == gradients(tf1.py_func(lambda array: array * 2, [x], tf.float32), x)
        assert [2.0, 4.0] == run(gradients(tf1.py_function(lambda one: one * one, [x], tf.float32), x))[0].tolist()


def test_a_function_may_bring_its_own_gradient() -> None:
    @tf1.custom_gradient
    def product(x: Any, y: Any) -> Any:
        return x * y, lambda dz: (dz * 100.0, dz * 10.0)

    with Graph().as_default():
        x, y = constant(2.0), constant(3.0)
        z = product(x, y)

        assert [6.0, 100.0, 10.0] == run([z, *gradients(z, [x, y])])
        assert [300.0] == run(gradients(product(x, 3.0) * 3.0, x))


def test_a_function_brings_as_many_gradients_as_it_has_inputs() -> None:
    @tf1.custom_gradient
    def product(x: Any, y: Any) -> Any:
        return x * y, lambda dz: dz

    with Graph().as_default():
        x = constant(2.0)

        with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1 instead"):
            gradients(product(x, x), x)


def test_functions_of_shapes_that_are_not_known_have_gradients() -> None:
    with Graph().as_default():
        x, labels = placeholder("float32", [None, None, 3]), placeholder("int32", [None, None])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        kept = tf.boolean_mask(x, tf.greater(x[:, :, 0], 0.0))
        turned = tf.tensordot(x, constant([[1.0], [2.0], [3.0]]), 1)
        found = run(gradients([losses, kept, turned], x), {x: np.ones((2, 4, 3)), labels: np.zeros((2, 4))})[0]

    assert (2, 4, 3) == found.shape
    np.testing.assert_allclose(found[0, 0], [1 / 3 - 1 + 1 + 1, 1 / 3 + 1 + 2, 1 / 3 + 1 + 3], rtol=1e-6)
