from __future__ import annotations

import contextvars
import gc
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from nbtf.compat._v1._config.config_proto import ConfigProto, GraphOptions
from nbtf.compat._v1._graph.defaults import constant, get_default_graph, placeholder
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.session import Session
from nbtf.compat._v1._variables.variable_classes import RefVariable
from nbtf.runtime import Copied, Event, OpExecuted, OpPlaced
from tests.machines import machine

MIB = 1 << 20


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@pytest.fixture
def two_gpus() -> Iterator[None]:
    with machine(2, memory="64 MiB"):
        yield


def heard_of(session: Session, fetch: Any, feed: Any = None) -> Sequence[Event]:
    """What a recorder hears of one run."""
    with tf.runtime.recording() as heard:
        session.run(fetch, feed)
    return heard.events


def copies(events: Sequence[Event]) -> list[tuple[str, str | None, str, str]]:
    found = [one for one in events if isinstance(one, Copied)]
    return [(one.kind, one.node, short(one.source), short(one.target)) for one in found]


def short(device: str) -> str:
    return device.rpartition("device:")[2]


def in_use(device: str = "GPU:0") -> int:
    gc.collect()
    return next(one.in_use or 0 for one in tf.runtime.devices() if one.name == device)


# Events


def test_ops_are_told_with_the_names_of_their_nodes(graph: Graph) -> None:
    a = constant([1.0], name="a")
    b = tf.square(a, name="b")
    told = [
        (type(one).__name__, one.op, one.node)
        for one in heard_of(Session(), b)
        if isinstance(one, OpPlaced | OpExecuted)
    ]

    assert [
        ("OpPlaced", "Const", "a"),
        ("OpExecuted", "Const", "a"),
        ("OpPlaced", "Square", "b"),
        ("OpExecuted", "Square", "b"),
    ] == told


def test_eager_ops_have_no_node(graph: Graph) -> None:
    with graph.as_default(), tf.runtime.recording() as heard:
        Session().run(constant(1.0))
    with contextvars.Context().run(tf.runtime.recording) as later:
        contextvars.Context().run(tf.square, 1.0)

    assert ({"Const"}, {None}) == ({one.node for one in heard.events}, {one.node for one in later.events})


def test_events_name_the_line_that_runs_the_session(graph: Graph) -> None:
    b = tf.square(constant([1.0]))
    events = heard_of(Session(), b)

    assert {__file__} == {one.site[0] for one in events if one.site is not None}


