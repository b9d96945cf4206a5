"""`tf.assign` and related functions, which change the values of graph variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import changing_node
from nbtf.errors import OutOfRangeError


def assign(
    ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Returns a node that assigns a value to a variable when it runs.

    Args:
      ref: the variable, or the result of another assignment.
      value: the new value, with the variable's dtype and shape.
      validate_shape: False lets a reference variable accept a value of another shape.
      use_locking: kept as an attribute of the node, without effect.

    Returns:
      The reference, or for a resource variable its value after the assignment.

    Raises:
      TypeError: if the value has another dtype; resource variables raise `ValueError`.
      ValueError: if the value has another shape.
    """
    attrs = {"use_locking": use_locking is not False, "validate_shape": validate_shape is not False}
    return _change(ref, ops.ASSIGN, [value], name, attrs)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Returns a node that adds to a variable when it runs; see `assign`."""
    return _change(ref, ops.ASSIGN_ADD, [value], name, {"use_locking": bool(use_locking)})


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Returns a node that subtracts from a variable when it runs; see `assign`."""
    return _change(ref, ops.ASSIGN_SUB, [value], name, {"use_locking": bool(use_locking)})


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """Returns a node that replaces rows of a variable when it runs.

    Args:
      ref: the variable.
      indices: indices of the rows.
      updates: the new rows.
      use_locking: kept as an attribute of the node, without effect.
    """
    return _change(ref, ops.SCATTER_UPDATE, [indices, updates], name, {"use_locking": use_locking})


def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that adds to rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_ADD, [indices, updates], name, {"use_locking": use_locking})


def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that subtracts from rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_SUB, [indices, updates], name, {"use_locking": use_locking})


def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that takes the element-wise maximum with rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_MAX, [indices, updates], name, {"use_locking": use_locking})


def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that takes the element-wise minimum with rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_MIN, [indices, updates], name, {"use_locking": use_locking})


def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that multiplies rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_MUL, [indices, updates], name, {"use_locking": use_locking})


def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that divides rows of a variable when it runs; see `scatter_update`."""
    return _change(ref, ops.SCATTER_DIV, [indices, updates], name, {"use_locking": use_locking})


def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """Returns a node that replaces elements or slices of a variable when it runs.

    Args:
      ref: the variable.
      indices: positions, with shape `[..., depth]`.
      updates: the new values.
      use_locking: kept as an attribute of the node, without effect.
    """
    return _change(ref, ops.SCATTER_ND_UPDATE, [indices, updates], name, {"use_locking": use_locking})


def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that adds to elements or slices of a variable when it runs; see `scatter_nd_update`."""
    return _change(ref, ops.SCATTER_ND_ADD, [indices, updates], name, {"use_locking": use_locking})


def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Returns a node that subtracts from elements or slices of a variable when it runs; see `scatter_nd_update`."""
    return _change(ref, ops.SCATTER_ND_SUB, [indices, updates], name, {"use_locking": use_locking})


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Returns a tensor that increments a variable when it runs; its value is the previous one.

    Args:
      ref: an integer variable.
      limit: value at which a run fails.
    """
    if isinstance(ref, EagerVariable):
        return _count_up(ref, limit)
    return ref.count_up_to(limit, name)


def _count_up(variable: EagerVariable, limit: int) -> Any:
    old_value = variable.value()
    if int(old_value) >= limit:
        raise OutOfRangeError(f"Reached limit of {limit}")
    variable.assign_add(1)
    return old_value


def _change(ref: Any, record: Op, values: Sequence[Any], name: str | None, attrs: Mapping[str, Any]) -> Any:
    if ref.__class__ is GraphTensor and ref._link == "reference":
        return changing_node(ref.graph, record, ref, values, name or record.type, attrs).outputs[0]
    if isinstance(ref, EagerVariable):
        return _changed(ref, record, values)
    if not hasattr(ref, "_change"):
        method = {"Assign": "assign", "AssignAdd": "assign_add", "AssignSub": "assign_sub"}.get(
            record.type, "_lazy_read"
        )
        if hasattr(ref, method):  # an eager variable, after `enable_eager_execution`
            return getattr(ref, method)(*values)
        raise AttributeError(f"'{type(ref).__name__}' object has no attribute '{method}'")
    return ref._change(record, list(values), name, **attrs)


_METHODS: dict[Op, str] = {
    ops.ASSIGN: "assign",
    ops.ASSIGN_ADD: "assign_add",
    ops.ASSIGN_SUB: "assign_sub",
    ops.SCATTER_UPDATE: "scatter_update",
    ops.SCATTER_ADD: "scatter_add",
    ops.SCATTER_SUB: "scatter_sub",
    ops.SCATTER_MAX: "scatter_max",
    ops.SCATTER_MIN: "scatter_min",
    ops.SCATTER_MUL: "scatter_mul",
    ops.SCATTER_DIV: "scatter_div",
    ops.SCATTER_ND_UPDATE: "scatter_nd_update",
    ops.SCATTER_ND_ADD: "scatter_nd_add",
    ops.SCATTER_ND_SUB: "scatter_nd_sub",
}
"""The corresponding methods of eager variables."""

_ROWS = frozenset(
    {
        *(ops.SCATTER_UPDATE, ops.SCATTER_ADD, ops.SCATTER_SUB),
        *(ops.SCATTER_MAX, ops.SCATTER_MIN, ops.SCATTER_MUL, ops.SCATTER_DIV),
    }
)
"""Row updates; the methods take their rows as `tf.IndexedSlices`."""


def _changed(variable: EagerVariable, record: Op, values: Sequence[Any]) -> Any:
    """Changes an eager variable at once and returns it."""
    method = getattr(variable, _METHODS[record])
    return method(IndexedSlices(values[1], values[0])) if record in _ROWS else method(*values)
