"""Ops that read a variable or assign its whole value.

Their first input is the variable itself, and they run on its device. Values are immutable arrays: an assigning op
returns the new value, which `Variable` stores, so values read earlier do not change. Results share the memory of the
variable (or of the assigned value), like TensorFlow's in-place updates: no memory is counted twice.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.specs import bracketed, may_be_equal, spec_of_first
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, NUMBERS, DType, as_dtype, int32, string
from nbtf.errors import InvalidArgumentError


# TensorFlow has no GPU kernel for these two dtypes: such variables are stored on the CPU.
@op("-> dtype", plain={"dtype": as_dtype}, cpu_only=frozenset({int32, string}))
def VarHandleOp(xp: Any, dtype: DType) -> Any:
    # A handle has no value; only the device that it is placed on matters.
    return xp.empty((0,), dtype.np_dtype)


@VarHandleOp.infer
def _(dtype: DType) -> Spec:
    return Spec((0,), dtype)


@op("T -> T", T=ALL, resource=True, only_reads=True, shares_memory=True, infer=spec_of_first)
def ReadVariableOp(xp: Any, resource: Any) -> Any:
    return resource


@ReadVariableOp.express
def read_variable(resource: Any, name: str | None = None) -> Tensor:
    """Returns the value of a variable.

    Returns:
      The value on the variable's device; later assignments do not change it.
    """
    return ReadVariableOp(resource, name=name)


@ReadVariableOp.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad]


@op("T T -> T", T=ALL, resource=True, shares_memory=True)
def AssignVariableOp(xp: Any, resource: Any, value: Any) -> Any:
    return value


@AssignVariableOp.infer
def _(resource: Spec, value: Spec) -> Spec:
    return value


@op("T T -> T", T=NUMBERS, resource=True, shares_memory=True)
def AssignAddVariableOp(xp: Any, resource: Any, value: Any) -> Any:
    if resource.shape != value.shape:
        raise ValueError("an update cannot be broadcast")
    return resource + value


@op("T T -> T", T=NUMBERS, resource=True, shares_memory=True)
def AssignSubVariableOp(xp: Any, resource: Any, value: Any) -> Any:
    if resource.shape != value.shape:
        raise ValueError("an update cannot be broadcast")
    return resource - value


@AssignAddVariableOp.infer
@AssignSubVariableOp.infer
def _(resource: Spec, value: Spec) -> Spec:
    if not may_be_equal(resource.shape, value.shape):
        raise InvalidArgumentError(
            f"Cannot update variable with shape {bracketed(resource.shape)} using a Tensor with shape "
            f"{bracketed(value.shape)}, shapes must be equal."
        )
    return resource


no_gradient(VarHandleOp, AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp)
