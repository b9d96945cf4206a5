from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf.compat.v1 as tf1


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


def test_a_group_waits_for_its_members(graph: tf1.Graph) -> None:
    a, v = tf1.constant(1.0), tf1.Variable(1.0)
    node: Any = tf1.group(a, [v.initializer], {"v": v}, name="g")

    assert ("g", "NoOp", [a.op, v.initializer, v.op]) == (node.name, node.type, node.control_inputs)


def test_an_empty_group_does_nothing(graph: tf1.Graph) -> None:
    node: Any = tf1.group()

    assert ("group_deps", "NoOp", []) == (node.name, node.type, node.control_inputs)


def test_a_group_stands_on_the_device_of_its_members(graph: tf1.Graph) -> None:
    with tf1.device("/cpu:1"):
        a = tf1.constant(1.0)

    node: Any = tf1.group(a)

    assert "/device:CPU:1" == node.device


def test_on_several_devices_there_is_a_node_on_each(graph: tf1.Graph) -> None:
    members = []
    for number in (1, 0):
        with tf1.device(f"/cpu:{number}"):
            members.append(tf1.constant(1.0))
    node: Any = tf1.group(*members, name="g")

    expected = [("g/NoOp", "/device:CPU:0"), ("g/NoOp_1", "/device:CPU:1")]
    assert (expected, "") == ([(one.name, one.device) for one in node.control_inputs], node.device)


def test_only_nodes_can_be_waited_for(graph: tf1.Graph) -> None:
    with pytest.raises(TypeError, match=r"^'inputs' should be zero or more \(nested\) Tensors\. Received '3' with"):
        tf1.group(3)
