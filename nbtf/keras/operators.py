"""The operators of a weight."""

from __future__ import annotations

from typing import Any


class Operators:
    """Has every operator act on `value`; the other side may be a weight, too."""

    @property
    def value(self) -> Any:
        """What the operators act on."""
        raise NotImplementedError

    def __neg__(self) -> Any:
        return -self.value

    def __abs__(self) -> Any:
        return abs(self.value)

    def __invert__(self) -> Any:
        return ~self.value

    def __eq__(self, other: Any) -> Any:
        return self.value == _plain(other)

    def __ne__(self, other: Any) -> Any:
        return self.value != _plain(other)

    def __lt__(self, other: Any) -> Any:
        return self.value < _plain(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= _plain(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _plain(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= _plain(other)

    def __add__(self, other: Any) -> Any:
        return self.value + _plain(other)

    def __radd__(self, other: Any) -> Any:
        return _plain(other) + self.value

    def __sub__(self, other: Any) -> Any:
        return self.value - _plain(other)

    def __rsub__(self, other: Any) -> Any:
        return _plain(other) - self.value

    def __mul__(self, other: Any) -> Any:
        return self.value * _plain(other)

    def __rmul__(self, other: Any) -> Any:
        return _plain(other) * self.value

    def __truediv__(self, other: Any) -> Any:
        return self.value / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _plain(other) / self.value

    def __floordiv__(self, other: Any) -> Any:
        return self.value // _plain(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _plain(other) // self.value

    def __mod__(self, other: Any) -> Any:
        return self.value % _plain(other)

    def __rmod__(self, other: Any) -> Any:
        return _plain(other) % self.value

    def __pow__(self, other: Any) -> Any:
        return self.value ** _plain(other)

    def __rpow__(self, other: Any) -> Any:
        return _plain(other) ** self.value

    def __matmul__(self, other: Any) -> Any:
        return self.value @ _plain(other)

    def __rmatmul__(self, other: Any) -> Any:
        return _plain(other) @ self.value

    def __and__(self, other: Any) -> Any:
        return self.value & _plain(other)

    def __or__(self, other: Any) -> Any:
        return self.value | _plain(other)

    def __xor__(self, other: Any) -> Any:
        return self.value ^ _plain(other)


def _plain(operand: Any) -> Any:
    return operand.value if isinstance(operand, Operators) else operand
