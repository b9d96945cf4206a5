"""Conversion of Python values to host arrays, with TensorFlow's rules for the dtype.

The first leaf of nested lists decides: a number, a boolean or a string. NumPy scalars count as Python scalars there,
but floats keep their width. Arrays keep their dtype, and are cast without checks if another dtype is requested.

Source: py_seq_tensor.cc of TensorFlow 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np

from nbtf._runtime.host_arrays import Array, bytes_array, from_numpy, plain, quietly
from nbtf._shapes import TensorShape
from nbtf._types import (
    DType,
    as_dtype,
    bool_,
    complex128,
    float16,
    float32,
    float64,
    int32,
    int64,
    string,
    uint64,
)

DEFAULT_OF: dict[type, DType] = {
    float: float32,
    int: int32,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
}
"""The dtype of Python values if none is requested."""

# Letters for kinds of leaves: Python bool B, NumPy bool b, integer i, float f, complex c, string s; "" for others.
_LETTER_OF: dict[type, str] = {float: "f", int: "i", bool: "B", complex: "c", str: "s", bytes: "s"}
_TAKES = {"B": "Bb", "b": "Bb", "i": "iB", "f": "ifB", "c": "ifcB", "s": "s"}
"""The kinds that may follow a leaf of each kind."""
_READS = {bool_: "Bb", int32: "iB", int64: "iB", uint64: "iB", string: "s", complex128: "ifcB"} | dict.fromkeys(
    (float16, float32, float64), "ifB"
)
"""Dtypes that values are read as directly; other dtypes need a cast afterwards."""

_MIXED = "Can't convert Python sequence with mixed types to Tensor."
_RAGGED = "Can't convert non-rectangular Python sequence to Tensor."
_TOO_LARGE = "Can't convert Python sequence with out-of-range integer to Tensor."


def host_array(value: Any, dtype: DType | None = None) -> tuple[Array, DType]:
    """Returns a new host array of a Python value or an array, and its dtype.

    Args:
      value: a number, a string, nested lists of these, or anything NumPy can read.
      dtype: the requested dtype; None for the value's own.

    Raises:
      ValueError: if lists are ragged or mixed, integers exceed 64 bits, or values are of other kinds.
      TypeError: if a Python value does not fit `dtype`.
    """
    value_type = value.__class__
    if value_type is list or value_type is tuple:
        return list_as_array(value, leaf_types(value), dtype)
    if value_type in DEFAULT_OF:
        return _from_python(value, _dtype_for(value, _LETTER_OF[value_type], DEFAULT_OF[value_type], dtype), dtype)
    if isinstance(value, np.ndarray | np.generic):
        return from_numpy(value, dtype)
    return _from_other(value, dtype)


# Python lists and numbers


def list_as_array(value: Any, types: set[type[Any]], dtype: DType | None) -> tuple[Array, DType]:
    """Returns the result of `host_array` for nested lists with these types of leaves."""
    if len(types) == 1:
        (leaf_type,) = types
        natural = DEFAULT_OF.get(leaf_type)
        if natural is not None:
            return _from_python(
                value, natural if dtype is None else _dtype_for(value, _LETTER_OF[leaf_type], natural, dtype), dtype
            )
        if leaf_type is np.ndarray:
            return _from_arrays(value, dtype)
    elif types == {int, float}:
        return _from_python(value, _dtype_for(value, "f", float32, dtype), dtype)
    elif not types:
        return _from_python(value, dtype or float32, dtype)
    return _from_leaves(value, dtype)


_LISTS = frozenset({list, tuple})
_elements_of = chain.from_iterable


def leaf_types(value: Any) -> set[type[Any]]:
    """Returns the leaf types of nested lists, plus `list` or `tuple` if leaves and lists are mixed at one level."""
    for row in value:
        if row.__class__ is not list:
            types: set[type[Any]] = {*map(type, value)}
            break
    else:  # most nested lists are matrices: looping over their rows is faster than collecting the row types
        types = {*map(type, _elements_of(value))}
        if list not in types and tuple not in types:
            return types
        value = [*_elements_of(value)]
    while types and types <= _LISTS:
        value = [*_elements_of(value)]
        types = {*map(type, value)}
    return types


def _dtype_for(value: Any, letter: str, natural: DType, dtype: DType | None) -> DType:
    """Returns the dtype for leaves of one kind: their own, or the requested one if it can hold them."""
    return dtype if dtype is not None and letter in _READS.get(dtype, "") else _cast(value, natural, dtype)


def _cast(value: Any, natural: DType, dtype: DType | None) -> DType:
    if dtype is None:
        return natural
    if _can_be_cast(natural, dtype):
        return dtype
    raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.c_name}")


def _can_be_cast(natural: DType, dtype: DType) -> bool:
    if natural.is_integer:
        return dtype.is_integer or dtype.is_floating or dtype.is_complex
    if natural.is_floating:
        return dtype.is_floating or dtype.is_complex
    return dtype.is_complex if natural.is_complex else dtype is natural


def _from_python(value: Any, target: DType, requested: DType | None) -> tuple[Array, DType]:
    try:
        if target is string:
            return bytes_array(np.array(value, object)), string
        return np.array(value, target.np_dtype), target
    except (RuntimeWarning, FloatingPointError):  # the user may have turned warnings into errors
        return quietly(value, target.np_dtype), target
    except OverflowError:
        return _from_large_integers(value, target, requested)
    except ValueError:
        raise ValueError(_RAGGED) from None


def _from_large_integers(value: Any, target: DType, requested: DType | None) -> tuple[Array, DType]:
    """Converts integers beyond int32: to int64 by default; those beyond a requested dtype wrap around."""
    try:
        array = np.array(value, np.int64)
    except OverflowError:
        raise ValueError(_TOO_LARGE) from None
    return (array, int64) if requested is None else (array.astype(target.np_dtype), target)


def _from_arrays(value: Any, dtype: DType | None) -> tuple[Array, DType]:
    """Converts lists of arrays of one dtype, applying the rules for leaves to all of them at once."""
    rows = value
    while rows[0].__class__ is not np.ndarray:
        rows = [*_elements_of(rows)]
    (first, *other_dtypes) = {row.dtype for row in rows}
    letter = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c"}.get(first.kind)
    if other_dtypes or letter is None or (first.itemsize > 8 and letter == "f"):
        return _from_leaves(value, dtype)
    try:
        array: Array = np.array(value)
    except ValueError:
        raise ValueError(_RAGGED) from None
    if not array.size or (first.kind == "u" and array.max() >= 2**63):
        return _from_leaves(value, dtype)
    natural = as_dtype(first) if letter in "bf" else complex128 if letter == "c" else int32
    if natural is int32 and (array.min() < -(2**31) or array.max() >= 2**31):
        natural = int64
    target = _dtype_for(value, letter, natural, dtype)
    return (array, target) if array.dtype == target.np_dtype else from_numpy(array, target)


# Mixed leaves, one at a time


def _from_leaves(value: Any, dtype: DType | None) -> tuple[Array, DType]:
    shape, first = _shape_and_first(value)
    if 0 not in shape and not _letter_of(first):
        raise _unsupported(first)
    leaves = list(_leaves(value, shape))
    letters = [_letter_of(leaf) for leaf in leaves]
    if dtype is not None and set(letters) <= set(_READS.get(dtype, "")):
        target = dtype
    else:
        target = _cast(value, _own_dtype(first, letters) if letters else float32, dtype)
    array, target = _from_python([plain(leaf) for leaf in leaves], target, dtype)
    return array.reshape(shape), target


def _is_list(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _shape_and_first(value: Any) -> tuple[tuple[int, ...], Any]:
    """Returns the shape of nested lists, judged by the first item at each level, and the first leaf."""
    shape: list[int] = []
    while _is_list(value):
        shape.append(len(value))
        if not shape[-1]:
            break
        value = value[0]
    return tuple(shape), _scalar(value)


def _leaves(value: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yields the leaves of nested lists, which must have the given shape."""
    if not shape:
        if _is_list(value):
            raise ValueError(_MIXED)
        yield _scalar(value)
        return
    if not _is_list(value) or len(value) != shape[0]:
        raise ValueError(_RAGGED)
    for item in value:
        yield from _leaves(item, shape[1:])


