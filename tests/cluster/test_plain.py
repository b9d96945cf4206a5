"""Attributes of ops as text, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._cluster.plain import text_of, value_of
from nbtf._ops.arrays.indexing import Masks

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        [
            tf.float32,
            tf.int64,
            tf.bool,
            np.dtype("int8"),
            tf.TensorShape([2, None]),
            tf.TensorShape(None),
            Masks(1, 2, 3),
            slice(None, 3),
        ]
    )
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner)
)


def same(a: Any, b: Any) -> bool:
    """Tells whether two values are equal and of the same classes, signs of zero included."""
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ in (list, tuple, Masks):
        return len(a) == len(b) and all(map(same, a, b))
    if a.__class__ is dict:
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if a.__class__ is tf.TensorShape:
        return repr(a) == repr(b)
    return bool(a == b and (a.__class__ is not float or math.copysign(1, a) == math.copysign(1, b)))


@given(VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    assert same(value, value_of(text_of(value)))


@pytest.mark.parametrize("value", [np.arange(6).reshape(2, 3), np.float32(0.1), np.array(7), np.zeros((0, 3), bool)])
def test_arrays_keep_shape_dtype_and_class(value: Any) -> None:
    again = value_of(text_of(value))

    assert type(value) is type(again)
    assert (value.dtype, value.shape, value.tolist()) == (again.dtype, again.shape, again.tolist())


@pytest.mark.parametrize("value", [len, object(), lambda: 0, open, [len]])
def test_what_is_no_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="not plain data"):
        text_of(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"own": ["os", "system", ["true"]]}',
        '{"own": ["nbtf._storage", "open", ["x"]]}',
        '{"own": ["nbtf.errors", "OpError", ["x"]]}',
    ],
)
def test_no_text_calls_anything_but_classes_of_attributes(text: str) -> None:
    with pytest.raises((ValueError, AttributeError)):
        value_of(text)
