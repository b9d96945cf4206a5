from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf1
from tests.compat.variables import initialized, nodes


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def v(graph: tf1.Graph) -> tf1.Variable:
    return tf1.Variable([1.0, 2.0], name="v")


# Its nodes


def test_a_reference_makes_a_value_a_variable_an_assignment_and_a_reading(graph: tf1.Graph, v: tf1.Variable) -> None:
    expected = [("v/initial_value", "Const"), ("v", "VariableV2"), ("v/Assign", "Assign"), ("v/read", "Identity")]

    assert expected == nodes(graph)


def test_a_function_is_called_in_a_scope_of_the_variable(graph: tf1.Graph) -> None:
    tf1.Variable(lambda: tf1.constant(1.0, name="one"), name="v")

    assert ["v/Initializer/one", "v", "v/Assign", "v/read"] == [name for name, _ in nodes(graph)]


def test_a_function_s_nodes_stand_beside_the_variable(graph: tf1.Graph) -> None:
    with tf1.device("/cpu:1"):
        v = tf1.Variable(lambda: tf1.constant(1.0), name="v")

    initial = v.initial_value.op
    assert ("", [b"loc:@v"]) == (initial.device, initial.colocation_groups())


def test_a_tensor_is_taken_as_it_is(graph: tf1.Graph) -> None:
    value = tf1.constant(1.0)

    assert tf1.Variable(value).initial_value is value


def test_a_value_of_tensors_and_numbers_is_packed(graph: tf1.Graph) -> None:
    v = tf1.Variable([tf1.constant(1.0), 2.0])

    assert [1.0, 2.0] == initialized(v).run(v).tolist()


def test_a_taken_name_gets_a_number(v: tf1.Variable) -> None:
    assert "v_1:0" == tf1.Variable(1.0, name="v").name


def test_without_a_name_it_is_called_variable(graph: tf1.Graph) -> None:
    assert "Variable:0" == tf1.Variable(1.0).name


def test_its_name_stands_in_the_open_scope(graph: tf1.Graph) -> None:
    with tf1.name_scope("tower"):
        assert "tower/v:0" == tf1.Variable(1.0, name="v").name


def test_nodes_of_a_variable_wait_for_nothing(graph: tf1.Graph) -> None:
    with tf1.control_dependencies([tf1.no_op()]):
        v = tf1.Variable(1.0)

    assert [] == [*v.op.control_inputs, *v.initializer.control_inputs, *v.value().op.control_inputs]


def test_all_of_its_nodes_ask_for_its_device(graph: tf1.Graph) -> None:
    with tf1.device("/cpu:1"):
        v = tf1.Variable(1.0)

    assert ["/device:CPU:1"] * 4 == [v.device, v.op.device, v.initializer.device, v.value().device]


def test_what_changes_it_asks_for_its_device_whatever_the_block_says(graph: tf1.Graph) -> None:
    with tf1.device("/cpu:1"):
        v = tf1.Variable(1.0, name="v")
    with tf1.device("/cpu:2"):
        update = tf1.assign_add(v, 1.0).op

    assert ("/device:CPU:1", [b"loc:@v"]) == (update.device, update.colocation_groups())


def test_what_changes_it_takes_a_reference(v: tf1.Variable) -> None:
    first = tf1.assign(v, [1.0, 1.0])

    assert [v.op.outputs[0]] == list(first.op.reference_inputs)
    assert [first] == list(tf1.assign_add(first, [1.0, 1.0]).op.reference_inputs)
    assert () == (v + 1.0).op.reference_inputs


# What it is


def test_its_text_names_the_type_of_references(v: tf1.Variable) -> None:
    assert "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>" == str(v) == repr(v)


def test_its_dtype_is_that_of_references(v: tf1.Variable) -> None:
    assert "<dtype: 'float32_ref'>" == str(v.dtype)
    assert tf1.float32 is v.dtype.base_dtype
    assert [False, False] == [v.dtype == tf1.float32, tf1.float32 == v.dtype]
    assert tf1.as_dtype(v.dtype) is tf1.float32


def test_its_value_has_the_plain_dtype(v: tf1.Variable) -> None:
    assert [tf1.float32] * 2 == [v.value().dtype, v.read_value().dtype]


