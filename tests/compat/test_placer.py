from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.events import Reason
from nbtf._runtime.context import CURRENT
from nbtf._runtime.placement import Machine
from nbtf.compat._v1._graph.defaults import constant, no_op, placeholder
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.placer import place_nodes
from nbtf.compat._v1._variables.variable_classes import RefVariable, ResourceVariable
from tests.machines import LOCAL, machine

ASKED = Reason("explicit scope")
FIRST = Reason("lowest-numbered GPU")
NO_GPU = Reason("no GPU")


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def devices(gpus: int, cpus: int = 1, soft: bool = False) -> Machine:
    """A machine that sessions may have."""
    with machine(gpus):
        made = CURRENT.context.devices
        hosts = CURRENT.context.logical_devices.session_cpus(cpus)
        rest = [one for one in made.devices if one.type == "GPU"]
        every = (*rest, *hosts)
        return Machine(every, {one.name: one for one in every}, hosts[0], soft)


def where(graph: Graph, made: Machine) -> dict[str, str]:
    """The short name of the device of each node, by the node's name."""
    placed = place_nodes(graph.get_operations(), made)
    return {node.name: place.device.short_name for node, place in placed.items()}


def why(graph: Graph, made: Machine) -> dict[str, Reason]:
    placed = place_nodes(graph.get_operations(), made)
    return {node.name: place.reason for node, place in placed.items()}


def square_on(graph: Graph, device: str) -> Any:
    with graph.device(device):
        return tf.square(placeholder("float32", name="x"), name="y")


@pytest.mark.parametrize(
    ("asked", "gpus", "soft", "device", "reason"),
    [
        ("", 0, False, "CPU:0", NO_GPU),
        ("", 2, False, "GPU:0", FIRST),
        ("/cpu:0", 2, False, "CPU:0", ASKED),
        ("/gpu:1", 2, False, "GPU:1", ASKED),
        ("/device:GPU:*", 2, False, "GPU:0", ASKED),
        ("/device:CPU:*", 2, False, "CPU:0", ASKED),
        ("/job:localhost", 2, False, "GPU:0", FIRST),
        ("/job:localhost/replica:0/task:0/gpu:1", 2, False, "GPU:1", ASKED),
        ("/gpu:2", 2, True, "GPU:0", Reason("soft placement", "GPU:2")),
        ("/gpu:0", 0, True, "CPU:0", Reason("soft placement", "GPU:0")),
        ("/cpu:7", 2, True, "GPU:0", Reason("soft placement", "CPU:7")),
        ("/cpu:7", 0, True, "CPU:0", Reason("soft placement", "CPU:7")),
        ("/gpu:1", 2, True, "GPU:1", ASKED),
    ],
)
def test_a_node_goes_where_it_asks_to_or_where_it_can(
    graph: Graph, asked: str, gpus: int, soft: bool, device: str, reason: Reason
) -> None:
    square_on(graph, asked)
    made = devices(gpus, soft=soft)

    assert (device, reason) == (where(graph, made)["y"], why(graph, made)["y"])


def test_gpus_stand_in_the_order_of_their_names(graph: Graph) -> None:
    square_on(graph, "")
    eleven = devices(11)
    later = eleven._replace(devices=eleven.devices[2:])  # without the first two

    assert "GPU:10" == where(graph, later)["y"]


def test_an_op_without_a_kernel_for_gpus_goes_to_the_cpu(graph: Graph) -> None:
    tf.strings.join([placeholder("string"), placeholder("string")], name="joined")
    made = devices(1)

    assert ("CPU:0", Reason("no kernel on GPU", "StringJoin")) == (
        where(graph, made)["joined"],
        why(graph, made)["joined"],
    )


