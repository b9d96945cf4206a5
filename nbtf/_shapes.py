"""The shape of a tensor, as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from operator import index
from typing import Any, SupportsIndex, TypeAlias, cast, overload

from nbtf._types import DType, DTypeLike, as_dtype, float32


class TensorShape:
    """The lengths of a tensor's axes. Single lengths, or all of them, may be unknown.

    Behaves like a tuple, and equals tuples and lists with the same lengths. Unknown lengths are None.

    Args:
      dims: the lengths, one per axis; a single length; None if even the number of axes is unknown.

    Raises:
      TypeError: if a length is not an integer.
      ValueError: if a length is negative.

    >>> shape = tf.TensorShape([2, None])
    >>> shape, shape.rank, shape[0], shape == (2, None)
    (TensorShape([2, None]), 2, 2, True)
    """

    __slots__ = ("_dims",)

    _dims: tuple[int | None, ...] | None

    def __init__(self, dims: ShapeLike) -> None:
        """Reads the lengths from any description of a shape."""
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        elif isinstance(dims, tuple | list):
            self._dims = tuple(map(_length, dims))
        else:
            self._dims = _lengths_of(dims)

    @staticmethod
    def of(dims: tuple[int, ...]) -> TensorShape:
        """Returns the shape of an array without validation; `dims` must be a tuple of lengths."""
        shape = _new(TensorShape)
        shape._dims = dims
        return shape

    @property
    def rank(self) -> int | None:
        """The number of axes, or None."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The number of axes, or None; the same as `rank`."""
        return None if self._dims is None else len(self._dims)

    @property
    def dims(self) -> list[int | None] | None:
        """The lengths as a list, or None if their number is unknown."""
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        """Returns the lengths as a list.

        Raises:
          ValueError: if the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if a length is unknown.

        >>> tf.TensorShape([2, 3]).num_elements()
        6
        """
        return prod(cast("tuple[int, ...]", self._dims)) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Returns whether every length is known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Returns whether a tensor could have both shapes.

        >>> tf.TensorShape([2, None]).is_compatible_with([2, 3])
        True
        """
        dims, other_dims = self._dims, TensorShape(other)._dims
        if dims is None or other_dims is None:
            return True
        return len(dims) == len(other_dims) and all(map(_could_be_equal, dims, other_dims))

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Returns whether every tensor of this shape has the other shape as well."""
        if other._dims is None:
            return True
        dims = self._dims
        return (
            dims is not None
            and len(dims) == len(other._dims)
            and all(wide is None or wide == narrow for narrow, wide in zip(dims, other._dims, strict=True))
        )

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Returns the shape that combines what is known from both.

        Raises:
          ValueError: if the shapes contradict each other.

        >>> tf.TensorShape([2, None]).merge_with([None, 3])
        TensorShape([2, 3])
        """
        shape = TensorShape(other)
        if not self.is_compatible_with(shape):
            raise ValueError(f"Shapes {self} and {shape} are not compatible")
        if self._dims is None or shape._dims is None:
            return shape if self._dims is None else self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, shape._dims, strict=True)])

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Returns the shape that covers both: lengths that differ become unknown.

        >>> tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
        TensorShape([2, None])
        """
        dims, other_dims = self._dims, TensorShape(other)._dims
        if dims is None or other_dims is None or len(dims) != len(other_dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(dims, other_dims, strict=True)])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Returns the axes of this shape followed by those of the other; unknown if either rank is unknown."""
        shape = TensorShape(other)
        if self._dims is None or shape._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + shape._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with `rank` axes, which makes an unknown rank known.

        Raises:
          ValueError: if the shape has another number of axes.
        """
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape; raises `ValueError` if it has fewer axes."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape; raises `ValueError` if it has more axes."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises `ValueError` if the number of axes is known and differs."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises `ValueError` if the shapes are known to have different numbers of axes."""
        shape = TensorShape(other)
        if self.rank is not None and shape.rank not in (None, self.rank):
            raise ValueError(f"Shapes {self} and {shape} must have the same rank")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises `ValueError` if no tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raises `ValueError` if a length is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    @overload
    def __getitem__(self, key: int) -> Any: ...  # int | None; Any spares callers a check that most do not need

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    def __getitem__(self, key: int | slice) -> Any:
        """Returns a length for an integer, a shape for a slice."""
        if self._dims is None:
            return _part_of_unknown(key)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def __iter__(self) -> Iterator[Any]:
        """Yields the lengths in order; raises `ValueError` if their number is unknown."""
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __len__(self) -> int:
        """Returns the number of axes; raises `ValueError` if it is unknown."""
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        """Returns whether the rank is known, so a scalar's shape is true as well."""
        return self._dims is not None

    def __add__(self, other: ShapeLike) -> TensorShape:
        """Returns the axes of both, as for tuples."""
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        """Returns the axes of both, as for tuples."""
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        """Returns whether both describe the same shape; unknown lengths equal only unknown ones."""
        if isinstance(other, tuple):
            return self._dims == other
        try:
            return self._dims == TensorShape(cast(Any, other))._dims
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        """Returns the hash of the equal tuple."""
        return hash(self._dims)

    def __repr__(self) -> str:
        """`TensorShape([2, None])`."""
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        """Returns `(2, None)`, as a tuple prints, or `<unknown>` if the rank is unknown."""
        return "<unknown>" if self._dims is None else str(self._dims)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        """Pickles as the lengths."""
        return TensorShape, (self._dims,)


