from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf1


@pytest.fixture
def x() -> Any:
    return tf1.placeholder(tf1.float32, [], name="x")


def test_a_session_runs_the_branch_whose_turn_it_is(x: Any, capfd: pytest.CaptureFixture[str]) -> None:
    y = tf1.cond(x > 0, lambda: tf1.Print(x, [x], "yes "), lambda: tf1.Print(-x, [x], "no "))

    assert [3.0, 2.0] == [tf1.Session().run(y, {x: 3.0}), tf1.Session().run(y, {x: -2.0})]
    assert "yes [3]\nno [-2]\n" == capfd.readouterr().err


def test_branches_nest_and_take_what_stands_outside(x: Any) -> None:
    two = tf1.constant(2.0)
    y = tf1.cond(x > 0, lambda: x * two, lambda: tf1.cond(x < -1, lambda: two, lambda: x - two))

    assert [6.0, 2.0, -2.5] == [tf1.Session().run(y, {x: value}) for value in (3.0, -5.0, -0.5)]


def test_gradients_flow_through_the_branch_that_was_taken(x: Any) -> None:
    (slope,) = tf1.gradients(tf1.cond(x > 0, lambda: x * x, lambda: 5.0 * x), [x])

    assert [6.0, 5.0] == [tf1.Session().run(slope, {x: 3.0}), tf1.Session().run(slope, {x: -3.0})]


def test_branches_return_structures(x: Any) -> None:
    y = tf1.cond(x > 0, lambda: {"a": x, "b": [x]}, lambda: {"a": -x, "b": [x * 2.0]})

    assert {"a": 1.0, "b": [-2.0]} == tf1.Session().run(y, {x: -1.0})


def test_branches_must_be_alike(x: Any) -> None:
    with pytest.raises(ValueError, match=r"same type.*float32 from 'true_fn' and int32 from"):
        tf1.cond(x > 0, lambda: x, lambda: tf1.constant(1))
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        tf1.cond(True, lambda: x, lambda: x)


def test_a_loop_runs_while_its_condition_holds(x: Any) -> None:
    _, total = tf1.while_loop(lambda i, total: i < 4, lambda i, total: (i + 1, total + x), [0, tf1.constant(1.0)])
    session = tf1.Session()

    assert [9.0, 1.0] == [session.run(total, {x: 2.0}), session.run(total, {x: 0.0})]
    assert 4.0 == session.run(tf1.gradients(total, [x]), {x: 2.0})[0]


def test_a_loop_ends_after_the_most_rounds() -> None:
    count = tf1.while_loop(lambda i: i >= 0, lambda i: i + 1, [tf1.constant(0)], maximum_iterations=3)

    assert 3 == tf1.Session().run(count)


def test_a_loops_variables_keep_their_shapes_unless_others_are_named() -> None:
    def grow(rows: Any) -> Any:
        return tf1.concat([rows, rows], 0)

    with pytest.raises(
        ValueError, match=r"enters the loop with shape \(1,\), but has shape \(2,\) after one iteration"
    ):
        tf1.while_loop(lambda rows: tf1.size(rows) < 4, grow, [tf1.ones([1])])

    grown = tf1.while_loop(
        lambda rows: tf1.size(rows) < 4, grow, [tf1.ones([1])], shape_invariants=[tf1.TensorShape([None])]
    )
    assert [1.0] * 4 == tf1.Session().run(grown).tolist()


def test_the_first_condition_that_holds_decides(x: Any) -> None:
    y = tf1.case([(x > 3, lambda: 1), (x > 2, lambda: 2)], default=lambda: 3)

    assert [1, 2, 3] == [tf1.Session().run(y, {x: value}) for value in (4.0, 2.5, 0.0)]


def test_a_number_chooses_a_branch(x: Any) -> None:
    y = tf1.switch_case(tf1.to_int32(x), {0: lambda: 10, 3: lambda: 13}, default=lambda: -1)

    assert [10, 13, -1] == [tf1.Session().run(y, {x: value}) for value in (0.0, 3.0, 7.0)]


def test_a_function_is_applied_to_every_row(x: Any) -> None:
    rows = tf1.placeholder(tf1.float32, [None, 2])
    y = tf1.map_fn(lambda row: row * x, rows)

    assert [None, 2] == y.shape.as_list()
    assert [[2.0, 4.0]] == tf1.Session().run(y, {rows: [[1.0, 2.0]], x: 2.0}).tolist()


# Nodes that run Python


def test_python_runs_when_a_session_does(x: Any) -> None:
    calls: list[float] = []

    def twice(value: Any) -> Any:
        calls.append(float(value))
        return value * np.float32(2.0)

    y = tf1.py_func(twice, [x], tf1.float32)
    before = list(calls)

    assert [4.0, [], [2.0]] == [tf1.Session().run(y, {x: 2.0}), before, calls]


