"""The lengths of a tensor, some of which may be unknown until a session runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from nbtf._shapes import TensorShape

if TYPE_CHECKING:
    from nbtf._graph.tensor import GraphTensor


class NotKnownError(Exception):
    """The value of an unknown length was needed before a session runs."""


class UnknownLength:
    """An unknown length: it equals itself, and can be passed on where an op takes a length."""

    __slots__ = ("axis", "tensor")

    def __init__(self, tensor: GraphTensor, axis: int) -> None:
        """Stores the tensor and the axis that the length belongs to."""
        self.tensor = tensor
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        """Returns whether two lengths are equal: True if identical, False if the other is negative."""
        if self is other:
            return True
        if isinstance(other, int) and other < 0:
            return False
        raise NotKnownError

    def __hash__(self) -> int:
        """Hashes by identity."""
        return id(self)

    def __index__(self) -> Any:
        """Returns itself, for callers of `__index__` such as readers of shapes."""
        return self

    def _refuse(self, *operands: Any) -> NoReturn:
        raise NotKnownError

    __bool__ = __int__ = __float__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse


class Lengths(tuple[Any, ...]):
    """The lengths of a tensor in the form of an array's shape; some may be unknown."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Returns whether all lengths are equal; if the ranks differ, no lengths are compared."""
        if not isinstance(other, tuple):
            return False
        lengths = cast("tuple[Any, ...]", other)
        return len(self) == len(lengths) and all([a is b or a == b for a, b in zip(self, lengths, strict=True)])

    def __ne__(self, other: object) -> bool:
        """Returns whether some lengths differ."""
        return not self == other

    def __hash__(self) -> int:
        """Returns the hash of the tuple."""
        return super().__hash__()


class LengthsShape(TensorShape):
    """A shape that distinguishes its unknown lengths."""

    __slots__ = ("lengths",)

    def __init__(self, lengths: Sequence[Any] | None) -> None:
        """Stores lengths, some of them unknown; None if the rank is unknown."""
        self.lengths = None if lengths is None else Lengths(lengths)
        super().__init__(None if lengths is None else [None if isinstance(n, UnknownLength) else n for n in lengths])

    @property
    def shape(self) -> Lengths:
        """The lengths in the form of an array's shape."""
        if self.lengths is None:
            raise NotKnownError
        return self.lengths

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def as_list(self) -> list[Any]:
        """Returns the lengths."""
        return list(self.shape)

    def num_elements(self) -> int:
        """Returns the number of elements."""
        count = super().num_elements()
        if count is None:
            raise NotKnownError
        return count

    def __getitem__(self, key: Any) -> Any:
        """Returns a length, or the shape of some axes."""
        selection = self.shape[key]
        return LengthsShape(selection) if isinstance(key, slice) else selection

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the lengths."""
        return iter(self.shape)

    def __len__(self) -> int:
        """Returns the number of axes."""
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        """Returns whether two shapes are the same."""
        return self.shape == (other.shape if isinstance(other, LengthsShape) else other)

    def __hash__(self) -> int:
        """Returns the hash of the lengths."""
        return hash(self.lengths)


def broadcast_lengths(several: Sequence[Sequence[Any] | None]) -> list[Any] | None:
    """Returns the broadcast lengths, None for an undecided length; None for all if the rank of an operand is unknown.

    Args:
      several: the lengths of each operand; None for an operand of unknown rank.
    """
    ranked = [lengths for lengths in several if lengths is not None]
    if len(ranked) < len(several):
        return None
    return [_broadcast([lengths[axis] for lengths in ranked if len(lengths) >= -axis]) for axis in _axes(ranked)]


def _axes(ranked: Sequence[Sequence[Any]]) -> range:
    return range(-max(map(len, ranked)), 0)


def _broadcast(lengths: Sequence[Any]) -> Any:
    counting = [n for n in lengths if isinstance(n, UnknownLength) or n != 1]
    known_lengths = [n for n in counting if not isinstance(n, UnknownLength)]
    if known_lengths or not counting:
        return known_lengths[0] if known_lengths else 1
    return counting[0] if all([n is counting[0] for n in counting]) else None
