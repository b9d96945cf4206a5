from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf1
from tests.compat.variables import initialized


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


def get(name: str = "w", shape: Any = (2,), **arguments: Any) -> Any:
    return tf1.get_variable(name, shape, **arguments)


# Names


def test_a_scope_stands_before_names_of_variables_and_nodes(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net"), tf1.variable_scope("layer") as scope:
        assert ("net/layer/w:0", "net/layer/Const:0") == (get().name, tf1.constant(1.0).name)

    assert ("net/layer", "net/layer/") == (scope.name, scope.original_name_scope)


def test_variables_know_nothing_of_name_scopes(graph: tf1.Graph) -> None:
    with tf1.name_scope("tower"), tf1.variable_scope("net"):
        assert ("net/w:0", "tower/net/Const:0") == (get().name, tf1.constant(1.0).name)


def test_a_variable_that_was_not_asked_for_by_name_stands_in_the_name_scope(graph: tf1.Graph) -> None:
    with tf1.name_scope("tower"), tf1.variable_scope("net"):
        assert "tower/net/v:0" == tf1.Variable(1.0, name="v").name


def test_a_second_scope_numbers_its_nodes_but_not_its_variables(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net"):
        first = get()
    with tf1.variable_scope("net", reuse=True):
        assert get() is first
        assert "net_1/Const:0" == tf1.constant(1.0).name


def test_a_default_name_gets_a_number(graph: tf1.Graph) -> None:
    found: list[str] = []
    for _ in range(2):
        with tf1.variable_scope(None, default_name="d") as scope:
            found += [scope.name, get().name]

    assert ["d", "d/w:0", "d_1", "d_1/w:0"] == found


def test_a_default_name_gets_a_number_where_a_scope_was_named_so(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net"):
        pass
    with tf1.variable_scope(None, "net") as scope:
        assert "net_1" == scope.name


def test_a_name_comes_before_a_default_name(graph: tf1.Graph) -> None:
    with tf1.variable_scope("e", default_name="d") as scope:
        assert "e" == scope.name


def test_a_scope_can_be_entered_again(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net") as scope:
        pass
    with tf1.variable_scope(scope) as again:
        assert ("net", "net/", "net_1/Const:0") == (
            again.name,
            again.original_name_scope,
            tf1.constant(1.0).name,
        )


def test_a_scope_can_be_entered_from_another(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net") as scope:
        pass
    with tf1.variable_scope("other"), tf1.variable_scope(scope):
        assert ("net/w:0", "other/net/Const:0") == (get().name, tf1.constant(1.0).name)


def test_a_scope_without_a_name_scope_adds_nothing_to_nodes(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net", auxiliary_name_scope=False):
        assert ("net/w:0", "Const:0") == (get().name, tf1.constant(1.0).name)


def test_outside_all_scopes_there_is_one_without_a_name(graph: tf1.Graph) -> None:
    scope = tf1.get_variable_scope()

    assert ("", "", False, tf1.float32) == (scope.name, scope.original_name_scope, scope.reuse, scope.dtype)


def test_graphs_have_scopes_of_their_own(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net"):
        get()
        with tf1.Graph().as_default():
            assert ("", "w:0") == (tf1.get_variable_scope().name, get().name)


def test_a_node_of_the_name_makes_a_number(graph: tf1.Graph) -> None:
    tf1.Variable(1.0, name="x")

    assert "x_1:0" == get("x").name


def test_an_error_leaves_the_scope(graph: tf1.Graph) -> None:
    with pytest.raises(ZeroDivisionError), tf1.variable_scope("net"):
        raise ZeroDivisionError

    assert "" == tf1.get_variable_scope().name


# Reuse


def test_a_variable_is_made_once(graph: tf1.Graph) -> None:
    text = (
        r"^Variable net/w already exists, disallowed\. "
        r"Did you mean to set reuse=True or reuse=tf\.AUTO_REUSE in VarScope\? "
        r"Originally defined at: test_variable_scope\.py, line \d+$"
    )
    with tf1.variable_scope("net"):
        get()
    with tf1.variable_scope("net"), pytest.raises(ValueError, match=text):
        get()


def test_a_variable_that_was_not_made_is_not_found(graph: tf1.Graph) -> None:
    text = (
        r"^Variable net/w does not exist, or was not created with tf\.get_variable\(\)\. "
        r"Did you mean to set reuse=tf\.AUTO_REUSE in VarScope\?$"
    )
    tf1.Variable(1.0, name="net/w")
    with tf1.variable_scope("net", reuse=True), pytest.raises(ValueError, match=text):
        get()


def test_with_auto_reuse_a_variable_is_made_and_found(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net", reuse=tf1.AUTO_REUSE):
        assert get() is get()


def test_a_scope_can_change_its_mind(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net") as scope:
        first = get()
        scope.reuse_variables()

        assert get() is first
        assert scope.reuse is True


@pytest.mark.parametrize(
    ("inner", "expected"), [(None, True), (False, True), (True, True), (tf1.AUTO_REUSE, tf1.AUTO_REUSE)]
)
def test_inner_scopes_inherit_reuse(graph: tf1.Graph, inner: Any, expected: Any) -> None:
    with tf1.variable_scope("net", reuse=True), tf1.variable_scope("in", reuse=inner) as scope:
        assert expected is scope.reuse


def test_reuse_ends_with_its_scope(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net", reuse=True):
        pass

    assert tf1.get_variable_scope().reuse is False


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": [3, 2]}, "specified shape (3, 2) and found shape (2, 3)."),
        ({"shape": [2, 3], "dtype": tf1.int32}, "specified dtype int32 and found dtype float32_ref."),
    ],
)
def test_a_variable_that_is_found_must_fit(graph: tf1.Graph, arguments: dict[str, Any], text: str) -> None:
    with tf1.variable_scope("net", reuse=tf1.AUTO_REUSE):
        get(shape=[2, 3])
        with pytest.raises(ValueError, match=r"^Trying to share variable net/w, but ") as caught:
            get(**arguments)

    assert str(caught.value).endswith(text)


def test_a_found_variable_needs_no_shape(graph: tf1.Graph) -> None:
    with tf1.variable_scope("net", reuse=tf1.AUTO_REUSE):
        assert get(shape=[2, 3]) is get(shape=None) is get(shape=[2, None])


@pytest.mark.parametrize(
    ("enter", "error", "text"),
    [
        (lambda: tf1.variable_scope(None), TypeError, "If default_name is None then name_or_scope is required"),
        (lambda: tf1.variable_scope("z", reuse=3), ValueError, "The reuse parameter must be True or False or None."),
        (
            lambda: tf1.variable_scope(None, "d", reuse=True).__enter__(),
            ValueError,
            "reuse=True cannot be used without a name_or_scope",
        ),
        (
            lambda: tf1.variable_scope(3).__enter__(),
            TypeError,
            "VariableScope: name_or_scope must be a string or VariableScope.",
        ),
    ],
)
def test_no_scope_can_be_opened_so(
    graph: tf1.Graph, enter: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        enter()

    assert text == str(caught.value)


# What a scope gives


def test_a_scope_gives_dtype_and_initializer(graph: tf1.Graph) -> None:
    with tf1.variable_scope("a", initializer=tf1.ones_initializer(), dtype=tf1.float64), tf1.variable_scope("b"):
        x, y = get("x"), get("y", initializer=tf1.zeros_initializer())

    assert [tf1.float64] * 2 == [one.dtype.base_dtype for one in (x, y)]
    assert [[1.0, 1.0], [0.0, 0.0]] == [one.tolist() for one in initialized(x, y).run([x, y])]


def test_a_scope_gives_regularizer_and_constraint(graph: tf1.Graph) -> None:
    with tf1.variable_scope("a", regularizer=tf1.reduce_sum, constraint=tf1.abs, initializer=tf1.ones_initializer):
        w = get()

    (loss,) = tf1.get_collection(tf1.GraphKeys.REGULARIZATION_LOSSES)
    assert ("a/w/Regularizer/Sum:0", tf1.abs, 2.0) == (loss.name, w.constraint, initialized(w).run(loss))


def test_a_scope_says_which_kind_is_made(graph: tf1.Graph) -> None:
    with tf1.variable_scope("a", use_resource=True):
        assert ["VarHandleOp"] * 2 == [get().op.type, tf1.Variable(1.0).op.type]


def test_a_scope_lists_its_variables(graph: tf1.Graph) -> None:
    get("other")
    with tf1.variable_scope("a") as scope:
        w, u = get(), get("u", trainable=False)

    assert [[w, u], [w]] == [scope.global_variables(), scope.trainable_variables()]


# The first value


def test_without_an_initializer_numbers_are_drawn(graph: tf1.Graph) -> None:
    w = get(shape=[30, 20])
    value = initialized(w).run(w)

    assert "w/Initializer/random_uniform" == w.initial_value.op.name
    assert np.sqrt(6 / 50) >= np.abs(value).max() > 0.9 * np.sqrt(6 / 50)


@pytest.mark.parametrize(
    ("dtype", "expected"), [(tf1.int64, [0, 0]), (tf1.bool, [False, False]), (tf1.string, [b"", b""])]
)
def test_without_an_initializer_other_kinds_are_empty(graph: tf1.Graph, dtype: Any, expected: list[Any]) -> None:
    w = get(dtype=dtype)

    assert expected == initialized(w).run(w).tolist()


@pytest.mark.parametrize(
    "initializer",
    [
        tf1.ones_initializer,
        tf1.ones_initializer(),
        tf1.constant_initializer(1.0),
        lambda shape, dtype: tf1.ones(shape, dtype),
        lambda shape, dtype, partition_info: tf1.ones(shape, dtype),
        lambda shape, **others: tf1.ones(shape, **others),
    ],
)
def test_an_initializer_is_called_with_shape_and_dtype(graph: tf1.Graph, initializer: Any) -> None:
    w = get(initializer=initializer)

    assert [1.0, 1.0] == initialized(w).run(w).tolist()


@pytest.mark.parametrize("initializer", [[1.0, 1.0], np.ones(2, np.float32), lambda: tf1.ones([2])])
def test_a_value_needs_no_shape(graph: tf1.Graph, initializer: Any) -> None:
    w = get(shape=None, initializer=initializer)

    assert [1.0, 1.0] == initialized(w).run(w).tolist()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"shape": None},
            "Variable w did not get an initializer, so its `shape` argument must be specified.",
        ),
        (
            {"shape": [None, 2]},
            "The initializer passed is not valid. It should be a callable with no arguments and the shape should not "
            "be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined.",
        ),
        ({"initializer": 3.0}, "If initializer is a constant, do not specify shape."),
        (
            {"shape": None, "initializer": 3.0, "dtype": tf1.float64},
            "Initializer type '<dtype: 'float32'>' and explicit dtype '<dtype: 'float64'>' don't match.",
        ),
        ({"dtype": tf1.complex64}, "An initializer for variable w of <dtype: 'complex64'> is required"),
    ],
)
def test_no_first_value_can_be_made_so(graph: tf1.Graph, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        get(**arguments)

    assert text == str(caught.value)


@pytest.mark.parametrize("name", ["partitioner", "custom_getter"])
def test_what_variables_and_scopes_do_not_support_is_refused(graph: tf1.Graph, name: str) -> None:
    functions: list[Any] = [get, partial(tf1.variable_scope, "s")]
    for make in functions:
        with pytest.raises(NotImplementedError, match=f"nbtf does not support `{name}`"):
            make(**{name: lambda *_, **__: [2]})


def test_a_template_does_not_choose_its_scope_at_once(graph: tf1.Graph) -> None:
    with pytest.raises(NotImplementedError, match="Leave `create_scope_now_` out"):
        tf1.make_template("net", get, create_scope_now_=True)


def test_a_local_variable_is_no_global_one(graph: tf1.Graph) -> None:
    w = tf1.get_local_variable("w", [2])

    assert [[w], [], []] == [tf1.local_variables(), tf1.global_variables(), tf1.trainable_variables()]


# Templates


def test_a_template_makes_its_variables_once(graph: tf1.Graph) -> None:
    def net(x: Any, factor: float) -> Any:
        return x * get("v", [1], initializer=tf1.ones_initializer()) * factor

    template = tf1.make_template("net", net, factor=3.0)
    first, second = template(tf1.constant([1.0])), template(tf1.constant([2.0]))

    assert ["net/v:0"] == [one.name for one in tf1.global_variables()] == [one.name for one in template.variables]
    assert ["net/mul_1:0", "net_1/mul_1:0"] == [first.name, second.name]
    assert [[3.0], [6.0]] == [one.tolist() for one in initialized(*template.variables).run([first, second])]


def test_two_templates_have_variables_of_their_own(graph: tf1.Graph) -> None:
    for _ in range(2):
        tf1.make_template("net", lambda: get())()

    assert ["net/w:0", "net_1/w:0"] == [one.name for one in tf1.global_variables()]


def test_a_later_call_of_a_template_makes_no_variable(graph: tf1.Graph) -> None:
    template = tf1.make_template("net", lambda: tf1.Variable(1.0))
    template()
    with pytest.raises(ValueError, match=r"^Trainable variable created when calling a template after the first time"):
        template()


@pytest.mark.parametrize("use_resource", [False, True])
def test_nodes_read_the_copy_on_the_caching_device(graph: tf1.Graph, use_resource: bool) -> None:
    with tf1.device("/cpu:0"), tf1.variable_scope("s", caching_device="/gpu:0") as scope:
        v = tf1.get_variable("v", [2], initializer=tf1.zeros_initializer(), use_resource=use_resource)
        w = tf1.Variable([1.0], caching_device=lambda op: f"/gpu:{len(op.inputs)}", use_resource=use_resource)
        y = v + 1.0

    assert "/gpu:0" == scope.caching_device
    assert "/device:GPU:0" == v.value().device == y.op.inputs[0].device
    assert ("cpu:0", "gpu:1") == (w.device[-5:].lower(), w.value().device[-5:].lower())
    assert v.value() is v.value()
