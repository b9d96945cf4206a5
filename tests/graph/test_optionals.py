"""Optional elements in traced functions: each call looks at its own."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError

Optional = tf.data.experimental.Optional


def test_each_call_takes_another_element_until_none_is_left() -> None:
    take = tf.function(lambda iterator: iterator.get_next_as_optional())
    numbers = iter(tf.data.Dataset.range(2))
    optionals = [take(numbers) for _ in range(3)]

    assert [True, True, False] == [optional.has_value().numpy() for optional in optionals]
    assert [0, 1] == [optional.get_value().numpy() for optional in optionals[:2]]
    with pytest.raises(InvalidArgumentError, match="does not have a value"):
        optionals[2].get_value()


def test_a_value_in_a_function_is_asked_for_when_it_runs() -> None:
    take = tf.function(lambda iterator: iterator.get_next_as_optional().get_value())
    numbers = iter(tf.data.Dataset.range(2))

    assert [0, 1] == [take(numbers).numpy() for _ in range(2)]
    with pytest.raises(InvalidArgumentError, match="does not have a value"):
        take(numbers)


def test_a_branch_and_a_loop_may_ask_whether_there_is_an_element() -> None:
    @tf.function
    def total(iterator: Any) -> Any:
        result = tf.constant(0, tf.int64)
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            result += optional.get_value()
            optional = iterator.get_next_as_optional()
        return result

    assert 6 == total(iter(tf.data.Dataset.range(4))).numpy()


def test_an_optional_of_a_tensor_leaves_its_function_and_enters_another() -> None:
    make = tf.function(lambda x: Optional.from_value({"a": x * 2, "b": x}))
    read = tf.function(lambda optional: optional.get_value()["a"] + 1)

    assert [5.0, 7.0] == [read(make(tf.constant(x))).numpy() for x in (2.0, 3.0)]
    assert 3.0 == make(tf.constant(3.0)).get_value()["b"].numpy()
