"""Execution of a session's steps: each node takes the same road as eager ops, on the device of its placement."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from nbtf._devices.base import Device
from nbtf._devices.sites import is_ours
from nbtf._graph.operation import Operation, flat
from nbtf._graph.seeds import GraphStream
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import EagerConst, put_constant, tell_of_constant
from nbtf._runtime.copying import copied_to
from nbtf._runtime.execute import execute
from nbtf._runtime.scopes import SCOPE, set_scope
from nbtf._runtime.seeds import Stream
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._session.plan import Copy, Plan, Step
from nbtf.compat._v1._variables.running import Values, outputs_on_variables, value_of
from nbtf.errors import FailedPreconditionError, InvalidArgumentError, OpError

Made = dict[Any, Any]
"""The values of a run so far, by graph tensor or copy: tensors, and variables of the session."""


class _Const(EagerConst):
    """A constant of a graph."""

    type = "Const"


_CONST = _Const()


class Runner:
    """Runs plans, and holds the state that outlives a run: variables, and constants on their devices."""

    def __init__(self) -> None:
        self.values: Values = {}
        self.constants: dict[Operation, Tensor] = {}
        self.streams: dict[Operation, Stream] = {}
        """The random streams of random ops; each session has its own."""

    def forget(self) -> None:
        """Releases all values, even if a stored error still refers to this object."""
        self.values.clear()
        self.constants.clear()
        self.streams.clear()

    def run(self, plan: Plan, fed: Mapping[GraphTensor, np.ndarray[Any, Any]], host: Device) -> list[Any]:
        """Runs the steps in order, each in its own scope, and returns the values of the fetches.

        After an error or an interrupt, only values assigned to variables are kept, even if the error is stored. The
        caller's scope is restored, even if an interrupt arrives while it is being restored.
        """
        outer = SCOPE()
        try:
            return self._run_steps(plan, fed, host)
        except BaseException:
            set_scope(outer)
            raise

    def _run_steps(self, plan: Plan, fed: Mapping[GraphTensor, np.ndarray[Any, Any]], host: Device) -> list[Any]:
        outer, handled = SCOPE(), sys.exception()
        run_values: Made = {tensor: _on_host(array, tensor, host) for tensor, array in fed.items()}
        node: Operation | None = None
        try:
            for step in plan.steps:
                node = step.node
                for copy in step.copies:
                    _make_copy(copy, run_values, node)
                set_scope(step.scope)
                self._take_step(step, run_values)
            node = None
            return [
                None if fetch is None else _read(*fetch, run_values, number)
                for number, fetch in enumerate(plan.fetches)
            ]
        except OpError as error:
            run_values.clear()
            _let_go(error, handled)
            raise _locate_error(error, node) from error.__cause__
        except BaseException as error:
            run_values.clear()
            _let_go(error, handled)
            raise
        finally:
            set_scope(outer)

    def _take_step(self, step: Step, run_values: Made) -> None:
        """Runs a node in a frame of its own, which a stored error does not keep; see `_let_go`."""
        for tensor, value in zip(step.node.outputs, self._outputs(step, run_values), strict=True):
            run_values.setdefault(tensor, value)  # fed values are kept
        for key in step.done_with:
            run_values.pop(key, None)

    def _outputs(self, step: Step, run_values: Made) -> list[Any]:
        """Returns the outputs of a node."""
        role, node = step.role, step.node
        if role == "op":
            return _results(step, run_values, self.streams)
        if role == "constant":
            return [self._constant(step)]
        if role == "variable":
            return outputs_on_variables(node, run_values, self.values)
        if role == "deferred":
            return node.record.run(node.name, flat([run_values[tensor] for tensor in node.inputs]))
        if role == "placeholder":
            if node.outputs[0] in run_values:
                return [run_values[node.outputs[0]]]
            raise InvalidArgumentError(None, node, _not_fed(node))
        return []

    def _constant(self, step: Step) -> Tensor:
        """Returns a constant, which is copied to its device once in the lifetime of the session."""
        node, scope = step.node, step.scope
        assert scope.placed is not None
        device, reason = scope.placed
        constant = self.constants.get(node)
        watched = CURRENT.context.watched
        if constant is None or constant._device is not device:
            array, dtype = node.attrs["value"], node.outputs[0]._dtype
            constant = self.constants[node] = put_constant(_CONST, array, dtype, device, reason, scope, watched)
        elif watched:
            tell_of_constant(_CONST, constant, reason, scope)
        return constant


def _results(step: Step, run_values: Made, streams: dict[Operation, Stream]) -> list[Any]:
    node = step.node
    inputs: list[Any] = [
        [run_values[tensor] for tensor in key] if isinstance(key, list) else run_values[key] for key in step.keys
    ]
    if node.on_variables:
        name = node.name
        inputs = [
            [value_of(tensor, name) for tensor in value] if value.__class__ is list else value_of(value, name)
            for value in inputs
        ]
    attrs = node.attrs
    if step.late_attrs:
        attrs = {**attrs, **{name: value_of(run_values[source], node.name).numpy() for name, source in step.late_attrs}}
    seeds: Any = attrs.get("stream")
    if seeds.__class__ is GraphStream:
        attrs = {**attrs, "stream": streams.get(node) or streams.setdefault(node, seeds.started())}
    result = execute(node.record, inputs, attrs, node.name)
    return result if node.record.many else [result]


def _make_copy(copy: Copy, run_values: Made, reader: Operation) -> None:
    value = value_of(run_values[copy.source], reader.name)
    device = copy.scope.placed
    assert device is not None
    set_scope(copy.scope)
    run_values[copy.key] = value if value._host else copied_to(value, device[0], copy.copy_kind)


def _on_host(array: Any, like: GraphTensor, host: Device) -> Tensor:
    tensor = Tensor()
    tensor._array, tensor._dtype, tensor._device, tensor._watch = array, like._dtype, host, None
    return tensor


def _read(tensor: GraphTensor, scope: Any, run_values: Made, number: int) -> Any:
    """Returns the value of a fetch; the node that reads it has `number` in its name, as in TensorFlow."""
    set_scope(scope)
    try:
        return value_of(run_values[tensor], f"_retval_{tensor.op.name}_{tensor.value_index}_{number}").numpy()
    except FailedPreconditionError as error:
        raise FailedPreconditionError(None, tensor.op, f"Graph execution error:\n\n{error.message}") from None


# Errors of failing nodes


def _locate_error(error: OpError, node: Operation | None) -> OpError:
    """Returns an error that names its node, below the first line."""
    if node is None or error.op is not None:
        return error
    message = error.message
    if "[[{{node " not in message:
        first, newline, further_lines = message.partition("\n")
        message = f"{first}\n\t [[{{{{node {node.name}}}}}]]{newline}{further_lines}"
    return type(error)(None, node, message)


def _let_go(error: BaseException | None, handled: BaseException | None) -> None:
    """Clears the frames of the road, so that a stored error, as in notebooks, does not keep tensors in memory."""
    while error is not None and error is not handled:
        step = error.__traceback__
        while step is not None:
            if is_ours(step.tb_frame):
                with suppress(RuntimeError):  # raised for this frame and its callers, which are still running
                    step.tb_frame.clear()
            step = step.tb_next
        error = error.__cause__ or error.__context__


def _not_fed(node: Operation) -> str:
    (tensor,) = node.outputs
    shape = ""
    if tensor.shape.dims:
        shape = f" and shape [{','.join('?' if length is None else str(length) for length in tensor.shape)}]"
    return (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype {tensor.dtype.c_name}{shape}\n"
        f"\t [[{{{{node {node.name}}}}}]]"
    )
