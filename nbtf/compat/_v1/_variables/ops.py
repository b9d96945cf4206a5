"""The ops that create a graph variable, assign to it, and check whether it has a value.

TensorFlow 1 has two kinds of variables. The ops here do to references what the op table's ops do to resources, with the
same kernels. Only graphs have them, so they are not in the op table.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp, VarHandleOp
from nbtf._ops.variables.resource_parts import (
    INDICES,
    ORDERED,
    ResourceScatterAdd,
    ResourceScatterDiv,
    ResourceScatterMax,
    ResourceScatterMin,
    ResourceScatterMul,
    ResourceScatterNdAdd,
    ResourceScatterNdMax,
    ResourceScatterNdMin,
    ResourceScatterNdSub,
    ResourceScatterNdUpdate,
    ResourceScatterSub,
    ResourceScatterUpdate,
    ResourceStridedSliceAssign,
)
from nbtf._shapes import TensorShape
from nbtf._types import ALL, NUMBERS, DType, as_dtype, bool_, int32, int64, string


def _first(resource: Spec, *operands: Spec, **attrs: Any) -> Spec:
    return resource


def _value(ref: Spec, value: Spec) -> Spec:
    return value


def _handle(dtype: DType) -> Spec:
    return Spec((0,), dtype)


def _truth(xp: Any, ref: Any) -> Any:
    return xp.asarray(True)


def _either(xp: Any, ref: Any, initial: Any, is_there: Any) -> Any:
    return ref


def _assigning(type: str, like: Op, rule: str, names: str, **sets: Any) -> Op:
    """Returns the reference version of a resource op."""
    plain = like.normalisers
    record = Op(type, like.kernel, rule, names.split(), plain=plain, resource=True, shares_memory=True, sets=sets)
    record.infer(_first if like is not AssignVariableOp else _value)
    record.no_gradient = True
    return record


def _asking(type: str, name: str) -> Op:
    """Returns an op that checks whether a variable has a value, without reading the value."""
    record = Op(type, _truth, "T -> bool", [name], resource=True, only_reads=True, sets={"T": ALL})
    record.no_gradient = True
    return record


# TensorFlow has no GPU kernels for these ops with these two dtypes, so such variables are placed on the CPU.
VARIABLE = Op(
    "VariableV2",
    VarHandleOp.kernel,
    "-> dtype",
    ["dtype"],
    plain={"dtype": as_dtype},
    cpu_only=frozenset({int32, string}),
    sets={},
)
VARIABLE.infer(_handle)
VARIABLE.no_gradient = True

ASSIGN = _assigning("Assign", AssignVariableOp, "T T -> T", "ref value", T=ALL)
ASSIGN_ADD = _assigning("AssignAdd", AssignAddVariableOp, "T T -> T", "ref value", T=NUMBERS)
ASSIGN_SUB = _assigning("AssignSub", AssignSubVariableOp, "T T -> T", "ref value", T=NUMBERS)

_ROWS = "ref indices updates"
SCATTER_UPDATE = _assigning("ScatterUpdate", ResourceScatterUpdate, "T I T -> T", _ROWS, T=ALL, I=INDICES)
SCATTER_ADD = _assigning("ScatterAdd", ResourceScatterAdd, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_SUB = _assigning("ScatterSub", ResourceScatterSub, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_MAX = _assigning("ScatterMax", ResourceScatterMax, "T I T -> T", _ROWS, T=ORDERED, I=INDICES)
SCATTER_MIN = _assigning("ScatterMin", ResourceScatterMin, "T I T -> T", _ROWS, T=ORDERED, I=INDICES)
SCATTER_MUL = _assigning("ScatterMul", ResourceScatterMul, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_DIV = _assigning("ScatterDiv", ResourceScatterDiv, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_ND_UPDATE = _assigning("ScatterNdUpdate", ResourceScatterNdUpdate, "T I T -> T", _ROWS, T=ALL, I=INDICES)
SCATTER_ND_ADD = _assigning("ScatterNdAdd", ResourceScatterNdAdd, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_ND_SUB = _assigning("ScatterNdSub", ResourceScatterNdSub, "T I T -> T", _ROWS, T=NUMBERS, I=INDICES)
SCATTER_ND_MAX = _assigning("ScatterNdMax", ResourceScatterNdMax, "T I T -> T", _ROWS, T=ORDERED, I=INDICES)
SCATTER_ND_MIN = _assigning("ScatterNdMin", ResourceScatterNdMin, "T I T -> T", _ROWS, T=ORDERED, I=INDICES)

_SLICE = "ref value begin end strides masks"
STRIDED_SLICE_ASSIGN = _assigning("StridedSliceAssign", ResourceStridedSliceAssign, "T T -> T", _SLICE, T=ALL)

IS_INITIALIZED = _asking("IsVariableInitialized", "ref")
HANDLE_IS_INITIALIZED = _asking("VarIsInitializedOp", "resource")

INITIALIZED_VALUE = Op(
    "Merge",
    _either,
    "T T bool -> T",
    ["ref", "initial", "is_there"],
    resource=True,
    only_reads=True,
    shares_memory=True,
    sets={"T": ALL},
)
INITIALIZED_VALUE.infer(_first)
"""The variable's value, or another value if it has none; TensorFlow builds a `cond` with several nodes."""

TRUTH = [(TensorShape(()), bool_)]
"""Shape and dtype of the checking ops' output."""

COUNT_UP_TO = _assigning("CountUpTo", AssignAddVariableOp, "T T -> T", "ref value", T=frozenset({int32, int64}))
"""Adds one, up to a limit, and returns the previous value."""

RESOURCE_OPS: dict[Op, Op] = {
    ASSIGN: AssignVariableOp,
    ASSIGN_ADD: AssignAddVariableOp,
    ASSIGN_SUB: AssignSubVariableOp,
    SCATTER_UPDATE: ResourceScatterUpdate,
    SCATTER_ADD: ResourceScatterAdd,
    SCATTER_SUB: ResourceScatterSub,
    SCATTER_MAX: ResourceScatterMax,
    SCATTER_MIN: ResourceScatterMin,
    SCATTER_MUL: ResourceScatterMul,
    SCATTER_DIV: ResourceScatterDiv,
    SCATTER_ND_UPDATE: ResourceScatterNdUpdate,
    SCATTER_ND_MAX: ResourceScatterNdMax,
    SCATTER_ND_MIN: ResourceScatterNdMin,
    SCATTER_ND_ADD: ResourceScatterNdAdd,
    SCATTER_ND_SUB: ResourceScatterNdSub,
    STRIDED_SLICE_ASSIGN: ResourceStridedSliceAssign,
}
"""The resource op for each reference op."""

ASSIGNS = frozenset({ASSIGN, AssignVariableOp})
"""The ops that assign a value regardless of the previous one."""

UPDATES = frozenset({*RESOURCE_OPS, *RESOURCE_OPS.values()}) - ASSIGNS
"""The ops that change the existing value of a variable."""

MAKES = frozenset({VARIABLE, VarHandleOp})
"""The ops that output a variable."""

ASKS = frozenset({IS_INITIALIZED, HANDLE_IS_INITIALIZED})
"""The ops that only check whether the variable has a value."""
