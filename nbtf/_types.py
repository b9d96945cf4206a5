"""The types of elements that a tensor can have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from nbtf._bfloat16 import advice, is_scalar_class, limits, scalar_class
from nbtf.errors import UnimplementedError


class NoValuesError(UnimplementedError, TypeError):
    """Raised for dtypes without values, such as `tf.resource`; without `ml_dtypes`, `tf.bfloat16` has none either."""


class DType:
    """The type of a tensor's elements. Each type has one object, so types can be compared with `is`.

    A type equals its name and the NumPy dtype: `tf.float32 == "float32" == np.float32`. As a member of a set or a key
    of a dictionary, only the object itself is found; `tf.as_dtype` returns it.

    Attributes:
      name: TensorFlow's name, `"float32"`.
      c_name: the name in messages of TensorFlow kernels, `"float"`.
      as_datatype_enum: the number of the type in TensorFlow's files, such as `DT_FLOAT`.
      np_dtype: the NumPy dtype; raises `TypeError` for types that NumPy does not have.
      as_numpy_dtype: NumPy's scalar class, `np.float32`; `object` for strings.
      is_floating: whether the elements are floating-point numbers.
      is_integer: whether the elements are integers; False for bool.
      is_unsigned: whether the elements are unsigned integers.
      is_complex: whether the elements are complex numbers.
      is_bool: whether the elements are booleans.
      is_numeric: whether the elements are numbers of any kind.
      size: bytes of one element; 0 if elements vary in length.

    >>> tf.float32, str(tf.float32), tf.float32.size
    (tf.float32, "<dtype: 'float32'>", 4)
    """

    __slots__ = (
        "as_datatype_enum",
        "as_numpy_dtype",
        "c_name",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_unsigned",
        "name",
        "np_dtype",
        "size",
    )

    name: str
    c_name: str
    as_datatype_enum: int
    np_dtype: np.dtype[Any]
    as_numpy_dtype: type[Any]
    is_floating: bool
    is_integer: bool
    is_unsigned: bool
    is_complex: bool
    is_bool: bool
    is_numeric: bool
    size: int

    def __init__(
        self,
        name: str,
        enum: int,
        numpy: type[Any] | None = None,
        c_name: str = "",
        numpy_kind: str = "",
        size: int = 0,
    ) -> None:
        """Describes a type, once; `as_dtype` finds it.

        Args:
          name: TensorFlow's name.
          enum: TensorFlow's number.
          numpy: NumPy's class, from which `numpy_kind` and `size` are read.
          c_name: the name in kernels' messages; None if it is the same.
          numpy_kind: NumPy's letter: `f` floating, `i` and `u` integer, `c` complex, `b` bool.
          size: bytes of one element.
        """
        if numpy is not None:
            self.np_dtype = np.dtype(numpy)
            self.as_numpy_dtype = numpy
            numpy_kind = self.np_dtype.kind
            size = 0 if numpy_kind == "O" else self.np_dtype.itemsize
        self.name = name
        self.c_name = c_name or name
        self.as_datatype_enum = enum
        self.is_floating = numpy_kind == "f"
        self.is_integer = numpy_kind in ("i", "u")
        self.is_unsigned = numpy_kind == "u"
        self.is_complex = numpy_kind == "c"
        self.is_bool = numpy_kind == "b"
        self.is_numeric = numpy_kind in ("f", "i", "u", "c")
        self.size = size

    if not TYPE_CHECKING:  # a type checker would conclude that any attribute exists

        def __getattr__(self, name: str) -> Any:
            """Raises an error that explains why an attribute is missing; called only for missing ones."""
            if name not in ("np_dtype", "as_numpy_dtype"):
                raise AttributeError(f"'DType' object has no attribute '{name}'")
            if self not in OF_ML_DTYPES:
                raise NoValuesError(f"tf.{self.name} has no NumPy dtype, so nbtf cannot hold such values")
            _load(self)
            return getattr(self, name)

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy arrays of this type exist; for `bfloat16` and `float8`, whether `ml_dtypes` is installed."""
        try:
            _ = self.np_dtype
        except NoValuesError:
            return False
        return True

    @property
    def min(self) -> Any:
        """The smallest finite value; raises `TypeError` unless the type is real."""
        return self._range("minimum").min

    @property
    def max(self) -> Any:
        """The largest finite value; raises `TypeError` unless the type is real."""
        return self._range("maximum").max

    @property
    def limits(self) -> tuple[int, int]:
        """The values of black and white in images: 0 and 1, or 0 and `max` for integers."""
        if self is bool_:
            return 0, True
        if self.is_integer:
            return 0, int(self.max)
        if self in (float32, float64):
            return 0, 1
        raise ValueError(f"{self} does not have defined limits.")

    @property
    def real_dtype(self) -> DType:
        """The type of the real and imaginary parts; the type itself unless complex."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def is_quantized(self) -> bool:
        """Always False, because nbtf has no quantized dtypes."""
        return False

    @property
    def base_dtype(self) -> DType:
        """The type itself; for a reference type, which only TensorFlow 1 graphs have, the type it refers to."""
        return self

    def is_compatible_with(self, other: DTypeLike) -> bool:
        """Returns whether `other` denotes this type.

        Raises:
          TypeError: if `other` denotes no type.
        """
        return as_dtype(other) is self

    def _range(self, limit: str) -> Any:
        if self.is_integer:
            return np.iinfo(self.np_dtype)
        if self in OF_ML_DTYPES:
            return limits(self.np_dtype)
        if self.is_floating:
            return np.finfo(self.np_dtype)
        raise TypeError(f"Cannot find {limit} value of {self} with type {self}.")

    def __eq__(self, other: object) -> bool:
        """Returns whether `other` denotes this type: as the object, a name, or NumPy's dtype or class."""
        if self is other:
            return True
        if other.__class__ is DType:
            return False
        try:
            return as_dtype(cast(Any, other)) is self
        except TypeError:
            return False

    # By identity and in C, because every op checks `dtype in FLOATS`. This is correct with one object per type.
    if TYPE_CHECKING:

        def __hash__(self) -> int: ...
    else:
        __hash__ = object.__hash__

    def __repr__(self) -> str:
        """Returns the name as users type it, `tf.float32`."""
        return f"tf.{self.name}"

    def __str__(self) -> str:
        """Returns TensorFlow's `<dtype: 'float32'>`."""
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        """Makes copies and unpickled types be the object itself."""
        return as_dtype, (self.name,)


