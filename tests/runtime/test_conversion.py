"""Which tensor does a value become?"""

from __future__ import annotations

import array
import enum
import threading
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.host_values import host_array
from tests.machines import LOCAL, machine


class Colour(enum.IntEnum):
    RED = 3


class Half(float):
    """A float by another name."""


class ArrayLike:
    """Something that NumPy can read."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array([1, 2, 3], np.int16)


class Point(NamedTuple):
    """A tuple by another name."""

    x: int
    y: int


def kind_and_values(value: Any, dtype: Any = None) -> tuple[str, Any]:
    found, kind = host_array(value, dtype)
    return kind.name, found.tolist()


# The value's own dtype


@pytest.mark.parametrize(
    ("value", "dtype", "values"),
    [
        (1, "int32", 1),
        (1.5, "float32", 1.5),
        (True, "bool", True),
        (1j, "complex128", 1j),
        ("é", "string", "é".encode()),
        (b"x", "string", b"x"),
        (2**31, "int64", 2**31),
        (-(2**63), "int64", -(2**63)),
        (1e400, "float32", float("inf")),
        (np.float64(1.5), "float64", 1.5),
        (np.int8(1), "int8", 1),
        (np.uint64(2**63), "uint64", 2**63),
        (np.array([1, 2]), "int64", [1, 2]),
        (np.array([1], ">i4"), "int32", [1]),
        (np.array(["a", "b"]), "string", [b"a", b"b"]),
        (np.array([b"a", "b"], object), "string", [b"a", b"b"]),
        (np.ma.array([1, 2], mask=[False, True]), "int64", [1, 2]),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        ((1, 2), "int32", [1, 2]),
        (Point(1, 2), "int32", [1, 2]),
        ([(1, 2), (3, 4)], "int32", [[1, 2], [3, 4]]),
        (range(3), "int32", [0, 1, 2]),
        (array.array("i", [1, 2]), "int32", [1, 2]),
        (memoryview(b"ab"), "int32", [97, 98]),
        (Colour.RED, "int32", 3),
        (Half(1.5), "float32", 1.5),
        (ArrayLike(), "int16", [1, 2, 3]),
        (tf.TensorShape([1, 2]), "int32", [1, 2]),
        (tf.TensorShape([2**31]), "int64", [2**31]),
    ],
)
def test_value_has_a_dtype_of_its_own(value: Any, dtype: str, values: Any) -> None:
    assert (dtype, values) == kind_and_values(value)


@pytest.mark.parametrize(
    ("value", "dtype", "values"),
    [
        ([1, 2.5], "float32", [1.0, 2.5]),
        ([1.5, 2], "float32", [1.5, 2.0]),
        ([1, True], "int32", [1, 1]),
        ([1.5, True], "float32", [1.5, 1.0]),
        ([1j, 1.5, 1, True], "complex128", [1j, 1.5, 1, 1]),
        (["a", b"b"], "string", [b"a", b"b"]),
        ([1, 2**40], "int64", [1, 2**40]),
        ([1, 2**40, 1.5], "float32", [1.0, 2.0**40, 1.5]),
        ([np.int64(3), 2], "int32", [3, 2]),
        ([np.uint8(3), np.uint8(4)], "int32", [3, 4]),
        ([2.5, np.int64(3)], "float32", [2.5, 3.0]),
        ([np.int64(3), 2.5], "float32", [3.0, 2.5]),
        ([np.float64(1.5), 2], "float64", [1.5, 2.0]),
        ([np.float32(1), np.float64(2)], "float32", [1.0, 2.0]),
        ([np.float16(1), np.float64(2)], "float16", [1.0, 2.0]),
        ([np.complex64(1j)], "complex128", [1j]),
        ([np.bool_(True), False], "bool", [True, False]),
        ([np.str_("q"), "r"], "string", [b"q", b"r"]),
        ([Colour.RED, 1], "int32", [3, 1]),
        ([np.array(1), 2], "int32", [1, 2]),
        ([np.array([1, 2]), [3, 4]], "int32", [[1, 2], [3, 4]]),
        ([np.ones(2), np.ones(2)], "float64", [[1.0, 1.0], [1.0, 1.0]]),
        ([np.ones(2), np.ones(2, np.float16)], "float64", [[1.0, 1.0], [1.0, 1.0]]),
        ([[np.array([1, 2])], [np.array([3, 4])]], "int32", [[[1, 2]], [[3, 4]]]),
        ([np.array([1, 2**40])], "int64", [[1, 2**40]]),
        ([np.array([200], np.uint8)], "int32", [[200]]),
        ([np.array([True]), np.array([False])], "bool", [[True], [False]]),
        ([np.array([1j], np.complex64)], "complex128", [[1j]]),
        ([np.array(["a"]), np.array(["b"])], "string", [[b"a"], [b"b"]]),
        ([np.zeros(0), np.zeros(0)], "float32", [[], []]),
    ],
)
def test_first_leaf_of_a_list_decides(value: Any, dtype: str, values: Any) -> None:
    assert (dtype, values) == kind_and_values(value)


MIXED = "Can't convert Python sequence with mixed types to Tensor."
RAGGED = "Can't convert non-rectangular Python sequence to Tensor."
TOO_LARGE = "Can't convert Python sequence with out-of-range integer to Tensor."


def unsupported(text: str, kind: str) -> str:
    return f"Attempt to convert a value ({text}) with an unsupported type (<class '{kind}'>) to a Tensor."


def from_numpy(what: str) -> str:
    return f"Failed to convert a NumPy array to a Tensor (Unsupported {what})."


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([True, 1], MIXED),
        ([np.bool_(True), 1.5], MIXED),
        ([1, np.bool_(True)], MIXED),
        (["a", 1], MIXED),
        ([1, "a"], MIXED),
        ([1, 1j], MIXED),
        ([1.0, None], MIXED),
        ([1, [2, 3]], MIXED),
        ([[1], [2, 3]], RAGGED),
        ([[1, 2], 3], RAGGED),
        ([["a"], ["b", "c"]], RAGGED),
        ([np.ones(2), np.ones(3)], RAGGED),
        (2**63, TOO_LARGE),
        ([2**70, 1.5, "a"], TOO_LARGE),
        ([np.full(2, 2**63, np.uint64)], TOO_LARGE),
        (None, unsupported("None", "NoneType")),
        ([None, 1], unsupported("None", "NoneType")),
        ([[None]], unsupported("None", "NoneType")),
        ({}, unsupported("{}", "dict")),
        ([{}], unsupported("{}", "dict")),
        ({1, 2}, unsupported("{1, 2}", "set")),
        (Fraction(1, 2), unsupported("Fraction(1, 2)", "fractions.Fraction")),
        (int, unsupported("<class 'int'>", "type")),
        (np.int32, unsupported("<class 'numpy.int32'>", "type")),
        (..., unsupported("Ellipsis", "ellipsis")),
        (np.array([1, 2.5], object), from_numpy("object type int")),
        (np.array([None]), from_numpy("object type NoneType")),
        (np.array([[1], [2, 3]], object), from_numpy("object type list")),
        (np.datetime64("2020-01-01"), from_numpy("numpy type: NPY_DATETIME")),
        (np.zeros(2, "i4,f4"), from_numpy("numpy data type")),
        (tf.TensorShape([None]), "Cannot convert a partially known TensorShape (None,) to a Tensor."),
    ],
)
def test_value_that_cannot_be_a_tensor_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        host_array(value)

    assert message == str(caught.value)


# A dtype that is asked for


@pytest.mark.parametrize(
    ("value", "dtype", "values"),
    [
        (1, tf.float32, 1.0),
        (1, tf.uint8, 1),
        (1, tf.complex64, 1 + 0j),
        (1.5, tf.complex64, 1.5 + 0j),
        (True, tf.int32, 1),
        (True, tf.float16, 1.0),
        ([True, 2**63], tf.uint64, [1, 2**63]),
        ([True, 1], tf.int32, [1, 1]),
        ([True, 1.5], tf.float32, [1.0, 1.5]),
        (300, tf.uint8, 44),
        (-1, tf.uint8, 255),
        (2**40, tf.int32, 0),
        (2**31, tf.int32, -(2**31)),
        ([2**63], tf.uint64, [2**63]),
        (2**70, tf.float64, 2.0**70),
        (1e300, tf.float16, float("inf")),
        ([], tf.int32, []),
        (np.array([1.7, -1.2]), tf.int32, [1, -1]),
        (np.array([1j]), tf.float32, [0.0]),
        (np.array([0.0, 2.0]), tf.bool, [False, True]),
        (np.float32(1.5), tf.int32, 1),
        ([np.int64(3)], tf.float32, [3.0]),
        ([np.float64(1.5), 2], tf.float32, [1.5, 2.0]),
        (np.array(["a"]), tf.string, [b"a"]),
        ([np.full(1, 2**63, np.uint64)], tf.uint64, [[2**63]]),
        ([np.array([2**40])], tf.int32, [[0]]),
        ([np.array([1.5], np.float64)], tf.float32, [[1.5]]),
    ],
)
def test_dtype_may_be_asked_for(value: Any, dtype: tf.DType, values: Any) -> None:
    assert (dtype.name, values) == kind_and_values(value, dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "name"),
    [
        (1.5, tf.int32, "int32"),
        ([1, 2.5], tf.int32, "int32"),
        (1, tf.bool, "bool"),
        (1, tf.string, "string"),
        ("a", tf.float32, "float"),
        (1j, tf.float64, "double"),
        (True, tf.uint8, "uint8"),
        (True, tf.complex64, "complex64"),
        ([np.float32(1.5)], tf.int32, "int32"),
        ([np.bool_(True)], tf.int32, "int32"),
        ([np.array([1.5])], tf.int32, "int32"),
        ([np.array([1, 2])], tf.bool, "bool"),
    ],
)
def test_python_values_must_suit_the_dtype(value: Any, dtype: tf.DType, name: str) -> None:
    with pytest.raises(TypeError) as caught:
        host_array(value, dtype)

    assert f"Cannot convert {value!r} to EagerTensor of dtype {name}" == str(caught.value)


@pytest.mark.parametrize("value", [1e300, [1e300], np.array([1e300]), np.array([float("nan")])])
@pytest.mark.parametrize("errors", ["warn", "raise"])
def test_values_that_do_not_fit_are_taken_in_silence(value: Any, errors: Any) -> None:
    dtype = tf.int32 if isinstance(value, np.ndarray) and np.isnan(value).any() else tf.float16
    with warnings.catch_warnings(), np.errstate(all=errors):
        warnings.simplefilter("error")

        assert dtype is host_array(value, dtype)[1]


# Tensors, variables and lists of them


def test_tensor_comes_back_as_it_is_wherever_it_is() -> None:
    with machine(2):
        with tf.device("GPU:1"):
            x = tf.constant([1.0])

        assert x is as_tensor(x)
        assert x is as_tensor(x, tf.float32)


def test_tensor_of_another_dtype_is_refused() -> None:
    x = tf.constant(1)

    with pytest.raises(ValueError, match=r"^Tensor conversion requested dtype float32 for Tensor with dtype int32: "):
        as_tensor(x, tf.float32)


def test_array_is_copied() -> None:
    source = np.zeros(2, np.float32)
    x = as_tensor(source)
    source[0] = 9

    assert [0.0, 0.0] == x.numpy().tolist()


@pytest.mark.parametrize(
    ("value", "dtype", "values"),
    [
        (lambda one: [one, 2.5], "float32", [1.0, 2.5]),
        (lambda one: [2, one], "float32", [2.0, 1.0]),
        (lambda one: [[one, 2], [3, 4]], "float32", [[1.0, 2.0], [3.0, 4.0]]),
        (lambda one: ([one, one], (one, 3)), "float32", [[1.0, 1.0], [1.0, 3.0]]),
    ],
)
@pytest.mark.parametrize("make", [lambda: tf.constant(1.0), lambda: tf.Variable(1.0)])
def test_numbers_beside_a_tensor_take_its_dtype(make: Any, value: Any, dtype: str, values: Any) -> None:
    x = as_tensor(value(make()))

    assert (dtype, values) == (x.dtype.name, x.numpy().tolist())


def test_number_that_does_not_suit_the_tensor_beside_it_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Cannot convert 1.5 to EagerTensor of dtype int32$"):
        as_tensor([1.5, tf.constant(1)])


def test_what_knows_how_to_become_a_tensor_is_asked() -> None:
    class Wrapped:
        def __tf_tensor__(self, dtype: tf.DType | None = None) -> tf.Tensor:
            return tf.constant([1.0, 2.0])

    assert [1.0, 2.0] == as_tensor(Wrapped()).numpy().tolist()


# Where values go


def test_values_go_where_ops_go() -> None:
    with machine(2):
        places = [as_tensor(1.5).device]
        with tf.device("GPU:1"):
            places.append(as_tensor(1.5).device)
        with tf.device("CPU:0"):
            places.append(as_tensor(1.5).device)

    assert [f"{LOCAL}GPU:0", f"{LOCAL}GPU:1", f"{LOCAL}CPU:0"] == places


@pytest.mark.parametrize("value", [1, [1, 2], "a", ["a"]])
def test_integers_and_texts_belong_to_the_gpu_and_stay_on_the_host(value: Any) -> None:
    with machine(1):
        x = as_tensor(value)

        assert (f"{LOCAL}GPU:0", f"{LOCAL}CPU:0") == (x.device, x.backing_device)


@pytest.mark.parametrize("value", [1.5, True, 1j, np.int64(1), np.uint8(1), np.float16(1)])
def test_other_values_are_in_the_memory_of_the_gpu(value: Any) -> None:
    with machine(1):
        assert f"{LOCAL}GPU:0" == as_tensor(value).backing_device


def test_constants_of_the_lane_and_of_the_road_are_alike() -> None:
    lane = as_tensor([1.0, 2.0])
    stop = tf.runtime.observe(lambda event: None)
    road = as_tensor([1.0, 2.0])
    stop()

    assert (lane.device, lane.dtype, lane.shape, lane._watch) == (road.device, road.dtype, road.shape, road._watch)


def test_first_constants_of_many_threads_agree_on_the_device() -> None:
    made, start = list[tf.Tensor](), threading.Barrier(8)

    def work() -> None:
        start.wait()
        made.append(as_tensor(1.0))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [CURRENT.context.host] * 8 == [x._device for x in made]


@pytest.mark.parametrize("traced", [False, True])
def test_tensors_in_a_list_take_the_dtype_that_is_asked_for(traced: bool) -> None:
    whole, broken = tf.constant(3), tf.constant(3.5)

    def convert() -> list[tf.Tensor]:
        return [
            tf.convert_to_tensor((whole, 2), tf.float32),
            tf.convert_to_tensor([broken, whole], tf.int32),
            tf.convert_to_tensor([[whole, 2], [1, broken]], tf.float64),
            tf.reshape(tf.zeros(9), (broken, 3, 1)),
        ]

    found = (tf.function(convert) if traced else convert)()

    assert [x.dtype for x in found[:3]] == [tf.float32, tf.int32, tf.float64]
    assert [x.numpy().tolist() for x in found[:3]] == [[3, 2], [3, 3], [[3, 2], [1, 3.5]]]
    assert found[3].shape == [3, 3, 1]
    with pytest.raises(ValueError, match="requested dtype float32"):
        tf.convert_to_tensor(whole, tf.float32)
