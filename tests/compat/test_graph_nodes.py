"""The nodes that functions make, and their names, which logs and programs of TensorFlow 1 show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf.compat.v1 as tf1


def nodes_of(build: Callable[..., Any], *shape: int | None) -> list[str]:
    """The names of the nodes that a function makes of a placeholder `x`, its own left out."""
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, shape, name="x")
        build(x)
        return [node.name for node in graph.get_operations()[1:]]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: tf1.reduce_sum(x), "Const Sum"),
        (lambda x: tf1.reduce_sum(x, 1), "Sum/reduction_indices Sum"),
        (lambda x: tf1.reduce_mean(x, [0], name="m"), "m/reduction_indices m"),
        (lambda x: tf1.reshape(x, [3, 2]), "Reshape/shape Reshape"),
        (lambda x: tf1.transpose(x), "transpose/perm transpose"),
        (lambda x: tf1.expand_dims(x, 0), "ExpandDims/dim ExpandDims"),
        (lambda x: tf1.concat([x, x], 0), "concat/axis concat"),
        (lambda x: tf1.concat([x], 0), "concat/concat_dim concat/concat"),
        (lambda x: tf1.split(x, 3, 1), "split/split_dim split"),
        (lambda x: tf1.split(x, [1, 2], 1), "Const split/split_dim split"),
        (lambda x: tf1.stack([x, x]), "stack"),
        (lambda x: tf1.argmax(x, 1), "ArgMax/dimension ArgMax"),
        (lambda x: tf1.gather(x, 0), "GatherV2/indices GatherV2/axis GatherV2"),
        (lambda x: tf1.tile(x, [2, 1]), "Tile/multiples Tile"),
        (lambda x: x[0], "strided_slice/stack strided_slice/stack_1 strided_slice/stack_2 strided_slice"),
        (lambda x: tf1.shape(x), "Shape"),
        (lambda x: tf1.zeros_like(x), "zeros_like"),
        (lambda x: tf1.ones_like(x), "ones_like/Shape/shape_as_tensor ones_like/Const ones_like"),
        (lambda x: tf1.to_int32(x), "ToInt32"),
        (lambda x: tf1.div(x, 2.0), "div/y div"),
        (lambda x: x / 2.0, "truediv/y truediv"),
        (lambda x: 2.0 * x, "mul/x mul"),
        (lambda x: -x, "Neg"),
        (lambda x: tf1.where(x > 0.0, x, x), "Greater/y Greater Select"),
        (lambda x: tf1.add_n([x]), ""),
        (lambda x: tf1.add_n([x], name="one"), "one"),
        (
            lambda x: tf1.clip_by_value(x, 0.0, 1.0),
            "clip_by_value/Minimum/y clip_by_value/Minimum clip_by_value/y clip_by_value",
        ),
        (lambda x: tf1.tuple([x]), "tuple/group_deps tuple/control_dependency"),
    ],
)
def test_functions_of_a_tensor_make_these_nodes(build: Callable[..., Any], expected: str) -> None:
    assert expected.split() == nodes_of(build, 2, 3)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda _: tf1.zeros([2, 3]), "zeros"),
        (lambda _: tf1.zeros([1000]), "zeros/shape_as_tensor zeros/Const zeros"),
        (lambda _: tf1.fill([2], 9.0), "Fill/dims Fill/value Fill"),
        (lambda _: tf1.range(3), "range/start range/limit range/delta range"),
        (lambda _: tf1.one_hot([1], 3), "one_hot/indices one_hot/on_value one_hot/off_value one_hot/depth one_hot"),
        (lambda _: tf1.convert_to_tensor(1.0, name="c"), "c"),
        (lambda _: tf1.constant(7) / 2, "Const truediv/y truediv/Cast truediv/Cast_1 truediv"),
        (
            lambda _: tf1.random_normal([2], name="w"),
            "w/shape w/mean w/stddev w/RandomStandardNormal w/mul w",
        ),
        (lambda _: tf1.random_uniform([2]), "random_uniform/shape random_uniform/RandomUniform"),
    ],
)
def test_functions_of_values_make_these_nodes(build: Callable[..., Any], expected: str) -> None:
    names = nodes_of(build)

    assert sorted(expected.split()) == sorted(names)


def test_a_shape_that_is_not_known_is_read_when_the_session_runs() -> None:
    assert ["Shape"] == [node.type for node in _graph_of(lambda x: tf1.shape(x), None, 3)[1:]]
    assert ["Const"] == [node.type for node in _graph_of(lambda x: tf1.shape(x), 2, 3)[1:]]


def _graph_of(build: Callable[..., Any], *shape: int | None) -> list[Any]:
    with tf1.Graph().as_default() as graph:
        build(tf1.placeholder(tf1.float32, shape))
        return graph.get_operations()


def test_a_node_has_its_shape_and_axis_among_its_inputs() -> None:
    x = tf1.placeholder(tf1.float32, [2, 3], name="x")
    total, filled = tf1.reduce_sum(x, 1), tf1.fill([2], 1.0)

    assert ["x:0", "Sum/reduction_indices:0"] == [one.name for one in total.op.inputs]
    assert ["Fill/dims:0", "Fill/value:0"] == [one.name for one in filled.op.inputs]
