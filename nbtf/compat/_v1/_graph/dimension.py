"""Shapes of TensorFlow 1, whose lengths are `Dimension` objects that may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._surface.removed import without_attributes


def _comparison(operator_name: str) -> Callable[[Any, Any], Any]:
    """Returns the method that compares two lengths; None if one is unknown."""

    def compare(self: Dimension, other: Any) -> Any:
        result = _operation(operator_name)(self, other)
        return result._value if isinstance(result, Dimension) else result

    return compare


def _operation(operator_name: str) -> Callable[[Any, Any], Any]:
    """Returns the method that computes with two lengths; the result is unknown if one is."""

    def compute(self: Dimension, other: Any) -> Any:
        try:
            length = Dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or length is None:
            return Dimension(None)
        result = getattr(self._value, operator_name)(length)
        return result if isinstance(result, bool) else Dimension(result)

    return compute


@without_attributes("Dimension")
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

    __eq__ = _comparison("__eq__")
    __ne__ = _comparison("__ne__")
    __lt__ = _comparison("__lt__")
    __le__ = _comparison("__le__")
    __gt__ = _comparison("__gt__")
    __ge__ = _comparison("__ge__")

    __add__, __radd__ = _operation("__add__"), _operation("__radd__")
    __sub__, __rsub__ = _operation("__sub__"), _operation("__rsub__")
    __mul__, __rmul__ = _operation("__mul__"), _operation("__rmul__")
    __floordiv__, __rfloordiv__ = _operation("__floordiv__"), _operation("__rfloordiv__")
    __mod__, __rmod__ = _operation("__mod__"), _operation("__rmod__")

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the lengths."""
        return DimensionedShape, (self._dims,)


def shape_text(shape: TensorShape) -> str:
    """Returns a shape in TensorFlow 1's format, such as `(?, 2)`."""
    return str(shape) if process().v2_shapes else str(shape).replace("None", "?")
