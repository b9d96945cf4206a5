"""Writes the values that a step takes when a plan becomes the text of a function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from nbtf._graph.seeds import GraphStream


class ProgramText(ABC):
    """The lines of a function and its global names: tensors are written by slot, other values by name."""

    def __init__(self, space: dict[str, Any]) -> None:
        """Stores the names that every line may use, including `stream`."""
        self._lines: list[str] = []
        self._space = space

    def _expression(self, value: Any) -> str:
        """Returns the expression for an input of a step."""
        tensor = self._tensor_expression(value)
        if tensor is not None:
            return tensor
        if value.__class__ is GraphStream:
            return f"stream({self._name(value)})"
        if value.__class__ is list:
            return f"[{', '.join(map(self._expression, value))}]"
        if value.__class__ is tuple:
            return f"({''.join([f'{self._expression(item)}, ' for item in value])})"
        return self._literal(value)

    @abstractmethod
    def _tensor_expression(self, value: Any) -> str | None:
        """Returns the expression for a tensor of the plan; None for other values."""

    def _literal(self, value: Any) -> str:
        return self._name(value)

    def _name(self, value: Any) -> str:
        name = f"k{len(self._space)}"
        self._space[name] = value
        return name
