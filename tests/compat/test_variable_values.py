from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
import nbtf.compat.v1 as tf1
from tests.compat.variables import initialized
from tests.machines import machine

KINDS = pytest.mark.parametrize("resource", [False, True])


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def v(graph: tf1.Graph) -> tf1.Variable:
    return tf1.Variable([1.0, 2.0], name="v")


def make(resource: bool) -> Any:
    return tf1.Variable([1.0, 2.0], name="v", use_resource=resource)


# Values belong to a session


@KINDS
def test_a_session_begins_without_values(graph: tf1.Graph, resource: bool) -> None:
    v = make(resource)
    initialized(v)

    with pytest.raises(tf.errors.FailedPreconditionError):
        tf1.Session().run(v)


@KINDS
def test_two_sessions_have_values_of_their_own(graph: tf1.Graph, resource: bool) -> None:
    v = make(resource)
    first, second = initialized(v), initialized(v)
    first.run(v.assign([5.0, 6.0]))

    assert [[5.0, 6.0], [1.0, 2.0]] == [session.run(v).tolist() for session in (first, second)]


def test_running_the_initializer_returns_nothing(v: tf1.Variable) -> None:
    assert tf1.Session().run(tf1.global_variables_initializer()) is None


def test_an_initializer_can_run_again(v: tf1.Variable) -> None:
    session = initialized(v)
    session.run(v.assign([5.0, 6.0]))
    session.run(v.initializer)

    assert [1.0, 2.0] == session.run(v).tolist()


@KINDS
def test_a_value_is_there_for_the_methods_of_the_variable(graph: tf1.Graph, resource: bool) -> None:
    v = make(resource)
    with tf1.Session():
        v.initializer.run()
        v.load([7.0, 8.0])

        assert [7.0, 8.0] == v.eval().tolist()


def test_loading_needs_a_session(v: tf1.Variable) -> None:
    text = "^Either session argument should be provided or default session should be established$"
    with pytest.raises(ValueError, match=text):
        v.load([1.0, 1.0])


@KINDS
def test_an_initialized_value_is_there_before(graph: tf1.Graph, resource: bool) -> None:
    v = make(resource)
    value, session = v.initialized_value(), tf1.Session()
    before = session.run(value).tolist()
    session.run([v.initializer])
    session.run(v.assign([5.0, 6.0]))

    assert [[1.0, 2.0], [5.0, 6.0]] == [before, session.run(value).tolist()]


@KINDS
def test_variables_without_a_value_are_reported(graph: tf1.Graph, resource: bool) -> None:
    v, w = make(resource), tf1.Variable(1.0, name="w", use_resource=resource)
    report, session = tf1.report_uninitialized_variables(), initialized(w)

    assert [b"v"] == session.run(report).tolist()
    assert [False, True] == session.run([tf1.is_variable_initialized(one) for one in (v, w)])


def test_without_variables_the_report_is_empty(graph: tf1.Graph) -> None:
    assert [] == tf1.Session().run(tf1.report_uninitialized_variables()).tolist()


def test_a_variable_made_of_another_is_initialized_with_it(v: tf1.Variable) -> None:
    w = tf1.Variable(v * 2.0)
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())

    assert [2.0, 4.0] == session.run(w).tolist()


# What lacks


@pytest.mark.parametrize(
    ("fetch", "node"),
    [
        (lambda v: v + 1.0, "v/read"),
        (lambda v: v.read_value(), "read"),
        (lambda v: tf1.assign_add(v, [1.0, 1.0]), "AssignAdd"),
        (lambda v: tf1.scatter_add(v, [0], [1.0]), "ScatterAdd"),
    ],
)
def test_a_reference_without_a_value_says_so(v: tf1.Variable, fetch: Callable[[Any], Any], node: str) -> None:
    target = fetch(v)
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        tf1.Session().run(target)

    text = f"Attempting to use uninitialized value v\n\t [[{{{{node {node}}}}}]]"
    assert (text, 9) == (caught.value.message, caught.value.error_code)


def test_a_resource_without_a_value_says_so(graph: tf1.Graph) -> None:
    text = (
        "Could not find variable v. This could mean that the variable has been deleted. In TF1, it can also mean the "
        "variable is uninitialized. Debug info: container=localhost, status error message=Container localhost does not "
        "exist. (Could not find resource: localhost/v)"
    )
    v = make(True)
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        tf1.Session().run(v.value())

    assert caught.value.message.startswith(text)


def test_a_resource_without_a_value_cannot_be_changed(graph: tf1.Graph) -> None:
    update = make(True).assign_add([1.0, 1.0])
    with pytest.raises(tf.errors.NotFoundError, match=r"^Container localhost does not exist\. \(Could not find"):
        tf1.Session().run(update)


