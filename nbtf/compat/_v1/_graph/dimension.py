"""Shapes of TensorFlow 1, whose lengths are `Dimension` objects that may be unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.process import process


class Dimension:
    """A length that may be unknown; calculations with an unknown length have an unknown result.

    Args:
      value: a length, another dimension, or None for unknown.

    Raises:
      ValueError: if the length is negative.
      TypeError: if the length is not an integer.

    >>> d = tf.compat.v1.Dimension(3) * 2
    >>> d, d.value, d == 6
    (Dimension(6), 6, True)
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        """Creates a dimension from a length."""
        if value is None or isinstance(value, Dimension):
            self._value: int | None = None if value is None else value._value
            return
        try:
            self._value = value.__index__()
        except AttributeError:
            raise TypeError(
                "Dimension value must be integer or None or have an __index__ method, "
                f"got value '{value!r}' with type '{type(value)!r}'"
            ) from None
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The length, or None if unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Returns whether both can have the same length."""
        length = Dimension(other)._value
        return self._value is None or length is None or self._value == length

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises `ValueError` if the two cannot have the same length."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Returns the known one of two lengths; raises `ValueError` if they differ."""
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self)

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __int__(self) -> Any:
        """Returns the length."""
        return self._value

    def __index__(self) -> Any:
        """Returns the length if Python needs an integer."""
        return self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: Any) -> Any:
        return self._compared("__eq__", other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("__ne__", other)

    def __lt__(self, other: Any) -> Any:
        """Compares lengths; None if one is unknown."""
        return self._compared("__lt__", other)

    def __le__(self, other: Any) -> Any:
        """Compares lengths; None if one is unknown."""
        return self._compared("__le__", other)

    def __gt__(self, other: Any) -> Any:
        """Compares lengths; None if one is unknown."""
        return self._compared("__gt__", other)

    def __ge__(self, other: Any) -> Any:
        """Compares lengths; None if one is unknown."""
        return self._compared("__ge__", other)

    def _compared(self, operator_name: str, other: Any) -> Any:
        try:
            length = Dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or length is None:
            return None
        return getattr(self._value, operator_name)(length)

    def _computed(self, operator_name: str, other: Any) -> Any:
        try:
            length = Dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or length is None:
            return Dimension(None)
        return Dimension(getattr(self._value, operator_name)(length))

    def __add__(self, other: Any) -> Any:
        """Adds lengths."""
        return self._computed("__add__", other)

    def __radd__(self, other: Any) -> Any:
        """Adds lengths."""
        return self._computed("__radd__", other)

    def __sub__(self, other: Any) -> Any:
        """Subtracts a length."""
        return self._computed("__sub__", other)

    def __rsub__(self, other: Any) -> Any:
        """Subtracts the length from another length."""
        return self._computed("__rsub__", other)

    def __mul__(self, other: Any) -> Any:
        """Multiplies lengths."""
        return self._computed("__mul__", other)

    def __rmul__(self, other: Any) -> Any:
        """Multiplies lengths."""
        return self._computed("__rmul__", other)

    def __floordiv__(self, other: Any) -> Any:
        """Divides lengths, rounding down."""
        return self._computed("__floordiv__", other)

    def __rfloordiv__(self, other: Any) -> Any:
        """Divides another length by this one, rounding down."""
        return self._computed("__rfloordiv__", other)

    def __mod__(self, other: Any) -> Any:
        """Returns the remainder of a division."""
        return self._computed("__mod__", other)

    def __rmod__(self, other: Any) -> Any:
        """Returns the remainder of a division."""
        return self._computed("__rmod__", other)

    def __truediv__(self, other: Any) -> Any:
        """Raises an error, because a length must be an integer."""
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the length."""
        return Dimension, (self._value,)


def dimension_value(dimension: Any) -> Any:
    """Returns the number in a `Dimension`; other values are returned unchanged."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Returns one length of a shape as a `Dimension`, for either kind of shape."""
    return Dimension(None if shape.rank is None else shape.as_list()[index])


class DimensionedShape(TensorShape):
    """A shape whose lengths are `Dimension` objects.

    >>> import nbtf.compat.v1 as tf1
    >>> shape = tf1.TensorShape([None, 2])
    >>> shape, str(shape), shape[1].value
    (TensorShape([Dimension(None), Dimension(2)]), '(?, 2)', 2)
    """

    __slots__ = ()

    def __init__(self, dims: Any) -> None:
        """Creates a shape from any description of a shape."""
        if isinstance(dims, list | tuple):
            dims = [dimension_value(dim) for dim in dims]  # pyright: ignore[reportUnknownVariableType]
        super().__init__(dimension_value(dims))

    @property
    def dims(self) -> Any:
        """The lengths as a list of `Dimension` objects, or None if the rank is unknown."""
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

    def __getitem__(self, key: Any) -> Any:
        """Returns a `Dimension` for an index and a shape for a slice."""
        item = super().__getitem__(key)
        return DimensionedShape(item) if isinstance(key, slice) else Dimension(item)

    def __iter__(self) -> Iterator[Any]:
        return map(Dimension, super().__iter__())

    def __repr__(self) -> str:
        return f"TensorShape({self.dims!r})"

    def __str__(self) -> str:
        return super().__str__().replace("None", "?")

    def merge_with(self, other: Any) -> DimensionedShape:
        """Returns a shape that combines what both specify; raises `ValueError` if they are incompatible."""
        return DimensionedShape(TensorShape(self).merge_with(DimensionedShape(other)))

    def concatenate(self, other: Any) -> DimensionedShape:
        """Returns this shape followed by another."""
        return DimensionedShape(TensorShape(self).concatenate(DimensionedShape(other)))

    def with_rank(self, rank: int) -> DimensionedShape:
        """Returns this shape with the given rank; raises `ValueError` if it has another rank."""
        return DimensionedShape(TensorShape(self).with_rank(rank))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the lengths."""
        return DimensionedShape, (self._dims,)


def shape_text(shape: TensorShape) -> str:
    """Returns a shape in TensorFlow 1's format, such as `(?, 2)`."""
    return str(shape) if process().v2_shapes else str(shape).replace("None", "?")
