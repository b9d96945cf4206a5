"""Do functions with Python's control flow give the same when they are traced as when they run?"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nbtf as tf
from nbtf._graph.autograph.conversion import convert, converted

# Programs that hypothesis makes up: they calculate with `a`, `b`, `c`, and always end


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


VALUES = st.sampled_from(["a", "b", "c", "a + b", "b - c", "a * 2 - c", "3", "c + 1", "a if b > c else c", "-b"])
TESTS = st.sampled_from(
    ["a > b", "c < 2", "a > 0 and b > 0", "b < 0 or c > 3", "not a > c", "0 < a < 5", "a + b > c", "c % 2 == 0"]
)
ASSIGNMENTS = st.builds(lambda name, value: [f"{name} = {value}"], st.sampled_from("abc"), VALUES)
CHANGES = st.builds(lambda name, value: [f"{name} += {value}"], st.sampled_from("abc"), VALUES)


def blocks(statements: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.lists(statements, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])


def branches(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    both = st.builds(
        lambda test, first, second: [f"if {test}:", *indented(first), "else:", *indented(second)], TESTS, inner, inner
    )
    single = st.builds(lambda test, block: [f"if {test}:", *indented(block)], TESTS, inner)
    return both | single


def loops(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    jumps = st.builds(lambda test, jump: [f"if {test}:", f"    {jump}"], TESTS, st.sampled_from(["break", "continue"]))
    bodies = blocks(inner | jumps)
    over_range = st.builds(lambda body: ["for i in tf.range(3):", *indented(body), "    c = c + i"], bodies)
    over_rows = st.builds(lambda body: ["for row in tf.constant([2, -1]):", *indented(body), "    a = a + row"], bodies)
    return over_range | over_rows | st.builds(counted, TESTS, bodies)


def counted(test: str, body: list[str]) -> list[str]:
    """A loop that ends: a loop inside of it counts with another variable."""
    counter = f"n{sum('while' in line for line in body)}"
    return [f"{counter} = tf.constant(0)", f"while {counter} < 3 and ({test}):", f"    {counter} += 1", *indented(body)]


STATEMENTS = st.recursive(
    ASSIGNMENTS | CHANGES, lambda inner: branches(blocks(inner)) | loops(blocks(inner)), max_leaves=5
)
ENDS = st.sampled_from(
    [
        ["return a, b, c"],
        ["if a > b:", "    return b, a, c", "return a, b, c"],
        ["if c > 0:", "    return a, a, a", "if b > 0:", "    a = c", "else:", "    b = c", "return a, b, c"],
    ]
)


def define(lines: list[str], name: str) -> Callable[..., Any]:
    """Returns a function whose source can be found."""
    text = "\n".join(["def program(a, b, c):", *indented(lines), ""])
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {"tf": tf, "__name__": "programs"}
    exec(compile(text, file, "exec"), names)
    return names["program"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=blocks(STATEMENTS), end=ENDS, numbers=st.tuples(*[st.integers(-4, 6)] * 3))
def test_a_traced_program_gives_what_the_program_gives(
    body: list[str], end: list[str], numbers: tuple[int, int, int]
) -> None:
    program = define([*body, *end], "random program")
    arguments = [tf.constant(number) for number in numbers]
    traced = tf.function(program)

    for values in (arguments, arguments[::-1]):
        assert [t.numpy() for t in map(tf.convert_to_tensor, program(*values))] == [t.numpy() for t in traced(*values)]

    assert traced.experimental_get_tracing_count() == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=blocks(STATEMENTS), end=ENDS, numbers=st.tuples(*[st.integers(-4, 6)] * 3))
def test_a_converted_program_stays_the_same_for_python_numbers(
    body: list[str], end: list[str], numbers: tuple[int, int, int]
) -> None:
    program = define([*body, *end], "random program")

    assert str(program(*numbers)) == str(converted(program)(*numbers))


# What is converted, and how


class Scaled:
    def __init__(self, limit: int) -> None:
        self.__limit = limit

    def scale(self, x: Any) -> Any:
        while x < self.__limit:
            x = x * 2
        return x


class Halved(Scaled):
    def scale(self, x: Any) -> Any:
        x = super().scale(x)
        if x % 2 == 0:
            x = x // 2
        return x


def test_methods_keep_private_names_and_their_parents() -> None:
    halved = Halved(10)
    traced = tf.function(halved.scale)

    assert [halved.scale(n) for n in (1, 5, 30)] == [traced(tf.constant(n)).numpy() for n in (1, 5, 30)]


def test_closures_and_globals_stay_live() -> None:
    count = 0

    def trace(x: Any) -> Any:
        nonlocal count
        count += 1
        return x if x > 0 else -x

    traced = tf.function(trace)

    assert [3, 3] == [traced(tf.constant(n)).numpy() for n in (3, -3)]
    assert 1 == count


def test_of_several_lambdas_on_a_line_each_is_itself() -> None:
    pair = (lambda x: x + 1 if x > 0 else x - 1), (lambda x: x * 2 if x > 0 else x * 3)

    assert [[4, 6], [-3, -6]] == [[tf.function(f)(tf.constant(n)).numpy() for f in pair] for n in (3, -2)]


def test_attributes_and_items_that_a_branch_sets_are_those_of_the_branch_taken() -> None:
    def fill(x: Any) -> Any:
        box, items = SimpleNamespace(value=x), {"k": x}
        if x > 0:
            box.value = x * 2
        else:
            items["k"] = x * 3
        return box.value, items["k"]

    traced = tf.function(fill)

    assert [(4, 2), (-2, -6)] == [tuple(t.numpy() for t in traced(tf.constant(n))) for n in (2, -2)]


def test_a_value_of_one_branch_may_be_forgotten_after_it() -> None:
    def forget(x: Any) -> Any:
        if x > 0:
            temporary = tf.cast(x, tf.float32)
            y = temporary * 2.0
        else:
            temporary = [x, x]
            y = tf.cast(temporary[0], tf.float32)
        return y

    assert [4.0, -2.0] == [tf.function(forget)(tf.constant(n)).numpy() for n in (2, -2)]


def test_a_function_defined_before_a_branch_sees_what_the_branch_sets() -> None:
    def look(x: Any) -> Any:
        y = x

        def read() -> Any:
            return y

        if x > 0:
            y = x * 10
        return read()

    assert [20, -2] == [tf.function(look)(tf.constant(n)).numpy() for n in (2, -2)]


def test_random_numbers_of_a_loop_are_drawn_once_for_their_gradient() -> None:
    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.constant(0.0)
            for _ in tf.range(3):
                y += x * tf.random.uniform([])
        return y, tape.gradient(y, x)

    y, gradient = slope(tf.constant(2.0))

    assert pytest.approx(float(y)) == 2 * float(gradient)


def test_variables_in_branches_are_changed_once_and_have_gradients() -> None:
    calls, weight = tf.Variable(0), tf.Variable(3.0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            if x > 0:
                calls.assign_add(1)
                y = weight * x
            else:
                y = weight * weight
        return tape.gradient(y, weight)

    assert [2.0, 6.0, 4.0] == [step(tf.constant(x)).numpy() for x in (2.0, -1.0, 4.0)]
    assert 2 == calls.numpy()


def test_a_second_gradient_through_a_loop_inside_of_a_function_is_refused() -> None:
    @tf.function
    def curvature(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x
                for _ in tf.range(2):
                    y = y * x
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x)

    with pytest.raises(LookupError, match="second derivative"):
        curvature(tf.constant(2.0))


def test_a_second_gradient_through_a_loop_may_be_taken_outside() -> None:
    @tf.function
    def power(x: Any) -> Any:
        y = x
        for _ in tf.range(2):
            y = y * x
        return y

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = power(x)
        slope = inner.gradient(y, x)

    assert 12.0 == outer.gradient(slope, x).numpy()


def test_what_has_no_source_runs_as_it_is_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    names: dict[str, Any] = {"__name__": "programs"}
    exec(compile("def double(x):\n    return x * 2\n", "<nowhere>", "exec"), names)

    for _ in range(2):
        assert 4 == convert(names["double"])(2)
    assert converted(names["double"]) is names["double"]
    assert 1 == sum("AutoGraph could not transform" in record.getMessage() for record in caplog.records)


class Foreign:
    """What a library has hung on a node that all trees share; it is nobody else's to copy."""

    def __deepcopy__(self, memo: object) -> Foreign:
        raise RecursionError


