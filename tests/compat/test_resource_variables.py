from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf.compat.v1 as tf1
from tests.compat.variables import initialized, nodes


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def v(graph: tf1.Graph) -> Any:
    return tf1.Variable([1.0, 2.0], name="v", use_resource=True)


def test_a_resource_makes_a_handle_and_a_reading(graph: tf1.Graph, v: Any) -> None:
    assert [
        ("v/Initializer/initial_value", "Const"),
        ("v", "VarHandleOp"),
        ("v/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp"),
        ("v/Assign", "AssignVariableOp"),
        ("v/Read/ReadVariableOp", "ReadVariableOp"),
    ] == nodes(graph)


def test_each_use_is_a_reading(graph: tf1.Graph, v: Any) -> None:
    total = v + v

    assert ["ReadVariableOp:0", "add/ReadVariableOp:0"] == [one.name for one in total.op.inputs]


def test_a_reading_of_its_own_is_passed_on(graph: tf1.Graph, v: Any) -> None:
    value = v.read_value()

    assert ("Identity:0", ["Read/ReadVariableOp:0"]) == (value.name, [one.name for one in value.op.inputs])


def test_its_nodes_ask_for_its_device(graph: tf1.Graph) -> None:
    with tf1.device("/cpu:1"):
        v = tf1.Variable(1.0, name="v", use_resource=True)

    asked = {node.name: node.device for node in graph.get_operations()}
    assert "" == asked.pop("v/Initializer/initial_value")
    assert {"/device:CPU:1"} == {*asked.values()} == {v.device}


def test_what_changes_it_asks_for_the_device_of_the_block(graph: tf1.Graph, v: Any) -> None:
    with tf1.device("/cpu:2"):
        update = v.assign_add([1.0, 1.0]).op

    assert ("/device:CPU:2", [v.handle]) == (update.device, list(update.reference_inputs))


def test_its_text_and_dtype_are_plain(v: Any) -> None:
    assert "<tf.Variable 'v:0' shape=(2,) dtype=float32>" == str(v) == repr(v)
    assert v.dtype is tf1.float32


def test_its_handle_is_a_scalar(v: Any) -> None:
    assert 'Tensor("v:0", shape=(), dtype=resource)' == str(v.handle)


def test_changing_it_gives_the_variable_afterwards(v: Any) -> None:
    changed = v.assign_add([1.0, 1.0])

    assert "<tf.Variable 'AssignAddVariableOp' shape=(2,) dtype=float32>" == repr(changed)
    assert ("AssignAddVariableOp", ()) == (changed.op.type, changed.op.values())
    assert [changed.op] == changed.value().op.control_inputs


def test_what_was_changed_can_be_changed_again(v: Any) -> None:
    changed = v.assign_add([1.0, 1.0])
    with tf1.control_dependencies([changed.op]):
        again = changed.assign_sub([5.0, 5.0])

    assert [-3.0, -2.0] == initialized(v).run(again).tolist()


def test_it_can_be_named_the_default(graph: tf1.Graph) -> None:
    assert not tf1.resource_variables_enabled()
    tf1.enable_resource_variables()
    try:
        assert tf1.resource_variables_enabled()
        assert ["VarHandleOp", "VariableV2"] == [tf1.Variable(1.0, use_resource=kind).op.type for kind in (None, False)]
    finally:
        tf1.disable_resource_variables()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda v: v.assign([1.0, 2.0, 3.0]),
            "Cannot assign value to variable ' v:0': Shape mismatch.The variable shape (2,), "
            "and the assigned value shape (3,) are incompatible.",
        ),
        (
            lambda v: tf1.assign(v, tf1.constant([1, 2])),
            "Tensor conversion requested dtype float32 for Tensor with dtype int32: "
            "<tf.Tensor 'Const:0' shape=(2,) dtype=int32>",
        ),
        (
            lambda v: v.assign_add([1.0, 2.0, 3.0]),
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]. for "
            "'{{node AssignAddVariableOp}} = AssignAddVariableOp[dtype=DT_FLOAT](v, Const)' "
            "with input shapes: [], [3].",
        ),
    ],
)
def test_what_does_not_fit_is_refused(v: Any, change: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"shape|dtype") as caught:
        change(v)

    assert text == str(caught.value)


def test_its_name_cannot_become_a_tensor(v: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^`variable \+= value` with `tf\.Variable`s is not supported"):
        v += 1.0


def test_outside_a_session_there_is_no_value(v: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"^numpy\(\) is only available when eager execution is enabled\.$"):
        v.numpy()
