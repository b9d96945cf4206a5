"""The ops that create a graph variable, assign to it, and check whether it has a value.

TensorFlow 1 has two kinds of variables. The ops here do to references what the op table's ops do to resources, with the
same kernels. Only graphs have them, so they are not in the op table.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import Op
from nbtf._ops.variables import resource_parts
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp, VarHandleOp
from nbtf._ops.variables.resource_parts import INDICES, ORDERED, ResourceStridedSliceAssign
from nbtf._shapes import TensorShape
from nbtf._types import ALL, NUMBERS, DType, as_dtype, bool_, int32, string


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


def _assigning(type: str, like: Op, names: str = "ref value", **sets: Any) -> Op:
    """Returns the reference version of a resource op."""
    rule = "T I T -> T" if "I" in sets else "T T -> T"
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

ASSIGN = _assigning("Assign", AssignVariableOp, T=ALL)
ASSIGN_ADD = _assigning("AssignAdd", AssignAddVariableOp, T=NUMBERS)
ASSIGN_SUB = _assigning("AssignSub", AssignSubVariableOp, T=NUMBERS)
STRIDED_SLICE_ASSIGN = _assigning(
    "StridedSliceAssign", ResourceStridedSliceAssign, "ref value begin end strides masks", T=ALL
)

_DTYPES = {
    "Update": ALL,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), NUMBERS),
    **dict.fromkeys(("Max", "Min"), ORDERED),
}


def _scattering(type: str, change: str) -> Op:
    like = getattr(resource_parts, f"Resource{type}{change}")
    return _assigning(f"{type}{change}", like, "ref indices updates", T=_DTYPES[change], I=INDICES)


ROWS = {f"scatter_{change.lower()}": _scattering("Scatter", change) for change in _DTYPES}
"""The ops that change rows, by the names of their functions."""

PARTS = {
    f"scatter_nd_{change.lower()}": _scattering("ScatterNd", change)
    for change in ("Update", "Add", "Sub", "Max", "Min")
}
"""The ops that change elements or slices, by the names of their functions."""

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

RESOURCE_OPS: dict[Op, Op] = {
    ASSIGN: AssignVariableOp,
    ASSIGN_ADD: AssignAddVariableOp,
    ASSIGN_SUB: AssignSubVariableOp,
    STRIDED_SLICE_ASSIGN: ResourceStridedSliceAssign,
    **{op: getattr(resource_parts, f"Resource{op.type}") for op in (*ROWS.values(), *PARTS.values())},
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