@pytest.mark.usefixtures("two_gpus")
def test_an_edge_between_devices_is_a_copy_for_the_node_that_wants_it(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        a = tf.square(placeholder("float32", name="x"), name="a")
    with graph.device("/gpu:1"):
        b = tf.negative(a, name="b")
    told = copies(heard_of(Session(), b, {"x:0": [1.0]}))

    assert [("upload", "x", "CPU:0", "GPU:0"), ("move", "b", "GPU:0", "GPU:1"), ("read", "b", "GPU:1", "CPU:0")] == told


@pytest.mark.usefixtures("two_gpus")
def test_what_several_nodes_of_a_device_want_is_copied_once(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        a = tf.square(constant([1.0]), name="a")
    with graph.device("/gpu:1"):
        b = tf.negative(a, name="b")
        c = a * b
    told = copies(heard_of(Session(), c.op))

    assert [("move", "b", "GPU:0", "GPU:1")] == [one for one in told if one[0] == "move"]


@pytest.mark.usefixtures("two_gpus")
def test_a_copy_goes_with_the_last_node_that_wants_it(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        a = tf.square(constant(np.ones(MIB, np.float32)))
    with graph.device("/gpu:1"):
        b, c = tf.negative(a), tf.exp(a)
        total = tf.reduce_sum(b + c)
    session = Session()
    session.run(total.op)
    before = in_use("GPU:1")
    session.run(total.op)

    assert before == in_use("GPU:1") < MIB


@pytest.mark.usefixtures("two_gpus")
def test_a_constant_goes_to_its_device_once_in_a_session(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        b = tf.square(constant(np.ones(MIB, np.float32), name="a"), name="b")
    session = Session()
    first, second = [copies(heard_of(session, b.op)) for _ in range(2)]

    assert ([("upload", "a", "CPU:0", "GPU:0")], []) == (first, second)


@pytest.mark.usefixtures("two_gpus")
def test_constants_on_devices_are_charged_until_the_session_is_closed(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        b = tf.square(constant(np.ones(MIB, np.float32)))
    session = Session()
    before = in_use()
    session.run(b.op)
    during = in_use() - before
    session.close()

    assert (4 * MIB, 0) == (during, in_use() - before)


@pytest.mark.usefixtures("two_gpus")
def test_whole_numbers_on_a_gpu_stay_in_host_memory(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        total = constant(1, name="a") + constant(2, name="b")
    events = heard_of(Session(), total)

    assert [] == copies(events)
    assert {"GPU:0"} == {short(one.device) for one in events if isinstance(one, OpPlaced)}


@pytest.mark.usefixtures("two_gpus")
def test_a_run_leaves_what_it_made_to_nobody(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        x = placeholder("float32", [None])
        y = tf.exp(tf.square(x))
    session = Session()
    before = in_use()
    session.run(y, {x: np.ones(MIB, np.float32)})

    assert before == in_use()


def test_the_eager_log_does_not_tell_of_nodes(graph: Graph) -> None:
    told: list[str] = []
    CURRENT.context.set_log(lambda op, device: told.append(op))
    Session(config=ConfigProto()).run(tf.square(constant(1.0)))

    assert [] == told


# Errors


def test_an_error_names_its_node_below_the_first_line(graph: Graph) -> None:
    y = tf.matmul(placeholder("float32", name="p"), placeholder("float32", name="q"), name="product")

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        Session().run(y, {"p:0": np.ones((2, 3)), "q:0": np.ones((2, 3))})

    first, second = caught.value.message.splitlines()[:2]
    assert ("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]", "\t [[{{node product}}]]") == (first, second)
    assert (y.op, 3) == (caught.value.op, caught.value.error_code)


def test_a_failing_run_leaves_graph_session_and_scopes_as_they_were(graph: Graph) -> None:
    x = placeholder("float32", name="x")
    session = Session()
    before = SCOPE(), get_default_graph()

    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.square(x))

    assert before == (SCOPE(), get_default_graph())
    assert 4.0 == session.run(tf.square(x), {x: 2.0})


def test_an_interrupt_leaves_scopes_as_they_were(graph: Graph) -> None:
    b = tf.square(constant([1.0]), name="b")
    session = Session()
    before = SCOPE()

    def interrupt(event: Event) -> None:
        if event.node == "b":
            raise KeyboardInterrupt

    undo = tf.runtime.observe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.run(b)
    undo()

    assert before is SCOPE()
    assert [1.0] == session.run(b).tolist()


@pytest.mark.usefixtures("two_gpus")
def test_running_out_of_memory_keeps_weights_and_nothing_else(graph: Graph) -> None:
    with graph.device("/gpu:0"):
        v = RefVariable(np.ones(MIB, np.float32), name="v")
        x = placeholder("float32", [None])
        y = tf.reduce_sum(tf.tile(tf.square(x), [40]) * 2.0)
    session = Session()
    session.run(v.initializer)
    before = in_use()

    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"\[\[\{\{node Tile\}\}\]\]") as caught:
        session.run(y, {x: np.ones(MIB, np.float32)})

    assert caught.value.__traceback__ is not None  # somebody looks at it: nothing is held by that
    assert before == in_use()
    assert 1.0 == session.run(v)[0]


# Placing


def test_a_graph_that_grows_is_placed_again(graph: Graph) -> None:
    session = Session()
    a = constant(1.0, name="a")
    assert 1.0 == session.run(a)
    with graph.device("/cpu:7"):
        constant(2.0, name="b")

    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="operation b"):
            session.run(a)


def test_what_is_not_needed_is_not_placed_when_so_asked(graph: Graph) -> None:
    with graph.device("/cpu:7"):
        constant(2.0)
    config = ConfigProto(graph_options=GraphOptions(place_pruned_graph=True))

    assert 1.0 == Session(config=config).run(constant(1.0))


def test_the_log_tells_of_nodes_placed_before_an_error(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    a = tf.square(placeholder("float32", name="x"), name="a")
    with graph.device("/gpu:2"):
        b = tf.square(a, name="b")

    with pytest.raises(tf.errors.InvalidArgumentError):
        Session(config=ConfigProto(log_device_placement=True)).run(b)

    assert "a: (Square): /job:localhost/replica:0/task:0/device:CPU:0\n" == capsys.readouterr().out


def test_a_session_goes_on_after_a_restart_without_its_variables(graph: Graph) -> None:
    v = RefVariable(1.0, name="v")
    session = Session()
    session.run(v.initializer)
    tf.runtime.restart()

    with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"):
        session.run(v)
    assert 1.0 == session.run(constant(1.0))


# Ways to run


def test_a_callable_takes_values_in_order(graph: Graph) -> None:
    x, y = placeholder("float32"), placeholder("float32")
    call = Session().make_callable(x - y, [x, y])

    assert 2.0 == call(5.0, 3.0)


def test_a_callable_wants_all_its_values(graph: Graph) -> None:
    x = placeholder("float32")

    with pytest.raises(ValueError, match="`feed_list` has 1 tensors, but 0 values were given"):
        Session().make_callable(x, [x])()


def test_a_sparse_tensor_is_fetched_and_fed_as_its_parts(graph: Graph) -> None:
    sparse = tf.sparse.SparseTensor([[0, 1]], [7.0], [2, 2])
    session = Session()
    fetched = session.run(sparse)

    assert ([[0, 1]], [7.0], [2, 2]) == tuple(part.tolist() for part in fetched)
    assert [3.0] == session.run(sparse.values, {sparse: ([[1, 1]], [3.0], [2, 2])}).tolist()


def test_threads_may_share_a_session(graph: Graph) -> None:
    x = placeholder("float32")
    y = tf.square(x)
    session = Session(graph=graph)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(session.run(y, {x: 3.0}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [9.0] * 8 == found
