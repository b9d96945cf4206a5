"""TensorFlow's special rules of arithmetic: dtypes, errors, what is an op and what is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nbtf as tf
from nbtf._record.events import OpPlaced
from nbtf._runtime.context import CURRENT
from nbtf._types import FLOATS, INTEGERS, REALS
from nbtf.errors import InvalidArgumentError, UnimplementedError


def floats() -> Any:
    return tf.constant([1.0, 2.0])


def ints() -> Any:
    return tf.constant([1, 2])


def texts() -> Any:
    return tf.constant(["a", "b"])


def ops_of(run: Callable[[], Any]) -> list[str]:
    """Returns the ops that the log would show."""
    heard: list[Any] = []
    stop = CURRENT.context.observers.add(heard.append)
    run()
    stop()
    return [event.op for event in heard if isinstance(event, OpPlaced)]


# Dtypes


def test_dtypes_are_not_promoted() -> None:
    text = r"cannot compute Mul as input #1\(zero-based\) was expected to be a float tensor but is a int32 tensor"
    with pytest.raises(InvalidArgumentError, match=text):
        tf.multiply(floats(), ints())


def test_add_takes_a_number_that_does_not_suit_as_a_tensor_of_its_own() -> None:
    text = r"cannot compute AddV2 as input #1\(zero-based\) was expected to be a int32 tensor but is a float tensor"
    with pytest.raises(InvalidArgumentError, match=text):
        tf.add(ints(), 1.5)


def test_multiply_refuses_a_number_that_does_not_suit() -> None:
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5 to EagerTensor of dtype int32"):
        tf.multiply(ints(), 1.5)


def test_an_array_takes_the_dtype_of_the_tensor_beside_it() -> None:
    assert tf.float32 is tf.multiply(floats(), np.array([1.0, 2.0])).dtype
    assert [1, 4] == tf.multiply(ints(), np.array([1.9, 2.9])).numpy().tolist()


@pytest.mark.parametrize(
    ("dtype", "quotient"), [("int8", "float32"), ("uint16", "float32"), ("int32", "float64"), ("uint64", "float64")]
)
def test_quotients_of_integers_are_floats(dtype: str, quotient: str) -> None:
    one = tf.cast(1, dtype)

    assert quotient == tf.divide(one, one).dtype
    assert quotient == tf.math.divide_no_nan(one, one).dtype


def test_division_names_the_dtypes_that_differ() -> None:
    with pytest.raises(TypeError, match=r"^`x` and `y` must have the same dtype, got tf\.int32 != tf\.float32\.$"):
        tf.divide(ints(), floats())


def test_division_refuses_what_are_no_numbers() -> None:
    with pytest.raises(
        TypeError, match=r"Invalid dtype tf\.bool in __truediv__\. Expected one of {tf\.uint8, tf\.int8"
    ):
        tf.divide(True, False)


def test_division_of_a_number_by_a_tensor_takes_the_tensors_dtype() -> None:
    assert tf.float32 is tf.divide(2, floats()).dtype
    with pytest.raises(TypeError, match="must have the same dtype"):
        tf.truediv(2, floats())


def test_an_op_lists_the_dtypes_it_takes() -> None:
    with pytest.raises(InvalidArgumentError, match="Value for attr 'T' of int32 is not in the list of allowed values"):
        tf.sqrt(4)


@pytest.mark.parametrize("dtype", sorted(REALS, key=str), ids=str)
def test_sums_and_products_keep_the_dtype_of_scalars(dtype: Any) -> None:
    two = tf.cast(2, dtype)

    assert [dtype] * 4 == [f(two, two).dtype for f in (tf.add, tf.subtract, tf.multiply, tf.maximum)]
    assert dtype.np_dtype == tf.add_n([two, two])._array.dtype


# Errors of kernels


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\] \[Op:Sub\]"):
        tf.subtract(floats(), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("divide", [tf.math.floordiv, tf.math.floormod, tf.truncatediv, tf.truncatemod])
def test_integers_cannot_be_divided_by_zero(divide: Callable[..., Any], on_device: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        divide(tf.constant([1, 2], tf.int64), [1, 0])


def test_floats_can_be_divided_by_zero() -> None:
    assert [math.inf, -math.inf] == tf.math.floordiv([1.0, -1.0], 0.0).numpy().tolist()
    assert np.isnan(tf.math.floormod(1.0, 0.0).numpy())


def test_a_floor_is_taken_of_the_rounded_quotient() -> None:
    assert 10.0 == tf.math.floordiv(1.0, 0.1).numpy()


def test_the_least_integer_divided_by_minus_one_wraps() -> None:
    least = tf.constant([-128], tf.int8)

    assert [-128] == tf.math.floordiv(least, -1).numpy().tolist()


def test_integers_have_no_negative_powers() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Integers to negative integer powers are not allowed \[Op:Pow\]"):
        tf.pow(ints(), -1)


def test_a_power_still_complains_about_shapes() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        tf.pow(floats(), [1.0, 2.0, 3.0])


# Lists of terms


def test_a_sum_of_one_is_that_one() -> None:
    only = floats()

    assert only is tf.add_n([only])
    assert [] == ops_of(lambda: tf.add_n([only]))


def test_a_sum_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="Inputs must be an iterable of at least one Tensor/IndexedSlices"):
        tf.add_n([])


def test_terms_do_not_broadcast() -> None:
    text = r"AddN must have the same size and shape\.  Input 0: \[2\] != input 2: \[\]"
    with pytest.raises(InvalidArgumentError, match=text):
        tf.add_n([floats(), floats(), 1.0])


def test_terms_keep_their_own_dtypes() -> None:
    with pytest.raises(InvalidArgumentError, match="AddN as input #1"):
        tf.add_n([floats(), [1, 2]])


def test_the_rows_of_a_tensor_can_be_summed() -> None:
    assert 3.0 == tf.add_n(floats()).numpy()


# Conversion


def test_a_cast_to_its_own_dtype_is_no_op() -> None:
    x = floats()

    assert x is tf.cast(x, "float32")
    assert [] == ops_of(lambda: tf.cast(x, tf.float32))


def test_a_cast_of_a_number_makes_a_tensor_of_it_first() -> None:
    assert ["_EagerConst", "Cast"] == ops_of(lambda: tf.cast(300, tf.uint8))
    assert 44 == tf.cast(300, tf.uint8).numpy()


@pytest.mark.parametrize(("value", "dtype"), [("1", tf.int32), (1.0, tf.string)])
def test_texts_are_not_cast(value: Any, dtype: Any, on_device: str) -> None:
    with pytest.raises(UnimplementedError, match=r"Cast \w+ to \w+ is not supported"):
        tf.cast(value, dtype)


def test_a_cast_to_no_dtype_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"Cannot convert the argument `type_value`: 'nope' to a TensorFlow DType\."):
        tf.cast(1.0, "nope")


def test_a_saturated_cast_stays_below_limits_that_a_float_cannot_hold() -> None:
    assert [2147483520, -2147483648] == tf.saturate_cast([1e20, -1e20], tf.int32).numpy().tolist()


@given(st.sampled_from(sorted(FLOATS, key=str)), st.sampled_from(sorted(INTEGERS, key=str)))
def test_a_saturated_cast_never_wraps(source: Any, target: Any) -> None:
    ends = tf.constant([source.min, source.max], source)
    found = tf.saturate_cast(ends, target).numpy().astype(float)

    assert target.min <= found[0] <= 0 < found[1] <= target.max


@pytest.mark.parametrize("bounds", [(0.0, [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], 3.0)], ids=["above", "below"])
def test_bounds_of_a_larger_shape_are_refused(bounds: Any) -> None:
    with pytest.raises(ValueError, match=r"Shapes \(\) and \(3,\) are incompatible"):
        tf.clip_by_value(1.0, *bounds)


def test_the_lower_bound_wins() -> None:
    assert [2.0, 2.0] == tf.clip_by_value(floats(), 2.0, 1.0).numpy().tolist()


# Functions


def test_the_real_part_of_real_numbers_is_themselves() -> None:
    x = floats()

    assert x is tf.math.real(x)
    assert x is tf.math.conj(x)


def test_complex_parts_agree_in_dtype() -> None:
    with pytest.raises(TypeError, match="The `real` and `imag` components have incorrect types: float32 float64"):
        tf.complex(floats(), tf.constant([1.0, 2.0], tf.float64))


def test_rounding_leaves_integers_alone() -> None:
    x = ints()

    assert x is tf.round(x)
    with pytest.raises(InvalidArgumentError, match="Value for attr 'T' of int32"):
        tf.floor(x)


@given(st.floats(allow_nan=False))
def test_the_error_function_agrees_with_pythons(x: float) -> None:
    value = tf.constant([x], tf.float64)

    assert math.erf(x) == pytest.approx(tf.math.erf(value).numpy()[0], rel=1e-15, abs=0)
    assert math.erfc(x) == pytest.approx(tf.math.erfc(value).numpy()[0], rel=1e-13, abs=1e-300)


def test_a_zero_hides_what_it_meets() -> None:
    nothing, odd = tf.constant([0.0, 0.0]), tf.constant([math.nan, math.inf])

    assert [0.0, 0.0] == tf.math.multiply_no_nan(odd, nothing).numpy().tolist()
    assert [0.0, 0.0] == tf.math.divide_no_nan(odd, nothing).numpy().tolist()
    assert [0.0, 0.0] == tf.math.xdivy(nothing, nothing).numpy().tolist()


# Against NumPy

BINARY = [(tf.add, np.add), (tf.subtract, np.subtract), (tf.multiply, np.multiply), (tf.maximum, np.maximum)]


@given(
    st.sampled_from(BINARY),
    st.sampled_from(sorted(REALS, key=str)),
    arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
    st.data(),
)
def test_shapes_dtypes_and_values_agree_with_numpy(pair: Any, dtype: Any, shapes: Any, data: st.DataObject) -> None:
    ours, theirs = pair
    x, y = (data.draw(arrays.arrays(dtype.np_dtype, shape)) for shape in shapes.input_shapes)
    result = ours(tf.constant(x), tf.constant(y))
    with np.errstate(all="ignore"):
        expected = np.asarray(theirs(x, y))

    assert (expected.shape, expected.dtype) == (tuple(result.shape), result.dtype.np_dtype)
    np.testing.assert_array_equal(expected, result.numpy())


@given(
    arrays.array_shapes(min_dims=0, max_dims=3, max_side=3),
    arrays.array_shapes(min_dims=0, max_dims=3, max_side=3),
)
def test_shapes_fit_exactly_when_numpys_do(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
            tf.add(tf.ones(a), tf.ones(b))
    else:
        assert np.broadcast_shapes(a, b) == tuple(tf.add(tf.ones(a), tf.ones(b)).shape)


@given(st.sampled_from(sorted(INTEGERS, key=str)), st.data())
def test_quotient_and_remainder_make_the_number_again(dtype: Any, data: st.DataObject) -> None:
    x, y = (data.draw(arrays.arrays(dtype.np_dtype, 3)) for _ in "xy")
    assume(y.all())
    a, b = tf.constant(x), tf.constant(y)

    again = tf.add(tf.multiply(tf.math.floordiv(a, b), b), tf.math.floormod(a, b))

    assert x.tolist() == again.numpy().tolist()


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        (
            lambda: tf.math.log1p(1),
            "Value for attr 'T' of int32 is not in the list of allowed values: bfloat16, half, float, double, "
            "complex64, complex128\n\t; NodeDef: {{node Log1p}}; Op<name=Log1p; signature=x:T -> y:T; "
            "attr=T:type,allowed=[DT_BFLOAT16, DT_HALF, DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128]> "
            "[Op:Log1p] name: ",
        ),
        (
            lambda: tf.one_hot(tf.constant([1.0, 2.0]), 3),
            "Value for attr 'TI' of float is not in the list of allowed values: uint8, int8, int32, int64\n"
            "\t; NodeDef: {{node OneHot}}; Op<name=OneHot; signature=indices:TI, depth:int32, on_value:T, off_value:T "
            "-> output:T; attr=axis:int,default=-1; attr=T:type; "
            "attr=TI:type,default=DT_INT64,allowed=[DT_UINT8, DT_INT8, DT_INT32, DT_INT64]> [Op:OneHot] name: ",
        ),
    ],
    ids=["log1p", "one_hot"],
)
def test_a_refused_dtype_comes_with_the_definition_of_the_op(compute: Callable[[], Any], says: str) -> None:
    with pytest.raises(InvalidArgumentError) as refusal:
        compute()

    assert says == str(refusal.value)
