from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.compat._v1._graph.defaults import constant, no_op
from nbtf.compat._v1._graph.graph import Graph


@pytest.mark.parametrize(
    ("asked", "device"),
    [
        ("/cpu:1", "/device:CPU:1"),
        ("gpu:1", "/device:GPU:1"),
        ("GPU", "/device:GPU:*"),
        ("/job:worker/task:2/gpu:1", "/job:worker/task:2/device:GPU:1"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_node_says_which_device_was_asked_for(asked: str | None, device: str) -> None:
    with Graph().as_default() as graph, graph.device(asked):
        a = constant(1.0)

    assert (device, device) == (a.device, a.op.device)


@pytest.mark.parametrize(
    ("outer", "inner", "device"),
    [
        ("/job:localhost/replica:0", "/cpu:2", "/job:localhost/replica:0/device:CPU:2"),
        ("/cpu:1", "/gpu:3", "/device:GPU:3"),
        ("/cpu:1", "/task:1", "/task:1/device:CPU:1"),
        ("/cpu:1", None, ""),
        ("/cpu:1", "", "/device:CPU:1"),
    ],
)
def test_the_inner_device_wins_field_by_field(outer: str, inner: str | None, device: str) -> None:
    with Graph().as_default() as graph, graph.device(outer), graph.device(inner):
        assert device == constant(1.0).device


def test_a_function_is_asked_once_per_node() -> None:
    asked = list[str]()

    def on_cpu(node: Any) -> str:
        asked.append(node.name)
        return "/cpu:1"

    with Graph().as_default() as graph, graph.device(on_cpu):
        b = tf.square(constant(1.0, name="a"))

    assert (["a", "Square"], "/cpu:1") == (asked, b.device)


def test_a_function_sees_what_inner_blocks_say() -> None:
    seen = list[str]()

    def note(node: Any) -> str:
        seen.append(node.device)
        return node.device

    with Graph().as_default() as graph, graph.device(note), graph.device("/gpu:1"):
        constant(1.0)

    assert ["/device:GPU:1"] == seen


def test_a_function_must_return_a_device() -> None:
    with (
        Graph().as_default() as graph,
        graph.device(lambda node: None),
        pytest.raises(TypeError, match=r"^Expected binary or unicode string, got None$"),
    ):
        constant(1.0)


def test_a_spec_is_a_device_too() -> None:
    with Graph().as_default() as graph, graph.device(tf.DeviceSpec(device_type="CPU", device_index=1)):
        assert "/device:CPU:1" == constant(1.0).device


def test_a_number_is_no_device() -> None:
    with pytest.raises(AttributeError), Graph().device(3):
        pass


def test_a_constant_that_is_taken_later_has_the_device_of_its_own_block() -> None:
    with Graph().as_default() as graph:
        with graph.device("/cpu:1"):
            a = tf.constant([1.0])
        b = tf.square(a)

    assert ("/device:CPU:1", "") == (a.device, b.device)


def test_a_colocated_node_takes_the_device_of_the_other() -> None:
    with Graph().as_default() as graph:
        with graph.device("/cpu:1"):
            a = constant(1.0, name="a")
        with graph.colocate_with(a), graph.device("/cpu:2"):
            b = constant(2.0, name="b")

    assert ("/device:CPU:1", [b"loc:@a"]) == (b.device, b.op.colocation_groups())
    assert [b"loc:@a"] == a.op.colocation_groups()


def test_nodes_wait_for_the_nodes_of_the_block() -> None:
    with Graph().as_default() as graph:
        first = no_op("first")
        with graph.control_dependencies([first]):
            a = constant(1.0)

    assert [first] == a.op.control_inputs


def test_a_node_does_not_wait_for_what_its_inputs_wait_for() -> None:
    with Graph().as_default() as graph:
        first = no_op("first")
        with graph.control_dependencies([first]):
            b = tf.square(constant(1.0))

    assert [] == b.op.control_inputs


def test_a_node_does_not_wait_twice_for_its_input() -> None:
    with Graph().as_default() as graph:
        a = constant(1.0)
        with graph.control_dependencies([a]):
            b = tf.square(a)

    assert [] == b.op.control_inputs


def test_none_forgets_what_was_waited_for() -> None:
    with Graph().as_default() as graph, graph.control_dependencies([no_op()]), graph.control_dependencies(None):
        assert [] == constant(1.0).op.control_inputs
