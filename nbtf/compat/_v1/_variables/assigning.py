"""`tf.assign` and related functions, which change the values of graph variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import changing_node

Function = Callable[..., Any]


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
    return _change(ref, "assign", ops.ASSIGN, [value], name, attrs)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Returns a node that adds to a variable when it runs; see `assign`."""
    return _change(ref, "assign_add", ops.ASSIGN_ADD, [value], name, {"use_locking": bool(use_locking)})


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Returns a node that subtracts from a variable when it runs; see `assign`."""
    return _change(ref, "assign_sub", ops.ASSIGN_SUB, [value], name, {"use_locking": bool(use_locking)})


def _change(
    ref: Any, method: str, record: Op, values: Sequence[Any], name: str | None, attrs: Mapping[str, Any]
) -> Any:
    """Returns a node that changes a variable; an eager variable is changed at once and returned.

    Args:
      ref: the variable, or the result of another assignment.
      method: name of the corresponding method of eager variables.
      record: the op of the node.
      values: the other inputs.
      name: name of the node.
      attrs: attributes of the node.
    """
    if ref.__class__ is GraphTensor and ref._link == "reference":
        return changing_node(ref.graph, record, ref, values, name or record.type, attrs).outputs[0]
    if isinstance(ref, EagerVariable):
        rows = method in ops.ROWS
        return getattr(ref, method)(*([IndexedSlices(values[1], values[0])] if rows else values))
    if hasattr(ref, "_change"):
        return ref._change(record, list(values), name, **attrs)
    if hasattr(ref, method if method.startswith("assign") else "_lazy_read"):
        return getattr(ref, method)(*values)
    raise AttributeError(f"'{type(ref).__name__}' object has no attribute '{method}'")


def _scatter(method: str, effect: str) -> Function:
    """Returns the function that changes a part of a variable."""
    record = ops.ROWS.get(method) or ops.PARTS[method]
    locks = method.endswith("update")

    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool = locks, name: str | None = None) -> Any:
        return _change(ref, method, record, [indices, updates], name, {"use_locking": use_locking})

    positions = "indices of the rows" if method in ops.ROWS else "positions, with shape `[..., depth]`"
    scatter.__name__ = scatter.__qualname__ = method
    scatter.__doc__ = f"""Returns a node that {effect} of a variable when it runs.

    Args:
      ref: the variable.
      indices: {positions}.
      updates: the new values.
      use_locking: kept as an attribute of the node, without effect.
    """
    return scatter


scatter_update: Function = _scatter("scatter_update", "replaces rows")
scatter_add: Function = _scatter("scatter_add", "adds to rows")
scatter_sub: Function = _scatter("scatter_sub", "subtracts from rows")
scatter_max: Function = _scatter("scatter_max", "takes the element-wise maximum with rows")
scatter_min: Function = _scatter("scatter_min", "takes the element-wise minimum with rows")
scatter_mul: Function = _scatter("scatter_mul", "multiplies rows")
scatter_div: Function = _scatter("scatter_div", "divides rows")
scatter_nd_update: Function = _scatter("scatter_nd_update", "replaces elements or slices")
scatter_nd_add: Function = _scatter("scatter_nd_add", "adds to elements or slices")
scatter_nd_sub: Function = _scatter("scatter_nd_sub", "subtracts from elements or slices")
