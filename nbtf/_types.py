"""Which kinds of elements a tensor can have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from nbtf._bfloat16 import advice, is_scalar_class, limits, scalar_class
from nbtf.errors import UnimplementedError


class NoValuesError(UnimplementedError, TypeError):
    """Nothing here has values of this dtype: `tf.resource` is a name alone, as `tf.bfloat16` is without `ml_dtypes`."""


class DType:
    """The kind of a tensor's elements; there is one object per kind, so `is` compares two of them.

    Equal to its name and to the NumPy dtype: `tf.float32 == "float32" == np.float32`. In sets and as a key of a
    dictionary only the object itself is found; `tf.as_dtype` returns it.

    Attributes:
      name: TensorFlow's name, `"float32"`.
      c_name: the name in messages of TensorFlow's kernels, `"float"`.
      as_datatype_enum: the number of `DT_FLOAT` and its like in TensorFlow's files.
      np_dtype: NumPy's dtype; `TypeError` for kinds that NumPy does not have.
      as_numpy_dtype: NumPy's class of scalars, `np.float32`; `object` for strings.
      is_floating: whether these are real numbers with a fraction.
      is_integer: whether these are whole numbers; not so for bool.
      is_unsigned: whether these are whole numbers from 0 up.
      is_complex: whether these are complex numbers.
      is_bool: whether these are truth values.
      is_numeric: whether these are numbers of any sort.
      size: bytes of one element; 0 where they differ in length.

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
        """Describes a kind once; `as_dtype` finds it.

        Args:
          name: TensorFlow's name.
          enum: TensorFlow's number.
          numpy: NumPy's class, which then says `numpy_kind` and `size`.
          c_name: the name in kernels' messages, where it is another.
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

    if not TYPE_CHECKING:  # a type checker would take it for a promise that any attribute exists

        def __getattr__(self, name: str) -> Any:
            """Says why an attribute is not there; called only for those that are not."""
            if name not in ("np_dtype", "as_numpy_dtype"):
                raise AttributeError(f"'DType' object has no attribute '{name}'")
            if self is not bfloat16:
                raise NoValuesError(f"tf.{self.name} has no NumPy dtype, so nbtf cannot hold such values")
            _load_bfloat16()
            return getattr(self, name)

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether there are arrays of this kind; of `bfloat16` where `ml_dtypes` is installed."""
        try:
            _ = self.np_dtype
        except NoValuesError:
            return False
        return True

    @property
    def min(self) -> Any:
        """The smallest finite value; `TypeError` unless real."""
        return self._range("minimum").min

    @property
    def max(self) -> Any:
        """The largest finite value; `TypeError` unless real."""
        return self._range("maximum").max

    @property
    def limits(self) -> tuple[int, int]:
        """The values of black and white in images: 0 and 1, for integers 0 and `max`."""
        if self is bool_:
            return 0, True
        if self.is_integer:
            return 0, int(self.max)
        if self in (float32, float64):
            return 0, 1
        raise ValueError(f"{self} does not have defined limits.")

    @property
    def real_dtype(self) -> DType:
        """The kind of the real and imaginary parts; itself unless complex."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def is_quantized(self) -> bool:
        """Never: nbtf has no quantized dtypes."""
        return False

    @property
    def base_dtype(self) -> DType:
        """Itself; of a reference to a variable, which only graphs of TensorFlow 1 have, what it refers to."""
        return self

    def is_compatible_with(self, other: DTypeLike) -> bool:
        """Returns whether `other` stands for this kind.

        Raises:
          TypeError: `other` stands for no kind at all.
        """
        return as_dtype(other) is self

    def _range(self, limit: str) -> Any:
        if self.is_integer:
            return np.iinfo(self.np_dtype)
        if self is bfloat16:
            return limits(self.np_dtype)
        if self.is_floating:
            return np.finfo(self.np_dtype)
        raise TypeError(f"Cannot find {limit} value of {self} with type {self}.")

    def __eq__(self, other: object) -> bool:
        """Equal to whatever stands for this kind: the object, a name, NumPy's dtype or class."""
        if self is other:
            return True
        if other.__class__ is DType:
            return False
        try:
            return as_dtype(cast(Any, other)) is self
        except TypeError:
            return False

    # By identity and in C: `dtype in FLOATS` is on the path of every op. One object per kind makes it right.
    if TYPE_CHECKING:

        def __hash__(self) -> int: ...
    else:
        __hash__ = object.__hash__

    def __repr__(self) -> str:
        """The name as a user types it, `tf.float32`."""
        return f"tf.{self.name}"

    def __str__(self) -> str:
        """TensorFlow's `<dtype: 'float32'>`."""
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        """Copies and pickles are the object itself."""
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