# Numbers: `DataType` in TensorFlow's types.proto.
float32: DType = DType("float32", 1, np.float32, "float")
float64: DType = DType("float64", 2, np.float64, "double")
int32: DType = DType("int32", 3, np.int32)
uint8: DType = DType("uint8", 4, np.uint8)
int16: DType = DType("int16", 5, np.int16)
int8: DType = DType("int8", 6, np.int8)
string: DType = DType("string", 7, object)
complex64: DType = DType("complex64", 8, np.complex64)
int64: DType = DType("int64", 9, np.int64)
bool_: DType = DType("bool", 10, np.bool)
bfloat16: DType = DType("bfloat16", 14, numpy_kind="f", size=2)
uint16: DType = DType("uint16", 17, np.uint16)
complex128: DType = DType("complex128", 18, np.complex128)
float16: DType = DType("float16", 19, np.float16, "half")
resource: DType = DType("resource", 20)
variant: DType = DType("variant", 21)
uint32: DType = DType("uint32", 22, np.uint32)
uint64: DType = DType("uint64", 23, np.uint64)
float8_e5m2: DType = DType("float8_e5m2", 24, numpy_kind="f", size=1)
float8_e4m3fn: DType = DType("float8_e4m3fn", 25, numpy_kind="f", size=1)

OF_ML_DTYPES = frozenset({bfloat16, float8_e5m2, float8_e4m3fn})
"""Types that need the package `ml_dtypes`."""

# Types that a tensor can have; resource and variant are names without values. Those that need `ml_dtypes` are in none
# of these sets, because `_ops/in_bfloat16.py` decides which ops support them.
FLOATS = frozenset({float16, float32, float64})
INTEGERS = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
COMPLEXES = frozenset({complex64, complex128})
REALS = FLOATS | INTEGERS
NUMBERS = REALS | COMPLEXES
ALL = NUMBERS | {bool_, string}

