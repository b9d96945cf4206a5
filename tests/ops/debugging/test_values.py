"""Do checks raise when something does not hold, and say what?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf import debugging as check

NAN, INF = float("nan"), float("inf")


def text_of(kind: type[Exception], function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    return str(caught.value)


# Values


@pytest.mark.parametrize(
    ("function", "sign", "good", "bad"),
    [
        (check.assert_equal, "==", ([1, 2], [1, 2]), ([1, 2], [1, 3])),
        (check.assert_none_equal, "!=", ([1, 2], [2, 1]), ([1, 2], [0, 2])),
        (check.assert_less, "<", ([1, 2], [2, 3]), ([1, 3], [2, 3])),
        (check.assert_less_equal, "<=", ([1, 2], [1, 3]), ([1, 4], [1, 3])),
        (check.assert_greater, ">", ([2, 3], [1, 2]), ([2, 3], [1, 3])),
        (check.assert_greater_equal, ">=", ([1, 3], [1, 2]), ([1, 3], [1, 4])),
    ],
)
def test_pairs_are_compared_element_by_element(function: Any, sign: str, good: Any, bad: Any) -> None:
    function(*good)
    function(*map(tf.Variable, good))

    x, y = bad
    text = text_of(tf.errors.InvalidArgumentError, function, x, y)
    assert text == (
        f"Condition x {sign} y did not hold.\nIndices of first 1 different values:\n[[1]]\n"
        f"Corresponding x values:\n[{x[1]}]\nCorresponding y values:\n[{y[1]}]\n"
        f"First 2 elements of x:\n[{x[0]} {x[1]}]\nFirst 2 elements of y:\n[{y[0]} {y[1]}]"
    )


def test_places_are_told_only_where_shapes_agree() -> None:
    text = text_of(tf.errors.InvalidArgumentError, check.assert_equal, [1, 2], 1, message="oh")

    assert "oh\nCondition x == y did not hold.\nFirst 2 elements of x:\n[1 2]\nFirst 1 elements of y:\n[1]" == text


def test_as_many_elements_are_shown_as_asked_for() -> None:
    x, y = [0, 1, 2, 3, 4], [9, 9, 9, 9, 9]

    assert "First 3 elements of x:\n[0 1 2]" in text_of(tf.errors.InvalidArgumentError, check.assert_equal, x, y)
    one = text_of(tf.errors.InvalidArgumentError, check.assert_equal, x, y, summarize=1)
    assert "Indices of first 1 different values:\n[[0]]" in one
    every = text_of(tf.errors.InvalidArgumentError, check.assert_equal, x, y, summarize=-1)
    assert "First 5 elements of x:\n[0 1 2 3 4]" in every


def test_texts_are_compared() -> None:
    check.assert_equal("a", "a")

    text = text_of(tf.errors.InvalidArgumentError, check.assert_equal, ["a", "b"], ["a", "c"])
    assert "Corresponding x values:\n[b'b']\nCorresponding y values:\n[b'c']" in text


def test_tensor_equals_itself_even_with_nan() -> None:
    t = tf.constant([NAN])
    check.assert_equal(t, t)

    text_of(tf.errors.InvalidArgumentError, check.assert_equal, t, [NAN])


def test_dtypes_and_shapes_are_compared_by_the_op() -> None:
    text = text_of(tf.errors.InvalidArgumentError, check.assert_equal, tf.constant(1.0), tf.constant(1))
    assert "cannot compute Equal as input #1(zero-based) was expected to be a float tensor but is a int32" in text
    text = text_of(tf.errors.InvalidArgumentError, check.assert_less, [1, 2], [1, 2, 3])
    assert "Incompatible shapes: [2] vs. [3]" in text


@pytest.mark.parametrize(
    ("function", "sign", "good", "bad"),
    [
        (check.assert_positive, ">", [1, 2], [1, 0]),
        (check.assert_negative, "<", [-1, -2], [-1, 0]),
        (check.assert_non_negative, ">=", [0, 1], [1, -1]),
        (check.assert_non_positive, "<=", [0, -1], [-1, 1]),
    ],
)
def test_elements_are_compared_with_zero(function: Any, sign: str, good: Any, bad: Any) -> None:
    function(good)

    text = text_of(tf.errors.InvalidArgumentError, function, bad, message="oh")
    assert text == (
        f"oh.  \nCondition x {sign} 0 did not hold element-wise:\nx (shape=(2,) dtype=int32) = \n"
        f"['{bad[0]}', '{bad[1]}']"
    )


def test_scalars_and_long_tensors_are_shown_in_short() -> None:
    scalar = text_of(tf.errors.InvalidArgumentError, check.assert_positive, 0)
    assert scalar.endswith("x (shape=() dtype=int32) = \n0")
    long = text_of(tf.errors.InvalidArgumentError, check.assert_positive, [0, 1, 2, 3])
    assert long.endswith("\n['0', '1', '2', '...']")


def test_near_values_differ_by_no_more_than_the_tolerance() -> None:
    check.assert_near([1.0, 2.0], [1.0, 2.1], atol=0.2)
    check.assert_near([100.0], [101.0], rtol=0.02)
    check.assert_near(tf.constant(1.0), tf.constant(1.0 + 1e-6))

    text = text_of(tf.errors.InvalidArgumentError, check.assert_near, [1.0, 2.0], [1.0, 2.5], message="oh")
    tolerance = "tf.Tensor(1.1920929e-06, shape=(), dtype=float32)"
    assert text == (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'oh.  '\n"
        f"b'x and y not equal to tolerance rtol = {tolerance}, atol = {tolerance}'\n"
        "b'x (shape=(2,) dtype=float32) = '\n1.0, 2.0\nb'y (shape=(2,) dtype=float32) = '\n1.0, 2.5"
    )


def test_whole_numbers_have_no_precision() -> None:
    assert "data type <class 'numpy.int32'> not inexact" == text_of(ValueError, check.assert_near, 1, 2)


@pytest.mark.parametrize(("values", "found"), [([NAN], "NaN"), ([-INF, 1.0], "Inf"), ([INF, NAN], "Inf and NaN")])
@pytest.mark.parametrize("function", [check.check_numerics, check.assert_all_finite])
def test_values_that_are_not_finite_are_told(function: Any, values: Any, found: str) -> None:
    text = text_of(tf.errors.InvalidArgumentError, function, values, "loss")

    assert f"}}}} loss : Tensor had {found} values [Op:CheckNumerics]" in text


def test_finite_values_are_handed_through() -> None:
    assert [1.0, 2.0] == check.check_numerics([1.0, 2.0], "loss").numpy().tolist()
    text_of(tf.errors.InvalidArgumentError, check.check_numerics, [1, 2], "whole numbers")


def test_condition_shows_data() -> None:
    check.Assert(True, ["never shown"])

    text = text_of(tf.errors.InvalidArgumentError, check.Assert, False, [tf.constant([1, 2, 3, 4]), "x"])
    assert "Expected 'False' to be true. Summarized data: 1, 2, 3, ...\nb'x'" == text
    assert "values must be a sequence." == text_of(TypeError, check.Assert, False, tf.constant([1]))


# Ranks, shapes, dtypes


def test_ranks_are_checked() -> None:
    check.assert_rank([[1]], 2)
    check.assert_rank(np.ones([1, 2]), tf.constant(2))
    check.assert_rank_at_least(tf.Variable([1]), 1)
    check.assert_rank_in([1], (0, 1))

    received = "Received rank 1, shape (2,)"
    assert f"m.  Tensor  must have rank 2.  {received}" == text_of(ValueError, check.assert_rank, [1, 2], 2, "m")
    least = text_of(ValueError, check.assert_rank_at_least, [1, 2], 2)
    assert f"Tensor  must have rank at least 2.  {received}" == least
    one_of = text_of(ValueError, check.assert_rank_in, [1, 2], [2, 3])
    assert f"Tensor  must have rank in (2, 3).  {received}" == one_of


def test_rank_is_one_whole_number() -> None:
    assert "Rank must be a scalar." == text_of(ValueError, check.assert_rank, [1], [1])
    assert "tensor must be of type tf.int32; got tf.float32" == text_of(TypeError, check.assert_rank, [1], 1.5)


def test_scalars_and_dtypes_are_checked() -> None:
    check.assert_scalar(1)
    check.assert_type(np.float32(1), tf.float32)
    check.assert_integer(tf.constant(1))

    assert "m.  Expected scalar shape, saw shape: (1,)." == text_of(ValueError, check.assert_scalar, [1], "m")
    wrong = text_of(TypeError, check.assert_type, tf.constant(1), tf.float32)
    assert "tensor must be of type tf.float32; got tf.int32" == wrong
    fraction = text_of(TypeError, check.assert_integer, 1.5)
    assert "Expected \"x\" to be integer type.  Found: tensor of dtype <dtype: 'float32'>" == fraction


def test_proper_iterables_are_neither_text_nor_tensor() -> None:
    check.assert_proper_iterable([1])

    for one in ("a", tf.constant([1]), np.ones(2)):
        assert 'to be a "proper" iterable' in text_of(TypeError, check.assert_proper_iterable, one)
    assert "to be iterable." in text_of(TypeError, check.assert_proper_iterable, 1)


def test_floating_dtypes_agree() -> None:
    one, double = tf.constant(1.0), tf.constant(1.0, tf.float64)
    assert [tf.float32, tf.float64] == [check.assert_same_float_dtype(t) for t in (None, [double])]

    text = text_of(ValueError, check.assert_same_float_dtype, [one, double])
    assert "must be of the same type (<dtype: 'float32'>) as tf.Tensor(1.0, shape=(), dtype=float32)." in text
    text = text_of(ValueError, check.assert_same_float_dtype, [tf.constant(1)])
    assert "Expected floating point type, got <dtype: 'int32'>." == text


@pytest.mark.parametrize("shape", [("N", "M"), (2, 3), (2, "..."), ("...", 3), (None, "."), "NM"])
def test_shapes_fit_in_many_spellings(shape: Any) -> None:
    check.assert_shapes([(tf.zeros([2, 3]), shape)])


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (
            [([2, 3], "NM"), ([3], "N")],
            "Specified by tensor shape=(2, 3) dtype=float32 dimension 0.  Tensor shape=(3,) dtype=float32 dimension 0 "
            "must have size 2.  Received size 3, shape (3,)",
        ),
        (
            [([2, 3], (2, 4))],
            "Specified explicitly.  Tensor shape=(2, 3) dtype=float32 dimension 1 must have size 4.  "
            "Received size 3, shape (2, 3)",
        ),
        ([([2, 3], ("N", 3, "M"))], "Tensor  must have rank 3.  Received rank 2, shape (2, 3)"),
        ([([2], ("...", 1, 2))], "Tensor  must have rank at least 2.  Received rank 1, shape (2,)"),
    ],
)
def test_shapes_that_do_not_fit_are_told(pairs: Any, text: str) -> None:
    shapes = [(tf.zeros(lengths), shape) for lengths, shape in pairs]

    assert text == text_of(ValueError, check.assert_shapes, shapes)
