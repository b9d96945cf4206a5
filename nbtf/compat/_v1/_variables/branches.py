"""Execution of nodes that use a variable inside a branch of `tf.cond` or a loop body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._record.events import Reason
from nbtf._runtime.scopes import SCOPE, NodeScope, set_scope
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._variables.ops import ASSIGNS
from nbtf.compat._v1._variables.running import SessionVariable, outputs_on_variables, value_of


def outputs_in_branch(node: Operation, run_values: Mapping[Any, Any]) -> list[Any]:
    """Returns the outputs of a node that uses a variable, computed on the variable's device.

    When gradients are computed through a branch, its ops run again on values. They do not change a variable twice.
    """
    variable = run_values[node.inputs[0]]
    if variable.__class__ is not SessionVariable:
        return _rerun(node, variable, run_values)
    scope, device = SCOPE(), variable._device
    try:
        set_scope(NodeScope(node.name, device, Reason("follows variable", device.short_name)))
        return outputs_on_variables(node, run_values, {})
    finally:
        set_scope(scope)


def _rerun(node: Operation, value: Tensor, run_values: Mapping[Any, Any]) -> list[Any]:
    if not node.outputs:
        return []
    return [value_of(run_values[node.inputs[1]], node.name) if node.record in ASSIGNS else value]