def test_the_variable_itself_is_no_value(v: tf1.Variable) -> None:
    assert tf1.Session().run(v.op) is None


# Changing


@KINDS
def test_assigning_gives_the_new_value(graph: tf1.Graph, resource: bool) -> None:
    v = tf1.Variable(1.0, use_resource=resource)
    session = initialized(v)

    assert [5.0, 7.0, 6.0] == [
        session.run(change) for change in (tf1.assign(v, 5.0), tf1.assign_add(v, 2.0), tf1.assign_sub(v, 1.0))
    ]


@KINDS
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (tf1.scatter_update, [9.0, 2.0]),
        (tf1.scatter_add, [10.0, 2.0]),
        (tf1.scatter_sub, [-8.0, 2.0]),
    ],
)
def test_rows_can_be_changed(
    graph: tf1.Graph, resource: bool, change: Callable[..., Any], expected: list[float]
) -> None:
    v = make(resource)

    assert expected == initialized(v).run(change(v, [0], [9.0])).tolist()


@KINDS
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (tf1.scatter_nd_update, [9.0, 2.0]),
        (tf1.scatter_nd_add, [10.0, 2.0]),
        (tf1.scatter_nd_sub, [-8.0, 2.0]),
    ],
)
def test_elements_can_be_changed(
    graph: tf1.Graph, resource: bool, change: Callable[..., Any], expected: list[float]
) -> None:
    v = make(resource)

    assert expected == initialized(v).run(change(v, [[0]], [9.0])).tolist()


def test_a_method_changes_the_rows_of_slices(v: tf1.Variable) -> None:
    rows = tf.IndexedSlices(tf1.constant([9.0]), tf1.constant([1]))

    assert [1.0, 11.0] == initialized(v).run(v.scatter_add(rows)).tolist()


def test_a_node_instead_of_a_value_can_be_asked_for(v: tf1.Variable) -> None:
    change = v.assign([5.0, 6.0], read_value=False)
    session = initialized(v)

    assert session.run(change) is None
    assert [5.0, 6.0] == session.run(v).tolist()


def test_a_reference_takes_another_shape_without_validation(v: tf1.Variable) -> None:
    change, session = tf1.assign(v, [1.0, 2.0, 3.0], validate_shape=False), initialized(v)

    assert [1.0, 2.0, 3.0] == session.run(change).tolist() == session.run(v).tolist()


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        (False, "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"),
        (True, "Trying to assign to variable with tensor with wrong shape. Expected [2] got [3]"),
    ],
)
def test_a_shape_that_only_a_run_tells_is_checked_then(graph: tf1.Graph, resource: bool, text: str) -> None:
    v, value = make(resource), tf1.placeholder(tf1.float32)
    change, session = v.assign(value), initialized(v)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(change, {value: [1.0, 2.0, 3.0]})

    assert caught.value.message.startswith(text)
    assert [1.0, 2.0] == session.run(v).tolist()


def test_a_reference_is_passed_on(graph: tf1.Graph) -> None:
    v = tf1.Variable(1.0)
    last = tf1.assign_add(tf1.assign(v, 5.0), 1.0)

    assert 6.0 == initialized(v).run(last)


def test_a_failed_run_leaves_the_value_as_it_was(v: tf1.Variable) -> None:
    change = v.assign(tf1.check_numerics(v / 0.0, "bad"))
    session = initialized(v)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(change)

    assert [1.0, 2.0] == session.run(v).tolist()


# Order


@pytest.mark.parametrize(
    "read",
    [lambda v: v.read_value(), tf1.identity, lambda v: v + 0.0, lambda v: v.value()],
    ids=["read_value", "identity", "sum", "value"],
)
def test_what_waits_for_a_change_of_a_reference_reads_the_new_value(
    v: tf1.Variable, read: Callable[[Any], Any]
) -> None:
    with tf1.control_dependencies([v.assign([5.0, 6.0])]):
        value = tf1.identity(read(v))

    assert [5.0, 6.0] == initialized(v).run(value).tolist()


@pytest.mark.parametrize(
    "fetch",
    [lambda v: v, lambda v: v.value(), lambda v: v.read_value()],
    ids=["variable", "value", "read_value"],
)
def test_a_reference_that_is_fetched_with_its_change_has_the_new_value(
    v: tf1.Variable, fetch: Callable[[Any], Any]
) -> None:
    target, change = fetch(v), v.assign([5.0, 6.0])

    assert [[5.0, 6.0]] * 2 == [one.tolist() for one in initialized(v).run([target, change])]


def test_what_was_computed_before_a_change_stays(v: tf1.Variable) -> None:
    twice = v * 2.0
    with tf1.control_dependencies([twice]):
        change = v.assign([5.0, 6.0])

    assert [[2.0, 4.0], [5.0, 6.0]] == [one.tolist() for one in initialized(v).run([twice, change])]


