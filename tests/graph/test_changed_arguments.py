"""A traced function must not change the lists and dictionaries that it is given."""

from __future__ import annotations

import copy
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf

CHANGES: dict[str, tuple[Callable[[Any, Any], object], Callable[[], Any]]] = {
    "append": (lambda values, x: values.append(x), lambda: [1]),
    "append to tensors": (lambda values, x: values.append(x), lambda: [tf.constant(2.0)]),
    "extend": (lambda values, x: values.extend([x]), list[int]),
    "pop": (lambda values, x: values.pop(), lambda: [1, 2]),
    "clear": (lambda values, x: values.clear(), lambda: [1]),
    "reverse": (lambda values, x: values.reverse(), lambda: [1, 2]),
    "set an item": (lambda values, x: operator.setitem(values, 0, x), lambda: [1]),
    "set a tensor": (lambda values, x: operator.setitem(values, 0, x * 2), lambda: [tf.constant(2.0)]),
    "set a slice": (lambda values, x: operator.setitem(values, slice(None), [x]), lambda: [1]),
    "set a key": (lambda values, x: operator.setitem(values, "k", x), lambda: {"a": 1}),
    "delete a key": (lambda values, x: operator.delitem(values, "a"), lambda: {"a": 1}),
    "set a key of a defaultdict": (lambda values, x: operator.setitem(values, "k", x), lambda: defaultdict(list)),
    "set a key of an ordered one": (lambda values, x: operator.setitem(values, "k", x), OrderedDict[str, int]),
    "inside a list": (lambda values, x: values[0].append(x), lambda: [[1]]),
    "inside a tuple": (lambda values, x: values[0].append(x), lambda: ([1],)),
    "inside a dictionary": (lambda values, x: values["a"].append(x), lambda: {"a": []}),
}

KEPT: dict[str, tuple[Callable[[Any, Any], object], Callable[[], Any]]] = {
    "read": (lambda values, x: values[0], lambda: [1]),
    "set the same": (lambda values, x: operator.setitem(values, 0, values[0]), lambda: [1]),
    "change a copy": (lambda values, x: [*values].append(x), lambda: [1]),
    "change there and back": (lambda values, x: (values.append(x), values.pop()), lambda: [1]),
}


def call_in(way: str, change: Callable[[Any, Any], object], values: Any) -> None:
    x = tf.constant(1.0)

    def run(values: Any, x: Any) -> Any:
        change(values, x)
        return x

    def run_keyword(x: Any, *, values: Any) -> Any:
        change(values, x)
        return x

    match way:
        case "argument":
            tf.function(run)(values, x)
        case "without AutoGraph":
            tf.function(run, autograph=False)(values, x)
        case "keyword":
            tf.function(run_keyword)(x, values=values)
        case "concrete":
            tf.function(run).get_concrete_function(values, x)
        case _:
            tf.function(lambda x: tf.function(run)(values, x))(x)


@pytest.mark.parametrize("way", ["argument", "without AutoGraph", "keyword", "concrete", "in a function"])
def test_a_change_is_refused_and_reaches_no_caller(way: str) -> None:
    for name, (change, make) in CHANGES.items():
        values = make()
        before = copy.copy(values)
        with pytest.raises(ValueError, match=r"should not modify its Python input arguments.*were modified: values"):
            call_in(way, change, values)

        assert before == values, name


@pytest.mark.parametrize("name", KEPT)
def test_what_is_as_before_is_no_change(name: str) -> None:
    change, make = KEPT[name]
    call_in("argument", change, make())


def test_the_error_names_function_and_parameters() -> None:
    def collect(x: Any, first: Any, second: Any = ()) -> Any:
        first.append(x)
        return x

    with pytest.raises(ValueError, match=r"collect\(x.*, first.*\).* should not modify .* were modified: first$"):
        tf.function(collect)(tf.constant(1.0), [1])