def test_python_must_return_what_it_promised(x: Any) -> None:
    y = tf1.py_func(lambda value: np.int64(value), [x], tf1.float32)

    with pytest.raises(tf1.errors.InvalidArgumentError, match="is int64, but expects float"):
        tf1.Session().run(y, {x: 2.0})


def test_gradients_flow_through_python_on_tensors(x: Any) -> None:
    y = tf1.py_function(lambda value: value * value, [x], tf1.float32)

    assert 6.0 == tf1.Session().run(tf1.gradients(y, [x])[0], {x: 3.0})


@pytest.mark.parametrize(
    ("value", "summarize", "expected"),
    [
        (3.14159265, None, "[3.14159274]"),
        ("text", None, "[text]"),
        ([True, False], None, "[1 0]"),
        ([1.5, 2.25, 3.0, 4.0], None, "[1.5 2.25 3...]"),
        ([[1, 2], [3, 4]], None, "[[1 2][3...]...]"),
        ([[1, 2], [3, 4]], -1, "[[1 2][3 4]]"),
        ([[1, 2, 3], [4, 5, 6]], None, "[[1 2 3]...]"),
        ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], 5, "[[[1 2][3 4]][[5...]]...]"),
    ],
)
def test_printing_shows_the_first_elements(
    value: Any, summarize: int | None, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    tf1.Session().run(tf1.Print(tf1.constant(1.0), [tf1.constant(value)], "m: ", summarize=summarize))

    assert f"m: {expected}\n" == capfd.readouterr().err


def test_printing_ends_after_some_times(x: Any, capfd: pytest.CaptureFixture[str]) -> None:
    y, session = tf1.Print(x, [x], first_n=1), tf1.Session()
    for value in (1.0, 2.0):
        session.run(y, {x: value})

    assert "[1]\n" == capfd.readouterr().err


def test_what_must_hold_is_checked_when_a_session_runs(x: Any) -> None:
    check = tf1.Assert(x > 0, [x, "not positive"])
    with tf1.control_dependencies([check, tf1.assert_less(x, 10.0)]):
        y = tf1.identity(x)
    session = tf1.Session()

    assert 2.0 == session.run(y, {x: 2.0})
    with pytest.raises(tf1.errors.InvalidArgumentError, match=r"assertion failed: \[-1\] \[not positive\]"):
        session.run(y, {x: -1.0})
    with pytest.raises(tf1.errors.InvalidArgumentError, match="Condition x < y did not hold"):
        session.run(y, {x: 11.0})


# Slices


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda rows: tf1.scan(lambda total, row: total + row, rows), [1.0, 3.0, 6.0]),
        (lambda rows: tf1.scan(lambda total, row: total + row, rows, reverse=True), [6.0, 5.0, 3.0]),
        (lambda rows: tf1.scan(lambda total, row: total * row, rows, 2.0), [2.0, 4.0, 12.0]),
        (lambda rows: tf1.foldl(lambda total, row: total - row, rows), -4.0),
        (lambda rows: tf1.foldr(lambda total, row: total - row, rows), 0.0),
        (lambda rows: tf1.foldl(lambda total, row: total - row, rows, initializer=10.0), 4.0),
    ],
)
def test_slices_are_taken_one_after_the_other(build: Any, expected: Any) -> None:
    rows = tf1.placeholder(tf1.float32, [None])

    assert expected == tf1.Session().run(build(rows), {rows: [1.0, 2.0, 3.0]}).tolist()


def test_gradients_flow_through_slices(x: Any) -> None:
    total = tf1.foldl(lambda total, row: total + row * x, tf1.constant([1.0, 2.0, 3.0]), 0.0)

    assert 6.0 == tf1.Session().run(tf1.gradients(total, [x])[0], {x: 5.0})


def test_conditions_are_scalars(x: Any) -> None:
    with pytest.raises(ValueError, match=r"Shape must be rank 0 but is rank 1 for 'cond/Switch'"):
        tf1.cond(tf1.constant([True]), lambda: x, lambda: x)


@pytest.mark.parametrize("first", [list, tuple], ids=["from_list", "from_tuple"])
@pytest.mark.parametrize("returned", [list, tuple], ids=["list", "tuple"])
def test_values_of_a_loop_come_in_what_its_body_returns(first: Any, returned: Any) -> None:
    with tf1.Graph().as_default(), tf1.Session() as sess:
        values = tf1.while_loop(lambda i, s: i < 5, lambda i, s: returned((i + 1, s + i)), first((0, 0)))

        assert type(values) is returned
        assert [int(value) for value in sess.run(values)] == [5, 10]