# Kinds a tensor can have; resource and variant are names without values. bfloat16 is in none of the sets: it needs
# `ml_dtypes`, and `_ops/in_bfloat16.py` lists the ops that take it.
FLOATS = frozenset({float16, float32, float64})
INTEGERS = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
COMPLEXES = frozenset({complex64, complex128})
REALS = FLOATS | INTEGERS
NUMBERS = REALS | COMPLEXES
ALL = NUMBERS | {bool_, string}

HOST_DTYPES = frozenset({int32, string})
"""Kept in host memory, also on a GPU: TensorFlow's kernels for shapes and strings expect them there."""

DTYPE_OF: dict[np.dtype[Any], DType] = {dtype.np_dtype: dtype for dtype in ALL}
"""The kind of an array by its dtype. Has no texts of fixed length and no swapped bytes; `as_dtype` knows those."""

_BY_NAME = {dtype.name: dtype for dtype in (*ALL, bfloat16, resource, variant)}
_BY_ENUM = {dtype.as_datatype_enum: dtype for dtype in _BY_NAME.values()}
_BY_NAME.update({"half": float16, "float": float32, "double": float64})

# C's names for integers may be classes of their own: np.longlong is not np.int64 on Linux, though the dtypes are equal.
_BY_CLASS: dict[type[Any], DType] = {
    integer: DTYPE_OF[np.dtype(integer)]
    for integer in (np.intc, np.uintc, np.long, np.ulong, np.longlong, np.ulonglong)
}
_BY_CLASS.update({dtype.np_dtype.type: dtype for dtype in ALL})
# As in TensorFlow, Python's float is float32, as literals are, and its int is nothing: 1 may be int32 or int64.
_BY_CLASS.update({float: float32, bool: bool_, object: string, np.str_: string, np.bytes_: string})


class HasDType(Protocol):
    """A tensor or a variable, as far as the lowest floor knows them."""

    @property
    def dtype(self) -> DType:
        """The kind of the elements."""
        ...

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        ...


class HasArray(Protocol):
    """What NumPy can read: a variable of `tf.keras`, an array of another library."""

    def __array__(self) -> Any:
        """Returns its values."""
        ...


DTypeLike: TypeAlias = DType | str | int | type[Any] | np.dtype[Any] | np.ndarray[Any, Any] | HasDType
"""What `as_dtype` takes."""

# A type checker takes int and float for complex numbers, and NumPy's arrays and scalars have an `__array__`.
TensorLike: TypeAlias = HasDType | HasArray | complex | str | bytes | Sequence[Any]
"""What an op takes for a tensor: one, or numbers, texts, arrays and nested lists of them."""


def as_dtype(type_value: DTypeLike) -> DType:
    """Returns the dtype that something stands for.

    Args:
      type_value: a dtype, its name, NumPy's class or dtype, an array or a tensor, Python's `float` or `bool`, or the
        number of `DT_FLOAT` and its like.

    Raises:
      TypeError: it stands for none; Python's `int` among them, which could be int32 or int64.

    >>> tf.as_dtype("int32"), tf.as_dtype(np.float64), tf.as_dtype(float)
    (tf.int32, tf.float64, tf.float32)
    """
    if type_value.__class__ is DType:
        return cast(DType, type_value)
    if isinstance(type_value, DType):  # a reference of TensorFlow 1
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
        _load_bfloat16()
        return bfloat16
    return dtype


def _load_bfloat16() -> None:
    """Looks for the arrays of bfloat16, on first use.

    Raises:
      NoValuesError: the package that has them is not installed.
    """
    scalar = scalar_class()
    if scalar is None:
        raise NoValuesError(f"tf.bfloat16 has no NumPy dtype, so nbtf cannot hold such values: {advice()}")
    bfloat16.np_dtype, bfloat16.as_numpy_dtype = np.dtype(scalar), scalar
    DTYPE_OF[bfloat16.np_dtype] = _BY_CLASS[scalar] = bfloat16