HOST_DTYPES = frozenset({int32, string})
"""Types kept in host memory even on a GPU, because TensorFlow's kernels for shapes and strings expect them there."""

DTYPE_OF: dict[np.dtype[Any], DType] = {dtype.np_dtype: dtype for dtype in ALL}
"""Types by NumPy dtype, without fixed-length strings and swapped byte orders, which `as_dtype` handles."""

_BY_NAME = {dtype.name: dtype for dtype in (*ALL, *OF_ML_DTYPES, resource, variant)}
_BY_ENUM = {dtype.as_datatype_enum: dtype for dtype in _BY_NAME.values()}
_BY_NAME.update({"half": float16, "float": float32, "double": float64})

# C's integer names may be separate classes: np.longlong is not np.int64 on Linux, although the dtypes are equal.
_BY_CLASS: dict[type[Any], DType] = {
    integer: DTYPE_OF[np.dtype(integer)]
    for integer in (np.intc, np.uintc, np.long, np.ulong, np.longlong, np.ulonglong)
}
_BY_CLASS.update({dtype.np_dtype.type: dtype for dtype in ALL})
# As in TensorFlow, Python's float means float32, like literals. Its int has no type: 1 may be int32 or int64.
_BY_CLASS.update({float: float32, bool: bool_, object: string, np.str_: string, np.bytes_: string})


class HasDType(Protocol):
    """A tensor or variable, as seen from the lowest floor."""

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        ...

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        ...


class HasArray(Protocol):
    """Objects that NumPy can read: a `tf.keras` variable, or another library's array."""

    def __array__(self) -> Any:
        """Returns the values as an array."""
        ...


DTypeLike: TypeAlias = DType | str | int | type[Any] | np.dtype[Any] | np.ndarray[Any, Any] | HasDType
"""The values that `as_dtype` accepts."""

# Type checkers accept int and float as complex numbers, and NumPy's arrays and scalars have an `__array__`.
TensorLike: TypeAlias = HasDType | HasArray | complex | str | bytes | Sequence[Any]
"""The values that ops accept as tensors: tensors, numbers, strings, arrays and nested lists of them."""


def as_dtype(type_value: DTypeLike) -> DType:
    """Returns the dtype that a value denotes.

    Args:
      type_value: a dtype, its name, a NumPy class or dtype, an array or a tensor, Python's `float` or `bool`, or the
        number of a type in TensorFlow's files, such as `DT_FLOAT`.

    Raises:
      TypeError: if it denotes none. This includes Python's `int`, which could mean int32 or int64.

    >>> tf.as_dtype("int32"), tf.as_dtype(np.float64), tf.as_dtype(float)
    (tf.int32, tf.float64, tf.float32)
    """
    if type_value.__class__ is DType:
        return cast(DType, type_value)
    if isinstance(type_value, DType):  # a reference type of TensorFlow 1
        return type_value.base_dtype
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, type):
        dtype = _of_class(type_value)
    elif isinstance(type_value, int) and not isinstance(type_value, bool):
        dtype = _BY_ENUM.get(type_value)
    else:
        dtype = _of_array(type_value)
    if dtype is None:
        raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")
    return dtype


def _of_array(value: Any) -> DType | None:
    dtype = getattr(value, "dtype", value)
    if isinstance(dtype, DType):
        return dtype.base_dtype
    return _of_class(cast("np.dtype[Any]", dtype).type) if isinstance(dtype, np.dtype) else None


def _of_class(scalar: type[Any]) -> DType | None:
    dtype = _BY_CLASS.get(scalar)
    if dtype is None and is_scalar_class(scalar):
        dtype = _BY_NAME[scalar.__name__]
        _load(dtype)
    return dtype


def _load(dtype: DType) -> None:
    """Looks for the array type of `ml_dtypes` on first use.

    Raises:
      NoValuesError: if `ml_dtypes` is not installed.
    """
    scalar = scalar_class(dtype.name)
    if scalar is None:
        raise NoValuesError(f"tf.{dtype.name} has no NumPy dtype, so nbtf cannot hold such values: {advice()}")
    dtype.np_dtype, dtype.as_numpy_dtype = np.dtype(scalar), scalar
    DTYPE_OF[dtype.np_dtype] = _BY_CLASS[scalar] = dtype
