"""What `+`, `*` and the other operators between tensors of a graph build, and how the nodes are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.comparison import greater, greater_equal, less, less_equal
from nbtf._ops.division import floordiv, floormod, truediv
from nbtf._ops.elementwise import add, multiply, negative, subtract
from nbtf._ops.functions import pow
from nbtf._ops.linalg import matmul
from nbtf._ops.magnitude import abs
from nbtf._ops.operators import OPERATORS
from nbtf._runtime.conversion import as_tensor
from nbtf.compat.v1._graph.tensor import GraphTensor

Function = Callable[..., Any]

_NAMED: dict[str, tuple[Function, str]] = {
    "add": (add, "add"),
    "sub": (subtract, "sub"),
    "mul": (multiply, "mul"),
    "truediv": (truediv, "truediv"),
    "floordiv": (floordiv, "floordiv"),
    "mod": (floormod, "mod"),
    "pow": (pow, "pow"),
    "matmul": (matmul, "matmul"),
}
"""The operators that also stand after a value, and the names of their nodes."""

_PLAIN: dict[str, Function] = {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
    "neg": negative,
    "abs": abs,
    **{name: OPERATORS[f"__{name}__"] for name in ("and", "or", "xor", "invert", "getitem")},
}
"""The operators whose nodes are called after their op."""


def _plain(function: Function) -> Function:
    def operate(self: GraphTensor, *others: Any) -> Any:
        with self.graph.inside():
            return function(self, *others)

    return operate


def _named(function: Function, name: str) -> Function:
    def operate(self: GraphTensor, other: Any) -> Any:
        with self.graph.inside():
            return function(self, other, name=name)

    return operate


def _reflected(function: Function, name: str) -> Function:
    def operate(self: GraphTensor, other: Any) -> Any:
        with self.graph.inside():
            return function(as_tensor(other, self._dtype), self, name=name)

    return operate


for operator, plain in _PLAIN.items():
    setattr(GraphTensor, f"__{operator}__", _plain(plain))
for operator, (named, name) in _NAMED.items():
    setattr(GraphTensor, f"__{operator}__", _named(named, name))
    setattr(GraphTensor, f"__r{operator}__", _reflected(named, name))