def test_what_was_read_of_a_resource_stays(graph: tf1.Graph) -> None:
    v = make(True)
    before = v.value()
    with tf1.control_dependencies([before]):
        change = v.assign([5.0, 6.0])

    assert [[1.0, 2.0], [5.0, 6.0]] == [one.tolist() for one in initialized(v).run([before, change])]


def test_a_change_of_a_resource_is_read_after_it(graph: tf1.Graph) -> None:
    v = make(True)
    changed = v.assign_add([1.0, 1.0])

    assert [4.0, 6.0] == initialized(v).run(changed * 2.0).tolist()


# Memory


def in_use(context: Any) -> int:
    return context.devices.by_name["/job:localhost/replica:0/task:0/device:GPU:0"].memory.stats().in_use


@KINDS
def test_a_value_is_charged_to_its_device_until_the_session_is_closed(resource: bool) -> None:
    with machine(1) as context, tf1.Graph().as_default():
        v = tf1.Variable(lambda: tf1.zeros([1000]), use_resource=resource, dtype=tf1.float32)
        empty = in_use(context)
        session = initialized(v)
        held = in_use(context) - empty
        session.close()

        assert held >= 4096
        assert empty == in_use(context)


def test_a_collected_session_frees_its_values() -> None:
    with machine(1) as context, tf1.Graph().as_default():
        v = tf1.Variable(tf1.zeros([1000]))
        empty = in_use(context)
        session = initialized(v)
        before = in_use(context)
        del session
        gc.collect()

        assert before > empty == in_use(context)


def test_changes_in_place_need_no_more_memory() -> None:
    with machine(1) as context, tf1.Graph().as_default():
        v = tf1.Variable(tf1.zeros([1000]))
        change = v.assign_add(tf1.ones([1000]), read_value=False)
        session = initialized(v)
        session.run(change)
        before = in_use(context)
        session.run(change)

        assert before == in_use(context)


def test_whole_numbers_live_on_the_cpu() -> None:
    with machine(1), tf1.Graph().as_default():
        v = tf1.Variable(1)
        session = initialized(v)

        assert ["CPU"] == [value._device.type for value in session.values.values()]


def test_a_node_says_where_the_variable_is() -> None:
    with machine(1), tf1.Graph().as_default(), tf.runtime.recording() as recorded:
        v = tf1.Variable(1.0)
        initialized(v).run(v)

    assert ("VariableV2", "GPU:0") in list(recorded.ops)


# Feeding


def test_a_value_can_be_fed_for_a_run(v: tf1.Variable) -> None:
    twice, session = v * 2.0, initialized(v)

    assert [[10.0, 12.0]] * 2 == [session.run(twice, {key: [5.0, 6.0]}).tolist() for key in (v, v.value())]
    assert [2.0, 4.0] == session.run(twice).tolist()


def test_what_is_fed_cannot_be_changed(v: tf1.Variable) -> None:
    change, session = v.assign_add([1.0, 1.0]), initialized(v)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Input 0 of node AssignAdd was passed float from"):
        session.run(change, {v: [5.0, 6.0]})


# Parts


@KINDS
def test_a_part_can_be_given_another_value(graph: tf1.Graph, resource: bool) -> None:
    v = tf1.Variable([1.0, 2.0, 3.0], use_resource=resource)
    change, fill, session = v[1:].assign([8.0, 9.0]), v[:2].assign(4.0), initialized(v)

    assert [[1.0, 8.0, 9.0], [4.0, 4.0, 9.0]] == [session.run(one).tolist() for one in (change, fill)]


@KINDS
def test_a_part_that_does_not_fit_is_refused(graph: tf1.Graph, resource: bool) -> None:
    v = make(resource)
    change = v[:1].assign([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Cannot broadcast input shape \[3\] into final shape"):
        initialized(v).run(change)


def test_the_node_that_changes_a_part_is_called_after_it(v: tf1.Variable) -> None:
    change = v[1:].assign([8.0])

    assert 'Tensor("strided_slice/_assign:0", shape=(2,), dtype=float32_ref)' == str(change)
    assert "StridedSliceAssign" == change.op.type


def test_only_parts_of_variables_can_be_assigned_to(v: tf1.Variable) -> None:
    assert not hasattr((v + 1.0)[0], "assign")


def test_a_closed_session_holds_no_values_though_an_error_of_it_is_kept(v: tf1.Variable) -> None:
    session = initialized(v)
    values = session.values
    with pytest.raises(tf.errors.InvalidArgumentError) as kept:
        session.run(tf1.placeholder(tf1.float32) + v)

    session.close()

    assert kept.value is not None
    assert {} == values