def test_soft_placement_says_that_there_is_no_kernel(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        tf.strings.join([placeholder("string"), placeholder("string")], name="joined")

    assert Reason("no kernel on GPU", "StringJoin") == why(graph, devices(1, soft=True))["joined"]


def test_texts_stay_with_the_cpu(graph: Graph) -> None:
    constant("abc", name="text")
    constant(1, name="number")

    assert {"text": "CPU:0", "number": "GPU:0"} == where(graph, devices(1))


def test_a_constant_goes_where_its_only_consumer_is(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.device("/cpu:0"):
        tf.square(a)
    made = devices(1)

    assert ("CPU:0", Reason("session placer", "with its consumer")) == (where(graph, made)["a"], why(graph, made)["a"])


def test_a_constant_with_consumers_in_two_places_goes_where_constants_go(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.device("/cpu:0"):
        tf.square(a)
    with graph.device("/gpu:1"):
        tf.square(a)
    made = devices(2)

    assert ("GPU:0", FIRST) == (where(graph, made)["a"], why(graph, made)["a"])


def test_several_consumers_in_one_place_take_a_constant_along(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.device("/gpu:1"):
        tf.square(a)
        tf.negative(a)
    made = devices(2)

    assert ("GPU:1", Reason("session placer", "with its consumers")) == (where(graph, made)["a"], why(graph, made)["a"])


def test_a_constant_that_asks_for_a_device_stays_there(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        a = constant(1.0, name="a")
    with graph.device("/cpu:0"):
        tf.square(a)

    assert "GPU:0" == where(graph, devices(1))["a"]


def test_who_only_waits_for_a_constant_is_its_consumer_too(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.control_dependencies([a]), graph.device("/gpu:1"):
        no_op()

    assert "GPU:1" == where(graph, devices(2))["a"]


@pytest.mark.parametrize("op", [tf.shape, tf.size, tf.rank])
def test_what_looks_at_shapes_goes_where_its_input_is(graph: Graph, op: Callable[..., Any]) -> None:
    y = square_on(graph, "/gpu:1")
    op(y, name="looks")
    made = devices(2)

    assert ("GPU:1", Reason("session placer", "with its input")) == (
        where(graph, made)["looks"],
        why(graph, made)["looks"],
    )


@pytest.mark.parametrize(
    ("source", "own", "consumer", "device"),
    [
        ("", "", "", "GPU:1"),
        ("/device:GPU:*", "", "/device:GPU:*", "GPU:1"),
        ("/device:GPU:1", "", "", "GPU:0"),
        ("", "", "/device:GPU:1", "GPU:0"),
        ("", "/device:GPU:*", "", "GPU:0"),
    ],
)
def test_a_value_is_passed_on_where_it_is_between_two_that_ask_for_the_same(
    graph: Graph, source: str, own: str, consumer: str, device: str
) -> None:
    y = square_on(graph, "/gpu:1")
    with graph.colocate_with(y):
        x = tf.negative(placeholder("float32"))
    x.op.ask_for_device(source)
    with graph.device(own):
        between = tf.identity(x, name="between")
    with graph.device(consumer):
        tf.square(between)

    assert device == where(graph, devices(2))["between"]


def test_a_value_with_two_consumers_is_not_passed_on(graph: Graph) -> None:
    y = square_on(graph, "/gpu:1")
    with graph.colocate_with(y):
        x = tf.negative(placeholder("float32"))
    x.op.ask_for_device("")
    between = tf.identity(x, name="between")
    tf.add(between, between)

    assert "GPU:0" == where(graph, devices(2))["between"]


def test_a_group_stays_where_its_first_node_was_placed(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.colocate_with(a):
        tf.square(placeholder("float32"), name="b")
    with graph.device("/gpu:1"):
        tf.negative(a)

    assert ("GPU:0", "GPU:0") == tuple(where(graph, devices(2))[name] for name in "ab")


def test_what_looks_at_a_constant_does_not_know_yet_where_that_is(graph: Graph) -> None:
    with graph.device("/gpu:1"):
        a = placeholder("float32", [None], name="a")
    tf.shape(a, name="looks")

    assert "GPU:0" == where(graph, devices(2))["looks"]


@pytest.mark.parametrize("kind", [RefVariable, ResourceVariable])
def test_all_of_a_variable_is_on_one_device(graph: Graph, kind: Any) -> None:
    with graph.device("/gpu:1"):
        v = kind(1.0, name="v")
    with graph.device("/gpu:0"):
        v.assign_add(1.0, name="more")
    found = where(graph, devices(2))
    of_the_variable = {name: place for name, place in found.items() if node_takes_variable(graph, name)}

    assert {"GPU:1"} == set(of_the_variable.values())
    assert "GPU:1" == found["v"]


def node_takes_variable(graph: Graph, name: str) -> bool:
    return bool(graph.get_operation_by_name(name).reference_inputs)


def test_what_reads_a_variable_says_so(graph: Graph) -> None:
    RefVariable(1.0, name="v")

    assert Reason("session placer", "colocated with v") == why(graph, devices(1))["v/read"]


def test_whole_numbers_that_vary_are_on_the_cpu(graph: Graph) -> None:
    RefVariable(1, name="v")

    assert {"CPU:0"} == set(where(graph, devices(1)).values())


def test_a_variable_with_a_value_stays_when_the_graph_grows(graph: Graph) -> None:
    v = RefVariable(1.0, name="v")
    made = devices(2)
    v.op.ask_for_device("/gpu:1")  # after it got its value
    placed = place_nodes(graph.get_operations(), made, fixed={v.op: made.by_name[f"{LOCAL}GPU:0"]})

    assert "GPU:0" == placed[v.op].device.short_name


def test_nodes_beside_each_other_share_a_device_and_say_so(graph: Graph) -> None:
    with graph.device("/gpu:1"):
        a = constant(1.0, name="a")
    with graph.colocate_with(a):
        tf.square(placeholder("float32"), name="b")
    made = devices(2)

    assert ("GPU:1", Reason("session placer", "colocated with a")) == (where(graph, made)["b"], why(graph, made)["b"])


def test_a_group_goes_where_one_of_it_asks_to(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.colocate_with(a):
        b = constant(2.0, name="b")
    b.op.ask_for_device("/gpu:1")
    made = devices(2)

    assert ("GPU:1", Reason("session placer", "colocated with b")) == (where(graph, made)["a"], why(graph, made)["a"])


def test_with_soft_placement_contradicting_neighbours_go_to_the_first_device_of_their_type(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        a = constant(1.0, name="a")
    with graph.colocate_with(a):
        b = constant(2.0, name="b")
    b.op.ask_for_device("/cpu:2")

    assert {"a": "CPU:0", "b": "CPU:0"} == where(graph, devices(0, cpus=3, soft=True))


# What cannot be placed


def refusal(graph: Graph, made: Machine) -> tf.errors.OpError:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        place_nodes(graph.get_operations(), made)
    return caught.value


def test_a_device_that_is_not_there_is_named_with_those_that_are(graph: Graph) -> None:
    square_on(graph, "/gpu:2")

    assert (
        "Cannot assign a device for operation y: {{node y}} was explicitly assigned to /device:GPU:2 but available "
        f"devices are [ {LOCAL}CPU:0, {LOCAL}GPU:0 ]. Make sure the device specification refers to a valid device."
        "\n\t [[y]]"
    ) == refusal(graph, devices(1)).message


@pytest.mark.parametrize("asked", ["/job:ps/cpu:0", "/task:1", "/replica:1"])
def test_soft_placement_does_not_reach_other_processes(graph: Graph, asked: str) -> None:
    square_on(graph, asked)

    assert "{{node y}} was explicitly assigned to" in refusal(graph, devices(1, soft=True)).message


def test_ops_are_named_before_the_constants_that_they_take(graph: Graph) -> None:
    with graph.device("/gpu:2"):
        tf.square(constant(1.0, name="a"), name="b")

    assert "operation b:" in refusal(graph, devices(0)).message


def test_what_was_placed_before_an_error_is_known(graph: Graph) -> None:
    first = square_on(graph, "")
    with graph.device("/gpu:2"):
        tf.square(first)
    placed: dict[Any, Any] = {}

    with pytest.raises(tf.errors.InvalidArgumentError):
        place_nodes(graph.get_operations(), devices(0), placed)

    assert [first.op] == list(placed)


def test_a_device_without_a_kernel_is_told_with_the_kernels_there_are(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        node = tf.strings.join([placeholder("string"), placeholder("string")], name="joined").op
    error = refusal(graph, devices(1))

    assert (
        "Cannot assign a device for operation joined: Could not satisfy explicit device specification '/device:GPU:0' "
        "because no supported kernel for GPU devices is available.\nColocation Debug Info:\nColocation group had the "
        "following types and supported devices: \nRoot Member(assigned_device_name_index_=-1 requested_device_name_="
        "'/device:GPU:0' assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] "
        "possible_devices_=[]\nStringJoin: CPU \n\nColocation members, user-requested devices, and framework assigned "
        "devices, if any:\n  joined (StringJoin) /device:GPU:0\n\nOp: StringJoin\nNode attrs: "
    ) == error.message.partition("separator")[0]
    assert error.message.endswith("\nRegistered kernels:\n  device='CPU'\n\n\t [[{{node joined}}]]")
    assert node is error.op


def test_the_kernels_of_an_op_are_told_with_their_dtypes(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        tf.matmul(placeholder("int32", [1, 1]), placeholder("int32", [1, 1]), name="product")
    of_gpus, of_cpus = sorted(refusal(graph, devices(1)).message.split("Registered kernels:\n")[1].splitlines()[:2])[
        ::-1
    ]

    assert (True, False) == ("DT_INT32" in of_cpus, "DT_INT32" in of_gpus)
    assert (True, True) == ("DT_FLOAT" in of_cpus, "DT_FLOAT" in of_gpus)


def test_a_group_that_asks_for_what_a_node_did_not_is_told(graph: Graph) -> None:
    a = constant(1.0, name="a")
    with graph.colocate_with(a):
        b = constant(2.0, name="b")
    b.op.ask_for_device("/gpu:0")

    assert (
        "Cannot assign a device for operation a: Could not satisfy explicit device specification '' because the node "
        "{{colocation_node a}} was colocated with a group of nodes that required incompatible device '/device:GPU:0'. "
        f"All available devices [{LOCAL}CPU:0]. \nColocation Debug Info:\nColocation group had the following types and "
        "supported devices: \nRoot Member(assigned_device_name_index_=-1 requested_device_name_='/device:GPU:0' "
        "assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] possible_devices_=[]\n"
        "Const: CPU \n\nColocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  a (Const) \n  b (Const) /gpu:0\n\n\t [[{{node a}}]]"
    ) == refusal(graph, devices(0)).message
