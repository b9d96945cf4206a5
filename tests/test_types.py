"""What a dtype says, and what stands for one."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from nbtf import _types
from nbtf._types import (
    ALL,
    COMPLEXES,
    DTYPE_OF,
    FLOATS,
    HOST_DTYPES,
    INTEGERS,
    NUMBERS,
    REALS,
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint64,
    variant,
)
from nbtf.errors import UnimplementedError

EVERY = sorted((value for value in vars(_types).values() if isinstance(value, DType)), key=lambda kind: kind.name)
WITH_VALUES = sorted(ALL, key=lambda kind: kind.name)
WITHOUT_VALUES = [resource, variant]

every = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
with_values = pytest.mark.parametrize("kind", WITH_VALUES, ids=lambda kind: kind.name)


class Array:
    """Has a dtype as tensors do."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.shape = ()


@every
def test_a_name_stands_for_one_object(kind: DType) -> None:
    assert as_dtype(kind.name) is kind


@every
def test_a_number_stands_for_one_object(kind: DType) -> None:
    assert as_dtype(kind.as_datatype_enum) is kind


@every
def test_a_dtype_stands_for_itself(kind: DType) -> None:
    assert as_dtype(kind) is kind


@every
def test_a_tensor_stands_for_its_dtype(kind: DType) -> None:
    assert as_dtype(Array(kind)) is kind


@with_values
def test_numpys_class_and_dtype_stand_for_it(kind: DType) -> None:
    assert as_dtype(kind.as_numpy_dtype) is as_dtype(kind.np_dtype) is as_dtype(kind.np_dtype.type) is kind


@with_values
def test_an_array_stands_for_its_dtype(kind: DType) -> None:
    assert as_dtype(np.empty(2, kind.np_dtype)) is kind


@with_values
def test_an_arrays_dtype_is_a_key(kind: DType) -> None:
    assert DTYPE_OF[np.empty(2, kind.np_dtype).dtype] is kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (float, float32),
        (bool, bool_),
        (object, string),
        ("half", float16),
        ("float", float32),
        ("double", float64),
        (np.str_, string),
        (np.bytes_, string),
        (np.dtype("S3"), string),
        (np.dtype("U3"), string),
        (np.dtype(">f4"), float32),
        (np.longlong, int64),
        (np.ulonglong, uint64),
        (np.intc, int32),
        (np.dtype(np.longlong), int64),
    ],
    ids=repr,
)
def test_other_spellings(value: Any, kind: DType) -> None:
    assert as_dtype(value) is kind


@pytest.mark.parametrize(
    "value",
    [
        *("nope", "i4", "<f4", "Float32", "", "bool_"),
        *(int, str, complex, np.number, np.datetime64, np.longdouble, np.dtype("M8[s]")),
        *(None, [], {}, 0, 999, True, -1, 1.0, pytest.param(object(), id="object()")),
    ],
    ids=repr,
)
def test_what_stands_for_nothing_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        as_dtype(value)

    assert f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType." == str(caught.value)


@every
def test_texts(kind: DType) -> None:
    assert (f"tf.{kind.name}", f"<dtype: '{kind.name}'>") == (repr(kind), str(kind))


def test_equal_to_what_stands_for_it() -> None:
    assert all(float32 == other for other in (float32, "float32", np.float32, np.dtype("float32"), float))


def test_equality_works_from_the_other_side() -> None:
    assert "float32" == float32
    assert np.float32 == float32
    assert np.dtype("float32") == float32


@pytest.mark.parametrize(
    "other",
    [float64, "float64", np.float64, None, "nope", [1], int, pytest.param(object(), id="object()"), 3.5],
    ids=repr,
)
def test_unequal_to_everything_else(other: object) -> None:
    assert float32 != other
    assert other != float32


def test_the_hash_is_the_objects_own() -> None:
    assert DType.__hash__ is object.__hash__


def test_one_kind_is_one_element_of_a_set() -> None:
    assert 1 == len({float32, as_dtype("float32"), as_dtype(np.float32)})


@every
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_gives_the_same_object(kind: DType, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(kind, protocol)) is kind


@every
def test_copies_are_the_same_object(kind: DType) -> None:
    assert copy.copy(kind) is copy.deepcopy(kind) is kind


@with_values
def test_flags_agree_with_numpy(kind: DType) -> None:
    flags = (kind.is_floating, kind.is_integer, kind.is_unsigned, kind.is_complex, kind.is_bool)
    is_a = [
        np.issubdtype(kind.np_dtype, parent)
        for parent in (np.floating, np.integer, np.unsignedinteger, np.complexfloating, np.bool)
    ]

    assert tuple(is_a) == flags
    assert kind.is_numeric == np.issubdtype(kind.np_dtype, np.number)


