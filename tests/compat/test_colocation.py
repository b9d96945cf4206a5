from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbtf as tf
from nbtf._devices.names import parse
from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf.compat._v1._graph.defaults import constant
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.colocation import Colocation, ConflictError, Types, is_generator, merge_requests, order_of
from nbtf.compat._v1._variables.variable_classes import RefVariable


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def colocation(graph: Graph, soft: bool = False, types: Types = ("GPU", "CPU")) -> Colocation:
    return Colocation(graph.get_operations(), lambda node: types, soft)


def beside(other: GraphTensor, name: str, device: str = "") -> GraphTensor:
    """A constant beside another, that asks for a device of its own."""
    with other.graph.colocate_with(other):
        one = constant(1.0, name=name)
    one.op.ask_for_device(device)
    return one


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [
        ("", "", ""),
        ("", "/gpu:1", "/device:GPU:1"),
        ("/gpu:1", "", "/device:GPU:1"),
        ("/device:GPU:*", "/gpu:1", "/device:GPU:1"),
        ("/job:localhost", "/task:0/cpu:0", "/job:localhost/task:0/device:CPU:0"),
    ],
)
def test_requests_that_agree_are_joined(mine: str, theirs: str, both: str) -> None:
    assert both == merge_requests(parse(mine), parse(theirs), soft=False).to_string()


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        ("/cpu:2", "/cpu:1", "incompatible ids: '/device:CPU:2' and '/device:CPU:1'"),
        ("/gpu:2", "/cpu:1", "incompatible types: '/device:GPU:2' and '/device:CPU:1'"),
        ("/job:ps", "/job:localhost", "incompatible jobs: '/job:ps' and '/job:localhost'"),
        ("/replica:1", "/replica:0", "incompatible replicas: '/replica:1' and '/replica:0'"),
        ("/task:1", "/task:0", "incompatible tasks: '/task:1' and '/task:0'"),
    ],
)
def test_requests_that_contradict_are_refused(mine: str, theirs: str, told: str) -> None:
    with pytest.raises(ConflictError) as caught:
        merge_requests(parse(mine), parse(theirs), soft=False)

    assert f"Cannot merge devices with {told}" == str(caught.value)


@pytest.mark.parametrize(
    ("mine", "theirs", "left"),
    [
        ("/cpu:2", "/cpu:1", "/device:CPU:*"),
        ("/gpu:2", "/cpu:1", ""),
        ("/job:localhost/gpu:2", "/cpu:2", "/job:localhost"),
    ],
)
def test_with_soft_placement_types_and_numbers_cancel_out(mine: str, theirs: str, left: str) -> None:
    assert left == merge_requests(parse(mine), parse(theirs), soft=True).to_string()


def test_soft_placement_does_not_reconcile_jobs() -> None:
    with pytest.raises(ConflictError):
        merge_requests(parse("/job:ps"), parse("/job:worker"), soft=True)


def test_a_node_alone_is_a_group(graph: Graph) -> None:
    a, b = constant(1.0), constant(2.0)
    found = colocation(graph)

    assert found.group(a.op) is not found.group(b.op)
    assert [a.op] == found.group(a.op).members


def test_nodes_beside_each_other_are_a_group_that_asks_for_one_device(graph: Graph) -> None:
    a = constant(1.0, name="a")
    b, c = beside(a, "b"), beside(a, "c", "/cpu:1")
    found = colocation(graph).group(a.op)

    assert ({a.op, b.op, c.op}, "/device:CPU:1") == (set(found.members), found.requested.to_string())


def test_a_node_may_be_named_before_it_is_there(graph: Graph) -> None:
    with graph.grouped_with("later"):
        a = constant(1.0)
    b = constant(2.0, name="later")
    found = colocation(graph)

    assert found.group(a.op) is found.group(b.op)


def test_a_group_runs_on_what_all_its_nodes_run_on(graph: Graph) -> None:
    a = constant(1.0, name="a")
    b = beside(a, "b")
    types = {a.op: ("GPU", "CPU"), b.op: ("CPU",)}

    assert ("CPU",) == Colocation(graph.get_operations(), types.__getitem__, False).group(a.op).types


def test_nodes_that_no_device_can_run_together_are_refused(graph: Graph) -> None:
    a = constant(1.0, name="a")
    b = beside(a, "b")
    types: dict[Operation, Types] = {a.op: ("GPU",), b.op: ("CPU",)}

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        Colocation(graph.get_operations(), types.__getitem__, False)

    assert caught.value.message.startswith(
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}} because no device type supports both of "
        "those nodes and the other nodes colocated with them.\nColocation Debug Info:\n"
    )


def test_the_group_that_grew_first_stands_first_in_an_error(graph: Graph) -> None:
    a = constant(1.0, name="a")
    beside(a, "b", "/cpu:2")
    c = beside(a, "c", "/cpu:3")

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        colocation(graph)

    assert (
        "Cannot colocate nodes {{colocation_node c}} and {{colocation_node a}}: Cannot merge devices with incompatible "
        "ids: '/device:CPU:2' and '/device:CPU:3'\n\t [[{{node c}}]]",
        c.op,
    ) == (caught.value.message, caught.value.op)


def test_a_device_that_is_no_device_is_refused(graph: Graph) -> None:
    with graph.device(lambda node: "/foo:3:4"):
        constant(1.0, name="a")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Malformed device specification '/foo:3:4' in node: a"):
        colocation(graph)


def test_what_assigns_stands_beside_its_variable(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        v = RefVariable(1.0, name="v")
    with graph.device("/cpu:2"):
        assigned = v.assign(2.0)
    node = assigned.op
    node.ask_for_device("/cpu:2")  # as a graph from elsewhere may say
    node.colocated_with = ()
    found = colocation(graph)

    assert found.group(v.op) is found.group(node)
    assert "/device:CPU:1" == found.group(node).requested.to_string()


def test_with_soft_placement_the_device_of_a_variable_wins(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        v = RefVariable(1.0, name="v")
    with graph.colocate_with(v.op):
        a = constant(1.0, name="a")
    a.op.ask_for_device("/cpu:2")

    assert "/device:CPU:1" == colocation(graph, soft=True).group(a.op).requested.to_string()


def test_with_soft_placement_nodes_that_cannot_stand_together_stand_apart(graph: Graph) -> None:
    with graph.device("/job:ps"):
        a = constant(1.0, name="a")
    b = beside(a, "b", "/job:localhost")
    found = colocation(graph, soft=True)

    assert found.group(a.op) is not found.group(b.op)


def test_an_error_shows_what_was_joined_so_far(graph: Graph) -> None:
    with pytest.raises(ConflictError, match="'/job:localhost/device:CPU:9' and '/job:localhost/device:CPU:2'"):
        merge_requests(parse("/cpu:9"), parse("/job:localhost/cpu:2"), soft=False)


def test_constants_come_last(graph: Graph) -> None:
    a = constant(1.0)
    b = tf.square(a)
    v = RefVariable(a, name="v")
    nodes = order_of(graph.get_operations())

    assert ([b.op, v.op], a.op) == (nodes[:2], nodes[-1])
    assert (False, True) == (is_generator(v.op), is_generator(a.op))
