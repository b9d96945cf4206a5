"""How long a tensor is along each axis, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from operator import index
from typing import Any, SupportsIndex, TypeAlias, cast, overload

from nbtf._types import DType, DTypeLike, as_dtype, float32


class TensorShape:
    """The lengths of a tensor's axes; None for a length, or for all of it, that is not known.

    Behaves as a tuple, and equals tuples and lists with the same lengths.

    Args:
      dims: the lengths, one per axis; a single length; None if not even their number is known.

    Raises:
      TypeError: a length is not a whole number.
      ValueError: a length is negative.

    >>> shape = tf.TensorShape([2, None])
    >>> shape, shape.rank, shape[0], shape == (2, None)
    (TensorShape([2, None]), 2, 2, True)
    """

    __slots__ = ("_dims",)

    _dims: tuple[int | None, ...] | None

    def __init__(self, dims: ShapeLike) -> None:
        """Reads lengths from whatever may describe a shape."""
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
        """Returns the shape of an array, without looking at it; `dims` must be a tuple of lengths."""
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
        """The lengths as a list, or None if their number is not known."""
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        """Returns the lengths as a list.

        Raises:
          ValueError: the rank is not known.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if a length is not known.

        >>> tf.TensorShape([2, 3]).num_elements()
        6
        """
        return prod(cast("tuple[int, ...]", self._dims)) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Returns whether every length is known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Returns whether one tensor could have both shapes.

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
        """Returns the shape that says what either of the two says.

        Raises:
          ValueError: they contradict each other.

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
        """Returns the shape that says what both say: where they differ, nothing.

        >>> tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
        TensorShape([2, None])
        """
        dims, other_dims = self._dims, TensorShape(other)._dims
        if dims is None or other_dims is None or len(dims) != len(other_dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(dims, other_dims, strict=True)])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Returns the axes of this shape followed by those of the other; unknown if either rank is."""
        shape = TensorShape(other)
        if self._dims is None or shape._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + shape._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with that many axes, which may add knowledge.

        Raises:
          ValueError: it has another number of axes.
        """
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape; `ValueError` if it has fewer axes."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape; `ValueError` if it has more axes."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises `ValueError` if the number of axes is known to be another one."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises `ValueError` if the two are known to have different numbers of axes."""
        shape = TensorShape(other)
        if self.rank is not None and shape.rank not in (None, self.rank):
            raise ValueError(f"Shapes {self} and {shape} must have the same rank")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises `ValueError` if no tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raises `ValueError` if a length is not known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    @overload
    def __getitem__(self, key: int) -> Any: ...  # int | None; Any spares callers a check that most do not need

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    def __getitem__(self, key: int | slice) -> Any:
        """One length for a number, a shape for a slice."""
        if self._dims is None:
            return _part_of_unknown(key)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def __iter__(self) -> Iterator[Any]:
        """The lengths in order; `ValueError` if their number is not known."""
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __len__(self) -> int:
        """The number of axes; `ValueError` if it is not known."""
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        """Whether the rank is known: also true for the shape of a scalar."""
        return self._dims is not None

    def __add__(self, other: ShapeLike) -> TensorShape:
        """The axes of both, as for tuples."""
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        """The axes of both, as for tuples."""
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        """Equal to anything that describes the same shape; unknown lengths equal only unknown ones."""
        if isinstance(other, tuple):
            return self._dims == other
        try:
            return self._dims == TensorShape(cast(Any, other))._dims
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        """The hash of the equal tuple."""
        return hash(self._dims)

    def __repr__(self) -> str:
        """`TensorShape([2, None])`."""
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        """`(2, None)`, as a tuple prints; `<unknown>` if the rank is not known."""
        return "<unknown>" if self._dims is None else str(self._dims)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        """Pickles as the lengths."""
        return TensorShape, (self._dims,)


ShapeLike: TypeAlias = TensorShape | Iterable[SupportsIndex | None] | SupportsIndex | None
"""What describes a shape."""

_new = object.__new__  # `TensorShape.of` is called for every `tensor.shape`; a global is faster than two lookups


class TensorSpec:
    """What is known of a tensor before it exists: shape, dtype and name. Cannot be changed.

    Args:
      shape: its lengths, None where they are not known.
      dtype: the kind of its elements.
      name: a name, or None.

    >>> tf.TensorSpec([2, None])
    TensorSpec(shape=(2, None), dtype=tf.float32, name=None)
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> None:
        """Reads shape and dtype from whatever may describe them."""
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The lengths, None where they are not known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The kind of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns what a tensor's spec would have said.

        Raises:
          ValueError: it is not a tensor.
        """
        if not isinstance(getattr(tensor, "dtype", None), DType):
            raise ValueError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Returns a spec with the shape and dtype of another one."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Returns whether a tensor, or one described by another spec, could be the one described.

        Numbers and arrays are not tensors: False.

        >>> tf.TensorSpec([2, None]).is_compatible_with(tf.TensorSpec([2, 3]))
        True
        """
        if getattr(spec_or_tensor, "dtype", None).__class__ is not DType:
            return False
        return spec_or_tensor.dtype is self._dtype and self._shape.is_compatible_with(spec_or_tensor.shape)

    def is_subtype_of(self, other: TensorSpec) -> bool:
        """Returns whether every tensor described by this spec is described by the other one."""
        return other._dtype is self._dtype and self._shape.is_subtype_of(other._shape)

    def __eq__(self, other: object) -> bool:
        """Equal if shape, dtype and name are."""
        return isinstance(other, TensorSpec) and (self._shape, self._dtype, self._name) == (
            other._shape,
            other._dtype,
            other._name,
        )

    def __hash__(self) -> int:
        """The hash of shape and dtype."""
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        """`TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)`."""
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
            # TensorFlow's text; the blank it lacks is lacking there.
            raise TypeError(
                f"Failed to convert '{dims!r}' to a shape: '{value!r}'could not be converted to a dimension. A shape "
                "should either be single dimension (e.g. 10), or an iterable of dimensions (e.g. [1, 10, None])."
            ) from error
    return tuple(lengths_found)


def _could_be_equal(a: int | None, b: int | None) -> bool:
    return a is None or b is None or a == b


def _part_of_unknown(key: int | slice) -> TensorShape | None:
    """What an item or a slice of a shape of unknown rank is known to be: at most a number of axes."""
    if not isinstance(key, slice):
        return None
    if key.step is not None:
        raise ValueError("Steps are not yet handled")
    start, stop = key.start or 0, key.stop
    if stop is None or start < 0 or stop < 0:
        return TensorShape(None)
    return TensorShape([None] * max(0, stop - start))
