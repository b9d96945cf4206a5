"""The table of tensor operators and their ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays.indexing import getitem
from nbtf._ops.express import constant_like
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add, multiply, negative, subtract
from nbtf._ops.math.comparison import differs, equals, greater, greater_equal, less, less_equal
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
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_

Operator = Callable[..., Any]


def reflected(operation: Operator) -> Operator:
    """Returns the reflected operator, as for `value + tensor`; the value must suit the tensor's dtype."""

    def operator(y: Any, x: Any) -> Any:
        if x.__class__ is float or x.__class__ is int:
            x = constant_like(y, x)
        return operation(x if x.__class__ is Tensor else as_tensor(x, y._dtype), y)

    return operator


def both(x: Any, y: Any) -> Tensor:
    """Returns `x & y`: logical and for bools, bitwise and for integers."""
    return (logical_and if x._dtype is bool_ else bitwise_and)(x, y)


def either(x: Any, y: Any) -> Tensor:
    """Returns `x | y`: logical or for bools, bitwise or for integers."""
    return (logical_or if x._dtype is bool_ else bitwise_or)(x, y)


def one_of(x: Any, y: Any) -> Tensor:
    """Returns `x ^ y`: logical exclusive or for bools, bitwise exclusive or for integers."""
    return logical_xor(x, y) if x._dtype is bool_ else bitwise_xor(x, y)


def neither(x: Any) -> Tensor:
    """Returns `~x`: logical not for bools, bitwise inverse for integers."""
    return (logical_not if x._dtype is bool_ else invert)(x)


OPERATORS: dict[str, Operator] = {
    "__abs__": abs,
    "__add__": add,
    "__and__": both,
    "__eq__": equals,
    "__floordiv__": floordiv,
    "__ge__": greater_equal,
    "__getitem__": getitem,
    "__gt__": greater,
    "__invert__": neither,
    "__le__": less_equal,
    "__lt__": less,
    "__matmul__": matmul,
    "__mod__": floormod,
    "__mul__": multiply,
    "__ne__": differs,
    "__neg__": negative,
    "__or__": either,
    "__pow__": pow,
    "__radd__": reflected(add),
    "__rand__": reflected(both),
    "__rfloordiv__": reflected(floordiv),
    "__rmatmul__": reflected(matmul),
    "__rmod__": reflected(floormod),
    "__rmul__": reflected(multiply),
    "__ror__": reflected(either),
    "__rpow__": reflected(pow),
    "__rsub__": reflected(subtract),
    "__rtruediv__": reflected(truediv),
    "__rxor__": reflected(one_of),
    "__sub__": subtract,
    "__truediv__": truediv,
    "__xor__": one_of,
}
"""The operators of tensors and variables. As in TensorFlow, `+x`, `<<` and `>>` are not supported."""

for name, function in OPERATORS.items():
    setattr(Tensor, name, function)
