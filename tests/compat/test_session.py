from __future__ import annotations

import contextvars
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf
from nbtf._graph.tensor import GraphTensor
from nbtf.compat._v1._config.config_proto import ConfigProto
from nbtf.compat._v1._graph.defaults import constant, control_dependencies, no_op, placeholder
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.defaults import get_default_session
from nbtf.compat._v1._session.session import Session
from tests.machines import machine


class Pair(NamedTuple):
    first: Any
    second: Any


def use_outside(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function where no graph is open."""
    return contextvars.Context().run(function, *args)


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@pytest.fixture
def a(graph: Graph) -> GraphTensor:
    return constant([1.0, 2.0], name="a")


def test_a_run_returns_values(a: GraphTensor) -> None:
    assert [2.0, 4.0] == Session().run(a * 2.0).tolist()


def test_a_scalar_comes_back_as_a_number(graph: Graph) -> None:
    assert np.float32 is type(Session().run(constant(1.0)))


def test_a_text_comes_back_as_bytes(graph: Graph) -> None:
    assert b"abc" == Session().run(constant("abc"))


def test_values_have_the_structure_of_the_fetches(graph: Graph) -> None:
    one, two = constant(1), constant(2)

    assert {"x": [1, (2, 1)], "y": Pair(1, 2)} == Session().run({"x": [one, (two, one)], "y": Pair(one, two)})


def test_an_ordered_dictionary_stays_one(graph: Graph) -> None:
    assert OrderedDict(b=1, a=2) == Session().run(OrderedDict(b=constant(1), a=constant(2)))


def test_names_stand_for_tensors_and_nodes(a: GraphTensor) -> None:
    values, nothing = Session().run(["a:0", "a"])

    assert ([1.0, 2.0], None) == (values.tolist(), nothing)


@pytest.mark.parametrize("nothing", [[], (), {}])
def test_asking_for_nothing_runs_nothing(a: GraphTensor, nothing: Any) -> None:
    assert nothing == Session().run(nothing)


@pytest.mark.parametrize(
    ("fetch", "kind", "text"),
    [
        (None, TypeError, 'Argument `fetch` = None has invalid type "NoneType". Cannot be None'),
        (
            3,
            TypeError,
            'Argument `fetch` = 3 has invalid type "int" must be a string or Tensor. '
            "(Can not convert a int into a Tensor or Operation.)",
        ),
        (
            "z",
            ValueError,
            "Argument `fetch` = z cannot be interpreted as a Tensor. "
            "(\"The name 'z' refers to an Operation not in the graph.\")",
        ),
    ],
)
def test_what_cannot_be_fetched_is_refused(a: GraphTensor, fetch: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        Session().run(fetch)

    assert text == str(caught.value)


def test_an_eager_tensor_has_its_value_already(a: GraphTensor) -> None:
    eager = use_outside(tf.constant, 1.0)

    with pytest.raises(TypeError, match=r"import nbtf\.compat\.v1 as tf"):
        Session().run(eager)


def test_a_placeholder_takes_what_is_fed(graph: Graph) -> None:
    x = placeholder(tf.float32, [None], "x")

    assert [4.0] == Session().run(x * x, {x: [2]}).tolist()


def test_what_is_fed_is_not_made(a: GraphTensor) -> None:
    b = a + 1.0

    assert [10.0, 10.0] == Session().run(b * 2.0, {b: [5.0, 5.0]}).tolist()


def test_what_is_fed_can_be_fetched(a: GraphTensor) -> None:
    assert [3.0, 4.0] == Session().run(a, {"a:0": [3.0, 4.0]}).tolist()


def test_a_placeholder_must_be_fed(graph: Graph) -> None:
    x = placeholder(tf.float32, [None, 2], "x")

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"You must feed a value for placeholder tensor 'x' with dtype float and shape \[\?,2\]",
    ):
        Session().run(x)


def test_a_fed_value_has_the_shape(a: GraphTensor) -> None:
    with pytest.raises(ValueError, match=r"^Cannot feed value of shape \(3,\) for Tensor a:0, which has shape \(2,\)$"):
        Session().run(a, {a: [1.0, 2.0, 3.0]})


def test_a_fed_value_is_no_tensor(a: GraphTensor) -> None:
    with pytest.raises(TypeError, match=r"^The value of a feed cannot be a tf\.Tensor object"):
        Session().run(a, {a: a})


def test_a_fed_number_suits_the_dtype(graph: Graph) -> None:
    x = placeholder(tf.int8, [])

    with pytest.raises(TypeError, match=r"is not compatible with Tensor type tf\.int8"):
        Session().run(x, {x: 300})


def test_what_must_not_be_fed_is_refused(graph: Graph, a: GraphTensor) -> None:
    graph.prevent_feeding(a)

    with pytest.raises(ValueError, match=r"^Tensor a:0 may not be fed\.$"):
        Session().run(a, {a: [1.0, 2.0]})


def test_a_closed_session_does_not_run(a: GraphTensor) -> None:
    session = Session()
    session.close()
    session.close()

    with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session\.$"):
        session.run(a)


def test_an_empty_graph_cannot_be_run(graph: Graph) -> None:
    with pytest.raises(RuntimeError, match=r"^The Session graph is empty\."):
        Session().run([])


def test_a_block_closes_its_session(a: GraphTensor) -> None:
    with Session() as session:
        assert [1.0, 2.0] == a.eval().tolist()

    with pytest.raises(RuntimeError, match="closed"):
        session.run(a)


def test_a_block_cannot_be_entered_twice(a: GraphTensor) -> None:
    with Session() as session, pytest.raises(RuntimeError, match="not re-entrant"), session:
        pass


def test_a_default_session_is_not_closed(a: GraphTensor) -> None:
    session = Session()
    with session.as_default():
        assert session is get_default_session()

    assert [1.0, 2.0] == a.eval(session=session).tolist()


def test_without_a_session_nothing_is_evaluated(a: GraphTensor) -> None:
    with pytest.raises(ValueError, match=r"^Cannot evaluate tensor using `eval\(\)`: No default session"):
        a.eval()
    with pytest.raises(ValueError, match=r"^Cannot execute operation using `run\(\)`: No default session"):
        a.op.run()


def test_nodes_that_come_later_run_too(a: GraphTensor) -> None:
    session = Session()
    session.run(a)

    assert [-1.0, -2.0] == session.run(-a).tolist()


def test_a_long_chain_needs_no_long_stack(graph: Graph) -> None:
    total = constant(0.0)
    for _ in range(3000):
        total = total + 1.0

    assert 3000.0 == Session().run(total)


def test_only_what_is_needed_runs(graph: Graph) -> None:
    placeholder(tf.float32, name="never_fed")

    assert 1.0 == Session().run(constant(1.0))


def test_what_a_node_waits_for_runs(graph: Graph) -> None:
    with control_dependencies([placeholder(tf.float32, name="x")]):
        last = no_op()

    with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'x'"):
        Session().run(last)


def test_a_device_that_is_not_there_fails_every_run(graph: Graph) -> None:
    with graph.device("/gpu:2"):
        constant(1.0, name="b")
    c = constant(2.0, name="c")

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"^Cannot assign a device for operation b: \{\{node b\}\} was explicitly assigned to /device:GPU:2 "
        r"but available devices are \[ /job:localhost/replica:0/task:0/device:CPU:0 \]\.",
    ):
        Session().run(c)


def test_nodes_run_where_they_ask_to(graph: Graph) -> None:
    with graph.device("/gpu:1"):
        b = tf.square(constant([3.0]))

    with machine(2, "Tesla K20m"), tf.runtime.recording() as heard:
        Session().run(b)

    assert ("Square", "GPU:1") in heard.ops


def test_soft_placement_makes_do_without_a_device(graph: Graph) -> None:
    with graph.device("/gpu:2"):
        b = constant(1.0)

    assert 1.0 == Session(config=ConfigProto(allow_soft_placement=True)).run(b)


def test_soft_placement_does_not_reach_another_process(graph: Graph) -> None:
    with graph.device("/job:ps/cpu:0"):
        b = constant(1.0)

    with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned to /job:ps/device:CPU:0"):
        Session(config=ConfigProto(allow_soft_placement=True)).run(b)


def test_settings_are_no_dictionary(graph: Graph) -> None:
    settings: Any = {}

    with pytest.raises(TypeError, match=r'^Argument `config` must be a tf\.ConfigProto, but got "dict"$'):
        Session(config=settings)


@pytest.mark.parametrize("target", ["grpc://localhost:2222", b"local"])
def test_a_session_that_another_process_should_run_is_refused(target: str | bytes) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"A session runs only in this process. Got the target"):
        Session(target)
