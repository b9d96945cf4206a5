"""The operators of a weight."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from nbtf._runtime import operator_types


class Operators(operator_types.Operators[Any]):
    """Applies every operator to `value`; the other operand may also be a weight."""

    @property
    def value(self) -> Any:
        """The operand of the operators."""
        raise NotImplementedError

    def __eq__(self, other: Any) -> Any:
        return self.value == _plain(other)

    def __ne__(self, other: Any) -> Any:
        return self.value != _plain(other)


def _plain(operand: Any) -> Any:
    return operand.value if isinstance(operand, Operators) else operand


def _on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Operators, *operands: Any) -> Any:
        return function(self.value, *map(_plain, operands))

    return operate


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Operators, other: Any) -> Any:
        return function(_plain(other), self.value)

    return operate


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
for _name in (*_BINARY, *"neg abs invert lt le gt ge and or xor".split()):
    setattr(Operators, f"__{_name}__", _on_values(getattr(operator, f"__{_name}__")))
for _name in _BINARY:
    setattr(Operators, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
