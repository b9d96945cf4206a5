"""TensorFlow's special rules of constants, filled tensors and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._record.events import OpPlaced
from nbtf._runtime.context import Context, use_context
from nbtf.errors import NotFoundError
from tests.ops.refusals import refused


def placed(call: Callable[[], Any]) -> list[str]:
    """Returns the ops that a call runs."""
    with use_context(Context(environ={})) as context:
        heard: list[Any] = []
        context.observers.add(heard.append)
        call()
    return [event.op for event in heard if isinstance(event, OpPlaced)]


@pytest.mark.parametrize(
    ("call", "ops"),
    [
        (lambda: tf.zeros([2]), ["_EagerConst", "_EagerConst", "Fill"]),
        (lambda: tf.fill([2], 1.0), ["_EagerConst", "_EagerConst", "Fill"]),
        (lambda: tf.range(3), ["_EagerConst", "_EagerConst", "_EagerConst", "Range"]),
        (lambda: tf.eye(2), ["_EagerConst", "_EagerConst", "Fill", "MatrixDiagV3"]),
        (lambda: tf.constant([1, 2], shape=[2, 1]), ["_EagerConst", "_EagerConst", "Reshape"]),
        (lambda: tf.constant(5, shape=[2]), ["_EagerConst", "_EagerConst", "Fill"]),
        (lambda: tf.constant([1, 2], shape=[2]), ["_EagerConst"]),
        (lambda: tf.zeros_like([1]), ["_EagerConst", "ZerosLike"]),
        (lambda: tf.zeros_like([1], tf.float32), ["_EagerConst", "Shape", "_EagerConst", "Fill"]),
        (lambda: tf.convert_to_tensor([tf.constant(1), 2]), ["_EagerConst", "_EagerConst", "Pack"]),
    ],
)
def test_the_log_shows_the_constants_that_tensorflow_makes(call: Callable[[], Any], ops: list[str]) -> None:
    assert ops == placed(call)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.zeros([-1]), "Dimension -1 must be >= 0"),
        (lambda: tf.fill([2], [1.0, 2.0]), "value must represent a scalar, got shape [2]"),
        (lambda: tf.fill([2.0], 1), "Value for attr 'index_type' of float is not in the list of allowed values"),
        (lambda: tf.ones_like(["a"]), "Value for attr 'T' of string is not in the list of allowed values"),
        (lambda: tf.range(0, 3, 0), "Requires delta != 0: 0"),
        (lambda: tf.range(3, 0), "Requires start <= limit when delta > 0: 3/0"),
        (lambda: tf.range(0, 3, -1), "Requires start >= limit when delta < 0: 0/3"),
        (lambda: tf.range(tf.constant([1, 2])), "limit must be a scalar, not shape [2]"),
        (lambda: tf.range(3, dtype=tf.uint8), "Value for attr 'Tidx' of uint8 is not in the list of allowed values"),
        (lambda: tf.linspace(0.0, 1.0, -1), "Requires start <= limit when delta > 0: 1/-1"),
        (lambda: tf.one_hot([0], 2, axis=2), "Expected axis to be -1 or between [0, 2).  But received: 2"),
        (lambda: tf.one_hot([0], -1), "depth must be non-negative, got: -1"),
        (lambda: tf.one_hot([0], [2]), "depth must be a scalar, but got: [1]"),
        (lambda: tf.one_hot([0.5], 2), "Value for attr 'TI' of float is not in the list of allowed values"),
        (lambda: tf.eye(-1), "Dimension -1 must be >= 0"),
    ],
)
def test_kernels_refuse_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "uint32", "uint64"])
def test_a_range_whose_dtype_has_no_kernel_is_not_found(dtype: str) -> None:
    text = f"Could not find device for node: {{{{node Range}}}} = Range[Tidx=DT_{dtype.upper()}]"
    refused(lambda: tf.range(3, dtype=dtype), text, NotFoundError)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.zeros([2.5]), "Cannot convert [2.5] to EagerTensor of dtype int32"),
        (lambda: tf.ones([2], tf.string), "Cannot convert 1 to EagerTensor of dtype string"),
        (lambda: tf.zeros([2], "nope"), "Cannot convert the argument `type_value`: 'nope' to a TensorFlow DType."),
        (lambda: tf.constant([1, 2, 3], shape=[2, 2]), "Eager execution of tf.constant with unsupported shape."),
        (lambda: tf.constant(tf.constant([1, 2]), tf.float32), "Expected tensor [1 2] with dtype tf.float32, but got"),
        (lambda: tf.convert_to_tensor([tf.constant(1), 2.5]), "Cannot convert 2.5 to EagerTensor of dtype int32"),
        (lambda: tf.range(3.5, dtype=tf.int32), "Cannot convert 3.5 to EagerTensor of dtype int32"),
        (
            lambda: tf.range("a"),
            "tf.range accepts int32, int64, float16, bfloat16, float32 or float64 numbers, got tf.string",
        ),
        (lambda: tf.linspace(0.0, 1.0, 2.5), "Argument `tensor` (name: num) must be of type integer."),
        (lambda: tf.linspace(0, 1.5, 3), "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (lambda: tf.eye(2.5), "Arguments `num_rows` and `num_columns` must be positive integer values."),
        (
            lambda: tf.one_hot([0], 2, 5.0, 1),
            "dtype <dtype: 'float32'> of on_value does not match dtype <dtype: 'int32'>",
        ),
        (lambda: tf.one_hot([0], 2, 5.0, dtype=tf.int32), "dtype <dtype: 'float32'> of on_value does not match dtype"),
        (lambda: tf.meshgrid([1], wrong=1), "'wrong' is an invalid keyword argument for this function"),
    ],
)
def test_python_values_that_do_not_suit_are_type_errors(call: Callable[[], Any], text: str) -> None:
    refused(call, text, TypeError)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.zeros(tf.TensorShape([None])), "Cannot convert a partially known TensorShape (None,) to a Tensor."),
        (lambda: tf.zeros(None), "Attempt to convert a value (None) with an unsupported type"),
        (lambda: tf.constant(5, shape=[None]), "Attempt to convert a value (None) with an unsupported type"),
        (lambda: tf.constant(5, shape=[-1]), "Dimension -1 must be >= 0"),
        (
            lambda: tf.convert_to_tensor(tf.ones([1]), tf.int32),
            "Tensor conversion requested dtype int32 for Tensor with",
        ),
        (
            lambda: tf.meshgrid([1], indexing="yx"),
            "Argument `indexing` parameter must be either 'xy' or 'ij', got 'yx'",
        ),
    ],
)
def test_values_that_cannot_be_tensors_are_value_errors(call: Callable[[], Any], text: str) -> None:
    refused(call, text, ValueError)


def test_constant_gives_a_tensor_back_as_it_is() -> None:
    tensor = tf.constant([1, 2])

    assert tensor is tf.constant(tensor)
    assert tensor is tf.convert_to_tensor(tensor, dtype_hint=tf.float32)


def test_a_dtype_hint_is_followed_where_the_value_suits() -> None:
    assert tf.float32 is tf.convert_to_tensor([1, 2], dtype_hint=tf.float32).dtype
    assert tf.float32 is tf.convert_to_tensor([1.5], dtype_hint=tf.int32).dtype


def test_shapes_are_read_from_whatever_describes_them() -> None:
    for shape in ([2, 3], (2, 3), np.array([2, 3]), tf.TensorShape([2, 3]), tf.constant([2, 3]), [tf.constant(2), 3]):
        assert (2, 3) == tf.zeros(shape).shape
        assert (2, 3) == tf.constant(5, shape=shape).shape


def test_ranges_have_the_widest_dtype_of_their_numbers() -> None:
    assert tf.int32 is tf.range(3).dtype
    assert tf.int64 is tf.range(np.int64(3)).dtype
    assert tf.float32 is tf.range(tf.constant(1, tf.int64), 4.0).dtype
    assert tf.float64 is tf.range(1, 5, np.float64(1)).dtype
    assert tf.int64 is tf.range(2**31, 2**31 + 2).dtype


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-5, 5).filter(bool))
def test_integer_ranges_are_pythons(start: int, limit: int, delta: int) -> None:
    if (limit - start) * delta < 0:
        return
    assert list(range(start, limit, delta)) == tf.range(start, limit, delta).numpy().tolist()


@given(st.integers(1, 50), st.floats(-5, 5, width=32), st.floats(0.125, 5, width=32))
def test_float_ranges_are_multiples_of_the_step(count: int, start: float, delta: float) -> None:
    numbers = tf.range(start, start + count * delta, delta).numpy()

    assert abs(len(numbers) - count) <= 1
    assert (
        np.float32(start) + np.arange(len(numbers), dtype=np.float32) * np.float32(delta)
    ).tolist() == numbers.tolist()


@given(st.floats(-100, 100, width=32), st.floats(-100, 100, width=32), st.integers(2, 20))
def test_linspace_ends_where_it_is_told_to(start: float, stop: float, num: int) -> None:
    numbers = tf.linspace(start, stop, num).numpy()

    assert (num, start, stop) == (len(numbers), numbers[0], numbers[-1])


def test_linspace_of_small_integers_is_float32() -> None:
    assert tf.float32 is tf.linspace(np.int8(0), np.int8(1), 2).dtype
    assert tf.float64 is tf.linspace(tf.constant(0, tf.int64), 1, 2).dtype


def test_one_hot_takes_its_dtype_from_its_values() -> None:
    assert tf.int32 is tf.one_hot([0], 2, on_value=5).dtype
    assert tf.float64 is tf.one_hot([0], 2, 2, dtype=tf.float64).dtype
    assert [[2, 7]] == tf.one_hot([0], 2, tf.constant(2), 7).numpy().tolist()


def test_meshgrid_in_matrix_order() -> None:
    x, y = tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")

    assert [[1, 1, 1], [2, 2, 2]] == x.numpy().tolist()
    assert [[3, 4, 5], [3, 4, 5]] == y.numpy().tolist()
    assert [] == tf.meshgrid()


def test_variables_are_tensors_but_have_no_static_value() -> None:
    variable = tf.Variable(5)

    assert tf.is_tensor(variable)
    assert tf.get_static_value(variable) is None
    assert not tf.is_tensor([tf.constant(1)])


@pytest.mark.parametrize(
    "indices",
    [np.array([1.0, 2.0]), np.array([1, 2], np.int16), np.array([1, 2], np.float32)],
    ids=lambda a: a.dtype.name,
)
def test_places_in_numpys_arrays_become_int64(indices: Any) -> None:
    assert tf.one_hot(indices, 3).numpy().tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert tf.one_hot([True], 2).numpy().tolist() == [[0.0, 1.0]]
