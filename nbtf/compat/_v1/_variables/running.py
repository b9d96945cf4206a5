"""Execution of nodes that lead to a variable: the session stores the value and passes it to nodes that use it.

During a run, the value of a reference or a handle is the `SessionVariable` itself. So is the value of a tensor read
from a reference: as in TensorFlow, both share memory, and a later node of the same run sees assignments made meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nbtf._devices.base import Buffer
from nbtf._graph.operation import Operation
from nbtf._ops.arrays.identity import Identity
from nbtf._ops.specs import bracketed
from nbtf._ops.variables.creation import alone, begin
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.execute import execute
from nbtf._runtime.host_values import host_array
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import bool_
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._training.apply_op import ApplyOp
from nbtf.compat._v1._variables.ops import ASKS, ASSIGNS, INITIALIZED_VALUE, MAKES, UPDATES, VARIABLE
from nbtf.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

Values = dict[Operation, "SessionVariable"]
"""The variables of a session, keyed by the nodes that represent them."""


class SessionVariable(Variable):
    """A session's value for a graph variable; it has none until it is assigned."""

    __slots__ = ("initialized", "node")

    node: Operation
    initialized: bool

    def tensor(self, reader: str) -> Tensor:
        """Returns the current value.

        Args:
          reader: name of the node that reads it.

        Raises:
          FailedPreconditionError: if the variable has no value yet.
        """
        if not self.initialized:
            raise FailedPreconditionError(f"{self._lack()}\n\t [[{{{{node {reader}}}}}]]")
        return tensor_of(self, self._dtype, self._device)

    def _lack(self) -> str:
        name = self.node.name
        if self.node.record is VARIABLE:
            return f"Attempting to use uninitialized value {name}"
        return (
            f"Could not find variable {name}. This could mean that the variable has been deleted. In TF1, it can also "
            "mean the variable is uninitialized. Debug info: container=localhost, status error message="
            f"{_missing(name)}"
        )

    def assign_value(self, value: Tensor, assigner: Operation) -> None:
        """Assigns a value, whether or not the variable has one.

        Raises:
          InvalidArgumentError: if the value has another shape and shapes are validated.
        """
        shape = self._array.shape if self.initialized else self.node.outputs[0]._shape
        new = value._array.shape
        if assigner.attrs["validate_shape"] and not _fits(shape, new):
            text = "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}"
            if self.node.record is not VARIABLE:
                text = "Trying to assign to variable with tensor with wrong shape. Expected {} got {}"
            known_shape = bracketed(tuple(shape))
            raise InvalidArgumentError(
                f"{text.format(known_shape, bracketed(new))}\n\t [[{{{{node {assigner.name}}}}}]]"
            )
        self._take(execute(assigner.record, [self, value], {}, assigner.name))
        self.initialized = True

    def update_value(self, changes: list[Any], updater: Operation) -> None:
        """Changes the value.

        Raises:
          FailedPreconditionError: if the variable has no value yet; resource variables raise `NotFoundError`.
        """
        if not self.initialized and self.node.record is not VARIABLE:
            raise NotFoundError(f"{_missing(self.node.name)}\n\t [[{{{{node {updater.name}}}}}]]")
        self.tensor(updater.name)
        attrs = {name: updater.attrs[name] for name in updater.record.attrs}
        self._update(updater.record, *changes, name=updater.name, **attrs)


def _missing(name: str) -> str:
    return f"Container localhost does not exist. (Could not find resource: localhost/{name})"


def _fits(shape: Any, new: tuple[int, ...]) -> bool:
    if isinstance(shape, tuple):
        return shape == new
    return shape.is_compatible_with(new)


def value_of(run_value: Any, reader: str) -> Tensor:
    """Returns a run's value as a tensor; for a variable, its current value."""
    return run_value.tensor(reader) if run_value.__class__ is SessionVariable else run_value


