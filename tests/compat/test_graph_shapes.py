"""What a graph knows of shapes and values before it runs, and what tensors may stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf1


@pytest.fixture
def n() -> Any:
    return tf1.placeholder(tf1.float32, [None, 3], name="n")


@pytest.fixture
def u() -> Any:
    return tf1.placeholder(tf1.float32, name="u")


@pytest.fixture
def k() -> Any:
    return tf1.placeholder(tf1.int32, [], name="k")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda n, u, k: tf1.reshape(n, [tf1.shape(n)[0], 3]), "(?, 3)"),
        (lambda n, u, k: tf1.reshape(u, [-1, 4]), "(?, 4)"),
        (lambda n, u, k: tf1.zeros([tf1.shape(n)[0], 2]), "(?, 2)"),
        (lambda n, u, k: tf1.zeros(tf1.shape(n)), "(?, 3)"),
        (lambda n, u, k: tf1.zeros(tf1.shape(n)[1:]), "(3,)"),
        (lambda n, u, k: tf1.fill(tf1.stack([k, 2]), 1.0), "(?, 2)"),
        (lambda n, u, k: tf1.reduce_sum(u), "()"),
        (lambda n, u, k: tf1.reduce_sum(u, 0), "<unknown>"),
        (lambda n, u, k: tf1.reduce_sum(n, k), "<unknown>"),
        (lambda n, u, k: tf1.reduce_sum(n, k, keepdims=True), "(?, ?)"),
        (lambda n, u, k: tf1.concat([n, u], 1), "(?, ?)"),
        (lambda n, u, k: tf1.add_n([n, tf1.ones([2, 3])]), "(2, 3)"),
        (lambda n, u, k: tf1.stack([n, tf1.ones([2, 3])]), "(2, 2, 3)"),
        (lambda n, u, k: tf1.matmul(n, u), "<unknown>"),
        (lambda n, u, k: tf1.matmul(n, tf1.ones([3, 4])), "(?, 4)"),
        (lambda n, u, k: tf1.one_hot(tf1.constant([1]), k), "(1, ?)"),
        (lambda n, u, k: tf1.range(k), "(?,)"),
        (lambda n, u, k: n[k], "(3,)"),
        (lambda n, u, k: n[1:k], "(?, 3)"),
        (lambda n, u, k: tf1.slice(n, [k, 0], [1, 2]), "(1, 2)"),
        (lambda n, u, k: tf1.tile(n, [2, k]), "(?, ?)"),
        (lambda n, u, k: tf1.shape(u), "(?,)"),
        (lambda n, u, k: tf1.where(n > 0.0), "(?, 2)"),
        (lambda n, u, k: tf1.argmax(n, k), "(?,)"),
        (lambda n, u, k: tf1.random_normal([k, 2]), "(?, 2)"),
        (lambda n, u, k: tf1.split(n, 3, 1)[0], "(?, 1)"),
    ],
)
def test_shapes_are_known_as_far_as_can_be(n: Any, u: Any, k: Any, build: Callable[..., Any], expected: str) -> None:
    assert expected == str(build(n, u, k).shape)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda n, k: tf1.reshape(n, [k, -1]), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        (lambda n, k: tf1.reduce_sum(n, k - 1), [3.0, 12.0]),
        (lambda n, k: n[k - 1], [3.0, 4.0, 5.0]),
        (lambda n, k: n[:, 1:k], [[1.0], [4.0]]),
        (lambda n, k: tf1.fill([k], 7.0), [7.0, 7.0]),
        (lambda n, k: tf1.transpose(n, tf1.stack([k - 1, 0])), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
        (lambda n, k: tf1.tile(n, [1, k - 1]), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        (lambda n, k: tf1.one_hot([1], k), [[0.0, 1.0]]),
        (lambda n, k: tf1.to_float(tf1.range(k)), [0.0, 1.0]),
        (lambda n, k: tf1.concat([n, n], k - 1)[0], [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
        (lambda n, k: tf1.ones_like(n)[0], [1.0, 1.0, 1.0]),
    ],
)
def test_tensors_stand_for_shapes_and_axes(n: Any, k: Any, build: Callable[..., Any], expected: Any) -> None:
    fed = {n: np.arange(6.0).reshape(2, 3), k: 2}

    assert expected == tf1.Session().run(build(n, k), fed).tolist()


def test_a_constant_axis_can_be_fed(n: Any) -> None:
    total = tf1.reduce_sum(n, 0)

    found = tf1.Session().run(total, {n: [[1.0, 2.0, 3.0]], "Sum/reduction_indices:0": 1})

    assert [6.0] == found.tolist()


def test_a_tensor_cannot_stand_for_what_is_part_of_a_node(n: Any, k: Any) -> None:
    with pytest.raises(TypeError, match="The attribute 'axis' of Pack is part of the node"):
        tf1.stack([n, n], axis=k)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (
            lambda x, y: tf1.matmul(x, x),
            "Dimensions must be equal, but are 3 and 2 for 'MatMul' (op: 'MatMul') with input shapes: [2,3], [2,3].",
        ),
        (
            lambda x, y: x + y,
            "Dimensions must be equal, but are 3 and 4 for 'add' (op: 'AddV2') with input shapes: [2,3], [2,4].",
        ),
        (
            lambda x, y: tf1.reshape(x, [4]),
            "Cannot reshape a tensor with 6 elements to shape [4] (4 elements) for 'Reshape' (op: 'Reshape') with "
            "input shapes: [2,3], [1] and with computed input tensors: input[1] = <4>.",
        ),
        (
            lambda x, y: tf1.concat([x, y], 0),
            "Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4]. for 'concat' (op: "
            "'ConcatV2') with input shapes: [2,3], [2,4], [] and with computed input tensors: input[2] = <0>.",
        ),
        (
            lambda x, y: tf1.expand_dims(x, 7),
            "dim 7 not in the interval [-3, 2]. for 'ExpandDims' (op: 'ExpandDims') with input shapes: [2,3], [] and "
            "with computed input tensors: input[1] = <7>.",
        ),
        (
            lambda x, y: tf1.reduce_sum(x, 5),
            "Invalid reduction dimension 5 for input with 2 dimensions. for 'Sum' (op: 'Sum') with input shapes: "
            "[2,3], [] and with computed input tensors: input[1] = <5>.",
        ),
        (
            lambda x, y: tf1.split(x, 2, 1),
            "Dimension size must be evenly divisible by 2 but is 3\n\tNumber of ways to split should evenly divide the "
            "split dimension for 'split' (op: 'Split') with input shapes: [], [2,3] and with computed input tensors: "
            "input[0] = <1>.",
        ),
        (
            lambda x, y: tf1.add_n([x, tf1.zeros([1])]),
            "Shapes must be equal rank, but are 2 and 1\n\tFrom merging shape 0 with other shapes. for 'AddN' (op: "
            "'AddN') with input shapes: [2,3], [1].",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_told_while_building(build: Callable[..., Any], told: str) -> None:
    x, y = tf1.placeholder(tf1.float32, [2, 3]), tf1.placeholder(tf1.float32, [2, 4])

    with pytest.raises(ValueError, match="for '") as caught:
        build(x, y)

    assert told == str(caught.value)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (
            lambda x, i: tf1.matmul(x, i),
            "Input 'b' of 'MatMul' Op has type int32 that does not match type float32 of argument 'a'.",
        ),
        (
            lambda x, i: tf1.concat([x, i], 0),
            "Tensors in list passed to 'values' of 'ConcatV2' Op have types [float32, int32] that don't all match.",
        ),
        (
            lambda x, i: x + i,
            "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'.",
        ),
        (lambda x, i: tf1.constant("a", tf1.float32), "Expected float32, but got a of type 'str'."),
    ],
)
def test_dtypes_that_do_not_fit_are_told_while_building(build: Callable[..., Any], told: str) -> None:
    x, i = tf1.placeholder(tf1.float32, [2, 2]), tf1.placeholder(tf1.int32, [2, 2])

    with pytest.raises(TypeError) as caught:
        build(x, i)

    assert told == str(caught.value)


def test_an_op_that_failed_leaves_its_name_taken() -> None:
    x = tf1.placeholder(tf1.float32, [2, 3])
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf1.matmul(x, x)

    assert "MatMul_1:0" == tf1.matmul(x, x, transpose_b=True).name