def test_what_libraries_hang_on_the_operators_of_all_trees_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def program(x: Any) -> Any:
        if x > 1.0 and not x < -1.0:
            x = x + x * 2.0 - 1.0 / x
        return x

    text = inspect.getsource(test_what_libraries_hang_on_the_operators_of_all_trees_is_not_looked_at)
    first, second = ({id(node): node for node in ast.walk(ast.parse(text))} for _ in range(2))
    shared = [first[key] for key in first.keys() & second.keys()]
    for node in shared:
        monkeypatch.setattr(node, "parent", Foreign(), raising=False)

    assert {"Load", "Store", "Add", "Sub", "Mult", "Div", "And", "Not", "Gt", "Lt"} <= {
        type(node).__name__ for node in shared
    }
    assert [8.7, -2.0] == [
        float(tf.function(program)(tf.constant(x)).numpy().astype(float).round(1)) for x in (3.0, -2.0)
    ]
    assert not caplog.records


def test_generators_and_the_functions_of_the_package_stay_as_they_are() -> None:
    def count() -> Any:
        yield 1

    for function in (count, tf.add, len, inspect.signature, SimpleNamespace):
        assert converted(function) is function


def test_an_error_names_the_line_of_the_program() -> None:
    def fail(x: Any) -> Any:
        if x > 0:
            raise KeyError("here")
        return x

    line = inspect.getsourcelines(fail)[1] + 2
    with pytest.raises(KeyError, match=f'line {line}, in fail  \\*.*raise KeyError\\("here"\\)'):
        tf.function(fail)(tf.constant(1))
