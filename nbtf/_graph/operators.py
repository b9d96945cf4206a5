"""The nodes that `+`, `*` and other operators between graph tensors build, and the names of these nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.gathering import boolean_mask
from nbtf._ops.arrays.indexing import Masks, StridedSlice, slice_spec
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add, multiply, negative, preferring, subtract
from nbtf._ops.math.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from nbtf._ops.math.division import floordiv, floormod, truediv
from nbtf._ops.math.exponentials import pow
from nbtf._ops.math.logic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from nbtf._ops.math.magnitude import abs
from nbtf._runtime.conversion import as_tensor
from nbtf._types import bool_

Function = Callable[..., Any]


def _quotient(x: Any, y: Any, name: str) -> Any:
    """Returns `x / y`. Integers are cast in separate nodes, which come after a constant operand."""
    second = preferring(y, x._dtype)
    for value, letter in ((x, "x"), (second, "y")):
        if isinstance(value, GraphTensor):
            value.called(letter)
    return truediv(x, second, name=name)


# On integers, a bitwise node is nested under the operator's name, such as `and/BitwiseAnd`, as in TensorFlow.


def _both(x: Any, y: Any, name: str) -> Any:
    return logical_and(x, y, name=name) if x._dtype is bool_ else bitwise_and(x, y)


def _either(x: Any, y: Any, name: str) -> Any:
    return logical_or(x, y, name=name) if x._dtype is bool_ else bitwise_or(x, y)


def _one_of(x: Any, y: Any, name: str) -> Any:
    return logical_xor(x, y, name=name) if x._dtype is bool_ else bitwise_xor(x, y)


def _neither(x: Any) -> Any:
    return (logical_not if x._dtype is bool_ else invert)(x)


_NAMED: dict[str, tuple[Function, str]] = {
    "add": (add, "add"),
    "sub": (subtract, "sub"),
    "mul": (multiply, "mul"),
    "truediv": (_quotient, "truediv"),
    "floordiv": (floordiv, "floordiv"),
    "mod": (floormod, "mod"),
    "pow": (pow, "pow"),
    "matmul": (matmul, "matmul"),
    "and": (_both, "and"),
    "or": (_either, "or"),
    "xor": (_one_of, "xor"),
}
"""The operators that have a reflected form, and the names of their nodes."""

_PLAIN: dict[str, Function] = {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
    "neg": negative,
    "abs": abs,
    "invert": _neither,
}
"""The operators whose nodes are named after their op."""


def _plain(function: Function) -> Function:
    def operate(self: GraphTensor, *operands: Any) -> Any:
        with self.graph_here().inside():
            return function(self, *operands)

    return operate


def _with_name(function: Function, name: str) -> Function:
    def operate(self: GraphTensor, operand: Any) -> Any:
        graph = self.graph_here()
        with graph.inside(), graph.name_scope(name) as scope:
            return function(self, operand, name=scope)

    return operate


def _reflected(function: Function, name: str) -> Function:
    def operate(self: GraphTensor, operand: Any) -> Any:
        graph = self.graph_here()
        with graph.inside(), graph.name_scope(name) as scope:
            return function(as_tensor(operand, self._dtype), self, name=scope)

    return operate


def getitem(self: GraphTensor, key: Any) -> Any:
    """Returns a part of a tensor: the value of `tensor[key]`.

    Args:
      self: the tensor.
      key: an integer, a slice, `...`, None, an integer scalar tensor, several of these, or a bool tensor.

    Raises:
      TypeError: if a part of the key is none of the above.
    """
    with self.graph_here().inside():
        dtype = getattr(key, "dtype", None)
        if key.__class__ is bool or (dtype is not None and dtype == "bool" and getattr(key, "shape", ())):
            return boolean_mask(self, key)
        begin, end, strides, masks = slice_spec(key)
        ends = _ends_of_elements(begin, end, masks)
        return StridedSlice(self, begin=begin, end=ends, strides=strides, masks=masks, name="strided_slice")


def _ends_of_elements(begin: list[Any], end: list[Any], masks: Masks) -> list[Any]:
    """Returns the ends of the parts; for an element whose index only a run knows, the end is the index plus one."""
    return [
        start + 1 if masks.shrink_axis >> number & 1 and isinstance(start, GraphTensor) else stop
        for number, (start, stop) in enumerate(zip(begin, end, strict=True))
    ]


def _compare(self: GraphTensor, function: str, operand: Any) -> Any:
    with self.graph_here().inside():
        return (equal if function == "equal" else not_equal)(self, operand)


GraphTensor.__getitem__ = getitem
GraphTensor._compare = _compare
for operator, plain in _PLAIN.items():
    setattr(GraphTensor, f"__{operator}__", _plain(plain))
for operator, (named_function, name) in _NAMED.items():
    setattr(GraphTensor, f"__{operator}__", _with_name(named_function, name))
    setattr(GraphTensor, f"__r{operator}__", _reflected(named_function, name))