def test_it_stands_where_a_dtype_is_wanted(v: tf1.Variable) -> None:
    assert tf1.float32 is tf1.zeros([2], v.dtype).dtype


def test_what_assigns_to_it_gives_a_reference(v: tf1.Variable) -> None:
    assert 'Tensor("Assign:0", shape=(2,), dtype=float32_ref)' == str(v.assign([3.0, 4.0]))


@pytest.mark.parametrize(
    "make",
    [lambda: tf1.Variable(None), lambda: tf1.Variable(), lambda: tf1.Variable(tf1.placeholder(tf1.float32))],
)
def test_a_variable_needs_a_value_of_known_shape(graph: tf1.Graph, make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"initial_value must (be specified\.|have a shape specified: Tensor)"):
        make()


def test_a_shape_that_is_not_known_is_allowed_without_validation(graph: tf1.Graph) -> None:
    v = tf1.Variable(tf1.placeholder(tf1.float32), validate_shape=False, name="v")

    assert "<tf.Variable 'v:0' shape=<unknown> dtype=float32_ref>" == str(v)


def test_a_tensor_of_another_dtype_is_refused(graph: tf1.Graph) -> None:
    with pytest.raises(ValueError, match="initial_value: Tensor conversion requested dtype float32"):
        tf1.Variable(tf1.constant(1), dtype=tf1.float32)


def test_a_constraint_must_be_a_function(graph: tf1.Graph) -> None:
    with pytest.raises(ValueError, match=r"^The `constraint` argument must be a callable\.$"):
        tf1.Variable(1.0, constraint=3)


def test_collections_must_be_a_list(graph: tf1.Graph) -> None:
    text = "^collections argument to Variable constructor must be a list, tuple, or set. Got 3 of type <class 'int'>$"
    with pytest.raises(ValueError, match=text):
        tf1.Variable(1.0, collections=3)


def test_variables_are_compared_by_identity(v: tf1.Variable) -> None:
    assert v in [tf1.Variable(1.0), v]
    assert 2 == len({v, tf1.Variable(1.0)})


def test_both_kinds_are_variables(graph: tf1.Graph) -> None:
    assert all(isinstance(tf1.Variable(1.0, use_resource=kind), tf1.Variable) for kind in (False, True))


def test_a_creator_scope_makes_variables(graph: tf1.Graph) -> None:
    def untrainable(next_creator: Any, **arguments: Any) -> Any:
        return next_creator(**{**arguments, "trainable": False})

    with tf1.variable_creator_scope(untrainable):
        v = tf1.Variable(1.0, name="w")

    assert ("w:0", False) == (v.name, v.trainable)


# Collections


def test_variables_are_collected(graph: tf1.Graph) -> None:
    v, w = tf1.Variable(1.0), tf1.Variable(1.0, trainable=False)

    assert [v, w] == tf1.global_variables() == tf1.all_variables()
    assert [v] == tf1.trainable_variables()


def test_a_variable_goes_into_other_collections_once(graph: tf1.Graph) -> None:
    v = tf1.Variable(1.0, collections=["mine", "mine"])

    assert [[v], [], [v]] == [tf1.get_collection("mine"), tf1.global_variables(), tf1.trainable_variables()]


def test_a_scope_chooses_from_a_collection(graph: tf1.Graph) -> None:
    tf1.Variable(1.0, name="a")
    b = tf1.Variable(1.0, name="b")

    assert [b] == tf1.global_variables("b") == tf1.get_collection(tf1.GraphKeys.GLOBAL_VARIABLES, "b")


def test_collections_of_the_default_graph_can_be_filled_by_name(graph: tf1.Graph) -> None:
    tf1.add_to_collection("q", 1)
    tf1.add_to_collections(["q", "z"], 2)

    assert [[1, 2], [2]] == [tf1.get_collection("q"), tf1.get_collection_ref("z")]