ShapeLike: TypeAlias = TensorShape | Iterable[SupportsIndex | None] | SupportsIndex | None
"""A description of a shape."""

_new = object.__new__  # `TensorShape.of` runs for every `tensor.shape`, and one global is faster than two lookups


class TypeSpec:
    """Base class of the specs of tensors, datasets, iterators, and other values that a function takes."""

    __slots__ = ()


class TensorSpec(TypeSpec):
    """The shape, dtype and name of a tensor, as far as they are known before it exists. Immutable.

    Args:
      shape: the lengths of its axes, None for unknown ones.
      dtype: the type of its elements.
      name: a name, or None.

    >>> tf.TensorSpec([2, None])
    TensorSpec(shape=(2, None), dtype=tf.float32, name=None)
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> None:
        """Reads shape and dtype from any description of them."""
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes, None for unknown ones."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor.

        Raises:
          ValueError: if `tensor` is not a tensor.
        """
        if not isinstance(getattr(tensor, "dtype", None), DType):
            raise ValueError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Returns a spec with the shape and dtype of another one."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Returns whether a tensor, or a tensor with another spec, can match this spec.

        Numbers and arrays are not tensors, so the result for them is False.

        >>> tf.TensorSpec([2, None]).is_compatible_with(tf.TensorSpec([2, 3]))
        True
        """
        if getattr(spec_or_tensor, "dtype", None).__class__ is not DType:
            return False
        return spec_or_tensor.dtype is self._dtype and self._shape.is_compatible_with(spec_or_tensor.shape)

    def is_subtype_of(self, other: TensorSpec) -> bool:
        """Returns whether every tensor that matches this spec also matches the other one."""
        return other._dtype is self._dtype and self._shape.is_subtype_of(other._shape)

    def __eq__(self, other: object) -> bool:
        """Returns whether shape, dtype and name are equal."""
        return isinstance(other, TensorSpec) and (self._shape, self._dtype, self._name) == (
            other._shape,
            other._dtype,
            other._name,
        )

    def __hash__(self) -> int:
        """Returns the hash of shape and dtype."""
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        """Returns `TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)`."""
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickles as the arguments."""
        return TensorSpec, (self._shape, self._dtype, self._name)


def _length(value: Any) -> int | None:
    if value.__class__ is int and value >= 0:
        return value
    if value is None:
        return None
    try:
        length = index(value)
    except TypeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got value '{value!r}' with type '{type(value)!r}'"
        ) from None
    if length < 0:
        raise ValueError(f"Dimension {length} must be >= 0")
    return length


def _lengths_of(dims: Any) -> tuple[int | None, ...]:
    try:
        lengths = iter(dims)
    except TypeError:
        return (_length(dims),)
    lengths_found: list[int | None] = []
    for value in lengths:
        try:
            lengths_found.append(_length(value))
        except TypeError as error:
            # TensorFlow's text, in which this space is missing.
            raise TypeError(
                f"Failed to convert '{dims!r}' to a shape: '{value!r}'could not be converted to a dimension. A shape "
                "should either be single dimension (e.g. 10), or an iterable of dimensions (e.g. [1, 10, None])."
            ) from error
    return tuple(lengths_found)


def _could_be_equal(a: int | None, b: int | None) -> bool:
    return a is None or b is None or a == b


def _part_of_unknown(key: int | slice) -> TensorShape | None:
    """Returns the known part of an item or slice of a shape with unknown rank: at most a number of axes."""
    if not isinstance(key, slice):
        return None
    if key.step is not None:
        raise ValueError("Steps are not yet handled")
    start, stop = key.start or 0, key.stop
    if stop is None or start < 0 or stop < 0:
        return TensorShape(None)
    return TensorShape([None] * max(0, stop - start))
