"""The operators of tensors: which op each one is, and what may stand on its other side."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.operators import OPERATORS
from nbtf.errors import InvalidArgumentError
from tests.ops.math.test_arithmetic import floats, ints, ops_of, texts

OPS = {
    operator.add: "AddV2",
    operator.sub: "Sub",
    operator.mul: "Mul",
    operator.truediv: "RealDiv",
    operator.floordiv: "FloorDiv",
    operator.mod: "FloorMod",
    operator.pow: "Pow",
    operator.lt: "Less",
    operator.le: "LessEqual",
    operator.gt: "Greater",
    operator.ge: "GreaterEqual",
    operator.eq: "Equal",
    operator.ne: "NotEqual",
}
VALUES = (
    2.0,
    2,
    True,
    np.float32(2),
    np.float64(2),
    np.int64(2),
    np.array([2.0, 3.0]),
    [2.0, 3.0],
    (2, 3),
    range(2, 4),
)


@pytest.mark.parametrize("operation", OPS, ids=str)
def test_an_operator_is_one_op(operation: Callable[..., Any]) -> None:
    x, y = floats(), floats()

    assert [OPS[operation]] == ops_of(lambda: operation(x, y))


@pytest.mark.parametrize("operation", OPS, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_stand_on_either_side(operation: Callable[..., Any], value: Any) -> None:
    left, right = operation(floats(), value), operation(value, floats())
    known = np.array([1.0, 2.0], np.float32)

    assert (tf.Tensor, tf.Tensor) == (type(left), type(right))
    np.testing.assert_allclose(operation(known, np.asarray(value, np.float32)), left.numpy(), rtol=1e-6)
    np.testing.assert_allclose(operation(np.asarray(value, np.float32), known), right.numpy(), rtol=1e-6)


@pytest.mark.parametrize("operation", OPS, ids=str)
def test_variables_have_the_same_operators(operation: Callable[..., Any]) -> None:
    v, t = tf.Variable([1.0, 2.0]), floats()

    expected = operation(t, t).numpy().tolist()

    assert [expected] * 3 == [operation(*pair).numpy().tolist() for pair in ((v, t), (t, v), (v, v))]


def test_an_array_that_is_changed_in_place_becomes_a_tensor() -> None:
    array: Any = np.array([1.0, 2.0], np.float32)
    array += floats()

    assert isinstance(array, tf.Tensor)


def test_unary_operators_are_ops() -> None:
    x = ints()

    assert ["Neg", "Abs", "Invert"] == [*ops_of(lambda: -x), *ops_of(lambda: abs(x)), *ops_of(lambda: ~x)]


def test_signs_of_logic_follow_the_dtype() -> None:
    yes_no: Any
    bits: Any
    yes_no, bits = tf.constant([True, False]), tf.constant([6, 5])

    assert [True, False] == (yes_no & True).numpy().tolist()
    assert [True, True] == (True | yes_no).numpy().tolist()
    assert [False, True] == (yes_no ^ True).numpy().tolist() == (~yes_no).numpy().tolist()
    assert [[2, 1], [7, 7], [5, 6], [-7, -6]] == [t.numpy().tolist() for t in (bits & 3, 3 | bits, bits ^ 3, ~bits)]


def test_there_is_no_plus_sign_and_no_shift() -> None:
    for attempt in (lambda x: +x, lambda x: x << 1, lambda x: x >> 1):
        with pytest.raises(TypeError):
            attempt(ints())


def test_texts_are_joined_with_the_op_that_tensorflow_logs() -> None:
    text = texts()

    assert ["_EagerConst", "Add"] == ops_of(lambda: text + "c")
    assert [b"xa", b"xb"] == ("x" + text).numpy().tolist()


def test_a_sum_with_a_number_that_does_not_suit_depends_on_its_side() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot compute AddV2 as input #1"):
        _ = ints() + 1.5
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5 to EagerTensor of dtype int32"):
        _ = 1.5 + ints()


def test_integers_beyond_the_dtype_wrap() -> None:
    assert [1, 2] == (ints() + 2**40).numpy().tolist()


@pytest.mark.parametrize("value", [None, {}, object()])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Attempt to convert a value"):
        _ = floats() + value


def test_nothing_equals_none() -> None:
    x = floats()

    assert (False, True, False, True) == (x == None, x != None, None == x, None != x)  # noqa: E711  # what it is about


def test_tensors_whose_shapes_do_not_fit_are_just_not_equal(on_device: str) -> None:
    x = floats()
    same, other = x == [1.0, 2.0, 3.0], x != [1.0, 2.0, 3.0]

    assert (False, True) == (same.numpy(), other.numpy())
    assert (on_device, ["Equal"]) == (same.device, ops_of(lambda: x == tf.zeros(3))[-1:])


def test_equality_of_other_dtypes_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot compute Equal as input #1"):
        _ = floats() == ints()
    with pytest.raises(TypeError, match="Cannot convert 'a' to EagerTensor of dtype float"):
        _ = floats() == "a"


def test_a_tensor_can_be_looked_up_in_a_list() -> None:
    x = floats()

    assert x in [x]
    assert 2.0 in x


def test_every_operator_of_the_list_is_set() -> None:
    assert OPERATORS == {name: vars(tf.Tensor)[name] for name in OPERATORS}
    assert set() == {name for name in OPERATORS if getattr(tf.Variable, name) is getattr(object, name, None)}


def test_both_sides_are_logged_in_the_order_they_are_written() -> None:
    x = floats()

    assert ["_EagerConst", "Sub"] == ops_of(lambda: 1.0 - x)


def test_matrices_are_multiplied_with_arrays_on_either_side() -> None:
    column: Any = tf.constant([[1.0], [2.0]])
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])

    assert [[5.0], [11.0]] == (matrix @ column).numpy().tolist()
    assert [[5.0], [11.0]] == (tf.constant(matrix) @ np.array([[1.0], [2.0]])).numpy().tolist()