def _letter_of(leaf: Any) -> str:
    exact_letter = _LETTER_OF.get(leaf.__class__)
    if exact_letter is not None:
        return exact_letter
    for types, letter in (
        (np.bool_, "b"),
        (int | np.integer, "i"),  # includes enums
        (float | np.floating, "f"),
        (complex | np.complexfloating, "c"),
        (str | bytes, "s"),
    ):
        if isinstance(leaf, types):
            return letter
    return ""


def _own_dtype(first: Any, letters: list[str]) -> DType:
    """Returns the dtype of mixed leaves: that of the first, or float32 for integers followed by floats."""
    letter = letters[0]
    if letter == "i" and not -(2**63) <= first < 2**63:
        raise ValueError(_TOO_LARGE)
    if letter == "i" and "f" in letters:
        letter, natural = "f", float32
    elif letter == "f" and isinstance(first, np.floating):
        natural = as_dtype(cast("Any", first).dtype)
    else:
        natural = {"B": bool_, "b": bool_, "i": int32, "f": float32, "c": complex128, "s": string}.get(letter, string)
    if not set(letters) <= set(_TAKES.get(letter, "")):
        raise ValueError(_MIXED)
    return natural


def _scalar(leaf: Any) -> Any:
    """Returns the NumPy scalar for an array of rank 0."""
    return cast("Any", leaf[()]) if isinstance(leaf, np.ndarray) else leaf


# Other values that can become an array


def _from_other(value: Any, dtype: DType | None) -> tuple[Array, DType]:
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        return _from_python(value.as_list(), dtype or int32, dtype)
    if _letter_of(value):  # instances of subclasses, such as enums
        return _from_leaves(value, dtype)
    if isinstance(value, Sequence):
        return host_array(list(cast("Sequence[Any]", value)), dtype)
    if hasattr(value, "__array__") and not isinstance(value, type):
        return from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__dlpack__") and not isinstance(value, type):
        return from_numpy(np.from_dlpack(value), dtype)
    raise _unsupported(value)


def _unsupported(value: Any) -> ValueError:
    return ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")