@pytest.mark.parametrize("kind", sorted(ALL - {string}, key=repr), ids=repr)
def test_the_size_is_in_bytes(kind: DType) -> None:
    assert kind.np_dtype.itemsize == kind.size


def test_texts_have_no_size() -> None:
    assert 0 == string.size


@pytest.mark.parametrize("kind", sorted(INTEGERS, key=repr), ids=repr)
def test_the_range_of_integers(kind: DType) -> None:
    lowest = 0 if kind.is_unsigned else -(2 ** (8 * kind.size - 1))
    highest = 2 ** (8 * kind.size - (0 if kind.is_unsigned else 1)) - 1

    assert (lowest, highest) == (kind.min, kind.max)
    assert (0, highest) == kind.limits


@pytest.mark.parametrize("kind", sorted(FLOATS, key=repr), ids=repr)
def test_the_range_of_floats(kind: DType) -> None:
    infinity = kind.as_numpy_dtype(np.inf)

    assert (-kind.max, np.nextafter(infinity, kind.as_numpy_dtype(0))) == (kind.min, kind.max)


@pytest.mark.parametrize("kind", [bool_, string, complex64, resource], ids=repr)
@pytest.mark.parametrize(("end", "word"), [("min", "minimum"), ("max", "maximum")])
def test_only_real_numbers_have_a_range(kind: DType, end: str, word: str) -> None:
    with pytest.raises(TypeError, match=rf"^Cannot find {word} value of {kind} with type {kind}.$"):
        getattr(kind, end)


def test_limits_of_images() -> None:
    assert ((0, 1), (0, 255), (0, 1)) == (float32.limits, uint8.limits, bool_.limits)


def test_strings_have_no_limits() -> None:
    with pytest.raises(ValueError, match=r"^<dtype: 'string'> does not have defined limits.$"):
        _ = string.limits


def test_parts_of_complex_numbers_are_real() -> None:
    assert (float32, float64, int32) == (complex64.real_dtype, complex128.real_dtype, int32.real_dtype)


@every
def test_there_are_no_references_and_no_quantized_dtypes(kind: DType) -> None:
    assert kind.base_dtype is kind
    assert not kind.is_quantized


def test_compatible_with_what_stands_for_it() -> None:
    assert float32.is_compatible_with("float32")
    assert not float32.is_compatible_with(float64)


def test_compatible_with_nonsense_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Cannot convert the argument"):
        float32.is_compatible_with("nope")


def test_kernels_speak_c() -> None:
    spelt_otherwise = {kind.name: kind.c_name for kind in EVERY if kind.c_name != kind.name}

    assert {"float16": "half", "float32": "float", "float64": "double"} == spelt_otherwise


@pytest.mark.parametrize("kind", WITHOUT_VALUES, ids=repr)
@pytest.mark.parametrize("name", ["np_dtype", "as_numpy_dtype"])
def test_kinds_without_values_say_so(kind: DType, name: str) -> None:
    text = rf"^tf.{kind.name} has no NumPy dtype, so nbtf cannot hold such values$"
    for error in (TypeError, UnimplementedError):
        with pytest.raises(error, match=text):
            getattr(kind, name)


def test_a_misspelt_attribute_is_an_attribute_error() -> None:
    misspelt = "is_float"

    with pytest.raises(AttributeError, match=r"^'DType' object has no attribute 'is_float'$"):
        getattr(float32, misspelt)


@every
def test_sets_hold_the_kinds_that_have_values(kind: DType) -> None:
    if kind is not bfloat16 and not kind.name.startswith("float8"):  # in no set: see tests/test_bfloat16.py
        assert kind.is_numpy_compatible == (kind in ALL) == (kind not in WITHOUT_VALUES)


@with_values
def test_sets_agree_with_the_flags(kind: DType) -> None:
    assert (kind.is_floating, kind.is_integer, kind.is_complex) == (
        kind in FLOATS,
        kind in INTEGERS,
        kind in COMPLEXES,
    )


def test_sets_nest() -> None:
    assert REALS == FLOATS | INTEGERS
    assert NUMBERS == REALS | COMPLEXES
    assert {bool_, string} == ALL - NUMBERS


def test_shapes_and_texts_stay_on_the_host() -> None:
    assert {int32, string} == HOST_DTYPES
    assert int8 not in HOST_DTYPES
