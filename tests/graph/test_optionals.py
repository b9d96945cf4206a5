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


def test_loop_variables_and_branches_may_be_optionals() -> None:
    @tf.function
    def total(iterator: Any, most: Any) -> Any:
        def body(step: Any, optional: Any, sum_so_far: Any) -> Any:
            value = tf.cond(step < 1, lambda: optional, lambda: Optional.from_value(optional.get_value() * 10))
            return step + 1, iterator.get_next_as_optional(), sum_so_far + value.get_value()

        return tf.while_loop(
            lambda step, optional, _: tf.logical_and(step < most, optional.has_value()),
            body,
            (tf.constant(0), iterator.get_next_as_optional(), tf.constant(0, tf.int64)),
        )

    for length, most, expected in ((5, 3, 30 + 0), (2, 9, 10), (0, 3, 0)):
        steps, optional, result = total(iter(tf.data.Dataset.range(length)), tf.constant(most))
        assert (min(length, most), most < length) == (steps.numpy(), optional.has_value().numpy())
        assert expected == result.numpy()


def test_branches_may_return_slices_and_sparse_tensors() -> None:
    @tf.function
    def chosen(condition: Any) -> Any:
        rows = [tf.IndexedSlices(tf.fill([n, 2], float(n)), tf.range(n), tf.constant([3, 2])) for n in (1, 2)]
        return tf.cond(condition, lambda: rows[0], lambda: rows[1])

    assert [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]] == tf.convert_to_tensor(chosen(tf.constant(True))).numpy().tolist()
    assert [0, 1] == chosen(tf.constant(False)).indices.numpy().tolist()
    with pytest.raises(TypeError, match="different types"):
        tf.function(lambda p: tf.cond(p, lambda: tf.sparse.from_dense([1]), lambda: tf.constant(1)))(tf.constant(True))


def test_a_generator_may_yield_optionals() -> None:
    spec = Optional.empty(tf.TensorSpec([2]))._type_spec
    dataset = tf.data.Dataset.from_generator(lambda: iter([Optional.from_value([1.0, 2.0])]), output_signature=spec)

    assert [1.0, 2.0] == next(iter(dataset)).get_value().numpy().tolist()
