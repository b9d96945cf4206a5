"""TensorFlow's special rules of comparisons, choices, truth values and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nbtf as tf
from nbtf._types import INTEGERS
from nbtf.errors import InvalidArgumentError
from tests.ops.math.test_arithmetic import floats, ints, ops_of, texts


def bools() -> Any:
    return tf.constant([True, False])


def test_equal_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        tf.equal(ints(), [1, 2, 3])


def test_equal_refuses_none() -> None:
    with pytest.raises(ValueError, match="Attempt to convert a value"):
        tf.equal(ints(), None)  # pyright: ignore[reportArgumentType]  # what it refuses


def test_texts_are_compared() -> None:
    assert [True, False] == tf.equal(texts(), "a").numpy().tolist()


def test_texts_and_truth_values_have_no_order() -> None:
    for pair in (texts(), bools()):
        with pytest.raises(InvalidArgumentError, match="Value for attr 'T'"):
            tf.less(pair, pair)


def test_where_needs_both_values_or_none() -> None:
    with pytest.raises(ValueError, match=r"^x and y must both be non-None or both be None\.$"):
        tf.where(bools(), ints())


def test_where_needs_a_condition_of_truth_values() -> None:
    with pytest.raises(InvalidArgumentError, match=r"SelectV2 as input #0\(zero-based\) was expected to be a bool"):
        tf.where(ints(), 1, 2)


def test_where_names_all_three_shapes() -> None:
    text = r"condition \[2\], then \[3\], and else \[\] must be broadcastable"
    with pytest.raises(InvalidArgumentError, match=text):
        tf.where(bools(), [1, 2, 3], 0)


def test_the_first_value_decides_the_dtype_of_a_choice() -> None:
    assert [1.0, 2.0] == tf.where(bools(), 1.0, 2).numpy().tolist()
    with pytest.raises(TypeError, match=r"Cannot convert 2\.0 to EagerTensor of dtype int32"):
        tf.where(bools(), 1, 2.0)


def test_the_places_of_a_scalar_cannot_be_told() -> None:
    with pytest.raises(InvalidArgumentError, match="WhereOp : Unhandled input dimensions: 0"):
        tf.where(3)


def test_places_are_found_on_every_device(on_device: str) -> None:
    places = tf.where([[0, 2], [3, 0]])

    assert (on_device, [[0, 1], [1, 0]]) == (places.device, places.numpy().tolist())


def test_gradients_of_a_choice_do_not_spread_nan() -> None:
    from nbtf._ops.math.comparison import chosen

    assert [2.0, 0.0] == chosen(bools(), tf.constant([2.0, np.nan]), True).numpy().tolist()


def test_logic_takes_truth_values_only() -> None:
    text = r"LogicalAnd as input #1\(zero-based\) was expected to be a bool tensor but is a int32 tensor"
    with pytest.raises(InvalidArgumentError, match=text):
        tf.logical_and(bools(), ints())
    with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype bool"):
        tf.logical_and(bools(), 1)


def test_exclusive_or_is_made_of_four_ops() -> None:
    x = bools()
    expected = ["LogicalOr", "LogicalAnd", "LogicalNot", "LogicalAnd"]

    assert expected == ops_of(lambda: tf.math.logical_xor(x, x))


def test_bits_are_those_of_integers() -> None:
    with pytest.raises(InvalidArgumentError, match="Value for attr 'T' of float is not in the list of allowed values"):
        tf.bitwise.bitwise_and(floats(), floats())


@given(st.sampled_from(sorted(INTEGERS, key=str)), st.integers(-200, 200), st.data())
def test_shifts_stay_within_the_width(dtype: Any, places: int, data: st.DataObject) -> None:
    numbers = data.draw(arrays.arrays(dtype.np_dtype, 3))
    width = 8 * dtype.size
    by = max(0, min(places, width - 1))
    shift = tf.constant(np.array(places).astype(dtype.np_dtype)) if dtype.is_unsigned else tf.cast(places, dtype)
    by = max(0, min(int(shift.numpy()), width - 1))

    right, left = tf.bitwise.right_shift(numbers, shift), tf.bitwise.left_shift(numbers, shift)

    assert [int(n) >> by for n in numbers] == right.numpy().tolist()
    assert [(int(n) << by) % 2**width for n in numbers] == [int(n) % 2**width for n in left.numpy()]