def test_a_node_initializes_all(graph: tf1.Graph) -> None:
    v, w = tf1.Variable(1.0), tf1.Variable(2.0)
    init: Any = tf1.global_variables_initializer()

    assert ("init", "NoOp", [v.initializer, w.initializer]) == (init.name, init.type, init.control_inputs)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (tf1.global_variables_initializer, "init"),
        (tf1.initialize_all_variables, "init"),
        (tf1.local_variables_initializer, "init"),
        (tf1.tables_initializer, "init_all_tables"),
        (lambda: tf1.variables_initializer([], "q"), "q"),
    ],
)
def test_without_variables_an_initializer_does_nothing(graph: tf1.Graph, make: Callable[[], Any], name: str) -> None:
    assert (name, "NoOp", []) == (make().name, make().type, make().control_inputs)


# Its use in the graph


def test_operators_take_its_value(v: tf1.Variable) -> None:
    session = initialized(v)

    assert [4.0, 5.0] == session.run(3.0 + v).tolist()
    assert [0.5, 1.0] == session.run(v / 2.0).tolist()
    assert [-1.0, -2.0] == session.run(-v).tolist()
    assert 2.0 == session.run(v[1])
    assert [True, False] == session.run(v < 1.5).tolist()


def test_an_array_leaves_the_operator_to_it(v: tf1.Variable) -> None:
    assert [2.0, 4.0] == initialized(v).run(np.array([1.0, 2.0], np.float32) + v).tolist()


def test_ops_take_it_for_a_tensor(v: tf1.Variable) -> None:
    session = initialized(v)

    assert 3.0 == session.run(tf1.reduce_sum(v))
    assert [[1.0, 2.0], [0.0, 0.0]] == session.run(tf1.stack([v, [0.0, 0.0]])).tolist()
    assert [2.0, 3.0] == session.run(tf1.add(1.0, v)).tolist()


def test_blocks_take_it_for_a_node(graph: tf1.Graph, v: tf1.Variable) -> None:
    with tf1.colocate_with(v), tf1.control_dependencies([v]):
        node = tf1.no_op()

    assert ([b"loc:@v"], [v.op]) == (node.colocation_groups(), node.control_inputs)


def test_it_can_be_fetched_by_itself_and_by_name(v: tf1.Variable) -> None:
    session = initialized(v)

    assert [[1.0, 2.0]] * 3 == [session.run(fetch).tolist() for fetch in (v, "v:0", "v/read:0")]


def test_its_elements_cannot_be_walked(v: tf1.Variable) -> None:
    with pytest.raises(tf1.errors.OperatorNotAllowedInGraphError, match="Iterating over a symbolic"):
        list(v)


# What is wrong with a new value


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda v: tf1.assign(v, [1.0, 2.0, 3.0]),
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]. for '{{node Assign}} = "
            "Assign[T=DT_FLOAT, use_locking=true, validate_shape=true](v, Assign/value)' with input shapes: [2], [3].",
        ),
        (
            lambda v: v.assign([[1.0, 2.0]]),
            "Shapes must be equal rank, but are 1 and 2 for '{{node Assign}} = "
            "Assign[T=DT_FLOAT, use_locking=false, validate_shape=true](v, Assign/value)' "
            "with input shapes: [2], [1,2].",
        ),
        (
            lambda v: tf1.assign_add(v, 1.0),
            "Shapes must be equal rank, but are 1 and 0 for '{{node AssignAdd}} = "
            "AssignAdd[T=DT_FLOAT, use_locking=false](v, AssignAdd/value)' with input shapes: [2], [].",
        ),
    ],
)
def test_a_value_of_another_shape_is_refused(v: tf1.Variable, change: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ValueError, match="Shapes") as caught:
        change(v)

    assert text == str(caught.value)


@pytest.mark.parametrize("change", [tf1.assign, tf1.assign_add, tf1.assign_sub])
def test_a_value_of_another_dtype_is_refused(v: tf1.Variable, change: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="has type int32 that does not match type float32 of argument 'ref'"):
        change(v, tf1.constant([1, 2]))


def test_only_variables_can_be_assigned_to(graph: tf1.Graph) -> None:
    with pytest.raises(AttributeError, match="no attribute 'assign_add'"):
        tf1.assign_add(tf1.constant(1.0), 1.0)


def test_a_value_of_another_graph_is_refused(v: tf1.Variable) -> None:
    with tf1.Graph().as_default():
        other = tf1.constant([1.0, 2.0])

    with pytest.raises(ValueError, match="must be from the same graph as"):
        tf1.assign(v, other)