def outputs_on_variables(node: Operation, run_values: Mapping[Any, Any], values: Values) -> list[Any]:
    """Returns the outputs of a node that creates or uses a variable, computed in the scope that gives its device.

    Args:
      node: the node.
      run_values: the run's values by graph tensor.
      values: the session's variables; a missing one is added.
    """
    record = node.record
    if record in MAKES:
        return [values[node] if node in values else _variable(node, values)]
    if record is Identity or not node.reference_inputs:
        return _read(node, run_values)
    variable = run_values[node.inputs[0]]
    if variable.__class__ is not SessionVariable:  # a value was fed instead of the variable
        raise InvalidArgumentError(_not_a_variable(node))
    if record in ASKS:
        return [constant_of(host_array(variable.initialized, bool_)[0], bool_)]
    if record is INITIALIZED_VALUE:
        return [variable.tensor(node.name) if variable.initialized else value_of(run_values[node.inputs[1]], node.name)]
    if isinstance(record, ApplyOp):
        variables = [run_values[tensor] for tensor in node.inputs[: record.refs]]
        operands = [value_of(run_values[tensor], node.name) for tensor in node.inputs[record.refs :]]
        alone(partial(_apply, record, variables, operands, node), *variables)
    elif record in ASSIGNS:
        alone(partial(variable.assign_value, value_of(run_values[node.inputs[1]], node.name), node), variable)
    elif record in UPDATES:
        changes = [value_of(run_values[tensor], node.name) for tensor in node.inputs[1:]]
        alone(partial(variable.update_value, changes, node), variable)
    else:
        variable.tensor(node.name)
        operands = [value_of(run_values[tensor], node.name) for tensor in node.inputs[1:]]
        return [execute(record, [variable, *operands], node.attrs, node.name)]
    return [variable] if node.outputs else []


def _apply(record: ApplyOp, variables: list[SessionVariable], operands: list[Tensor], node: Operation) -> None:
    values = [variable.tensor(node.name) for variable in variables]
    record.apply(variables, values, operands, node.attrs, node.name)


def inputs_of_deferred(node: Operation, run_values: Mapping[Any, Any]) -> list[Any]:
    """Returns the inputs of a node that runs a function; variables themselves if the function requests them."""
    if node.record.takes_variables:
        return [run_values[tensor] for tensor in node.inputs]
    return [value_of(run_values[tensor], node.name) for tensor in node.inputs]


def _not_a_variable(node: Operation) -> str:
    source, dtype_name = node.inputs[0], node.inputs[0]._dtype.c_name
    return (
        f"Input 0 of node {node.name} was passed {dtype_name} from _arg_{source.op.name}_0_{source.value_index}:0 "
        f"incompatible with expected {dtype_name}_ref."
    )


def _variable(node: Operation, values: Values) -> SessionVariable:
    handle = execute(node.record, [], {"dtype": node.attrs["dtype"]}, node.name)
    variable = Buffer.__new__(SessionVariable)
    begin(variable)
    variable.node, variable.initialized = node, False
    variable._name = node.outputs[0].name
    variable._array, variable._dtype, variable._device = handle._array, handle._dtype, handle._device
    return values.setdefault(node, variable)  # another run may have added it first


def _read(node: Operation, run_values: Mapping[Any, Any]) -> list[Any]:
    """Returns the outputs of an op whose inputs include values of variables."""
    name, record = node.name, node.record
    if isinstance(record, Deferred):
        return record.run(name, inputs_of_deferred(node, run_values))
    inputs = [
        [value_of(run_values[tensor], name) for tensor in value]
        if value.__class__ is list
        else value_of(run_values[value], name)
        for value in node.arguments
    ]
    result = execute(record, inputs, node.attrs, name)
    if record is Identity and node.outputs[0]._link == "alias":
        variable = run_values[node.arguments[0]]
        if variable.__class__ is SessionVariable and variable._device is result._device:
            return [variable]
    return result if record.many else [result]
