"""The road: the full dispatch path that any op can take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import nan
from time import perf_counter
from typing import Any

from nbtf._devices.base import Device
from nbtf._devices.collectives import COLLECTIVE
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT
from nbtf._runtime.copying import check_policy, moved, tell_collective
from nbtf._runtime.decisions import OpRecord, decide
from nbtf._runtime.numerics import check_results
from nbtf._runtime.reporting import begin, give_up, take_note
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf.errors import InvalidArgumentError, OpError, ResourceExhaustedError


def execute(  # noqa: C901  # the steps of an op in order, each with its condition
    op: OpRecord, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None = None
) -> Any:
    """Runs an op and returns its results.

    First, values are converted to tensors, and the op's device is decided or remembered. After listeners are notified,
    inputs are copied to the device and the kernel runs. Finally, listeners are notified again and tapes record the op.

    Args:
      op: the op.
      inputs: tensors, variables, or values to convert; a list if the op accepts a list.
      attrs: the kernel's other arguments.
      name: the node's name in a graph; None for eager ops.

    Returns:
      A tensor, or a list of them for an op with several results.
    """
    scope = SCOPE()
    if scope is not None:
        if scope.owner is not None and scope.owner() is None:
            scope = current_scope()
        if scope is not None and scope.graph is not None:
            return scope.graph.add(op, inputs, attrs, name)
    context, tensors = CURRENT.context, inputs
    for value in inputs:
        if value.__class__ is not Tensor:
            tensors = op.convert(inputs)
            break
    decision = decide(context, op, tensors, attrs, scope, name)
    device, runner, buffers = decision.device, decision.runner, tensors
    start = begin(context, op, device, decision.reason, scope, attrs, _FRAMES, inputs) if context.watched else None
    call_site = None if start is None else start[0]
    try:
        if context.settings.device_policy != "silent":
            check_policy(context, op, tensors, runner, name)
        if not decision.inputs_are_there:
            buffers = [moved(context, op, tensor, runner, call_site) for tensor in tensors]
        try:
            specs = decision.specs if decision.is_sized else decision.size(op, tensors)
            started = 0.0 if call_site is None or runner.models_time else perf_counter()
            result_buffers = runner.run(op, buffers, decision.attrs, specs, call_site)
            seconds = perf_counter() - started if started else nan
        except FAILURES as error:
            call = called(op, inputs, attrs, name)
            raise _explained(error, op, tensors, decision.attrs, device, call) from _cause(error)
        outputs = decision.outputs(op, result_buffers)
    except BaseException:
        give_up(context, op, device, decision.reason, start)
        raise
    if start is not None:
        if op.type == COLLECTIVE:
            tell_collective(context, tensors, decision.attrs, start[0])
        take_note(context.observers, decision.subject(op, outputs), start, outputs, seconds)
    if context.settings.check_numerics and not (scope is not None and scope.silent):
        check_results(op.type, tensors, outputs, device.name)
    result = outputs if op.many else outputs[0]
    if scope is not None:
        for tape in scope.tapes:
            tape.record(op, tensors, decision.attrs, result)
    return result


_FRAMES = 4
"""Stack frames from `begin` up to the public function; all belong to nbtf, not to the user's program."""


# Failing

FAILURES = (OpError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError)
"""Errors that a kernel may raise; everything else, such as an interrupt, passes unchanged."""


_CLUSTER = "nbtf._cluster."
"""The package whose errors already name the cluster task and the fix."""


def _cause(error: Exception) -> BaseException | None:
    """Returns the cause to show for a reworded error; never the error itself if it is an `OpError`."""
    return error.__cause__ if isinstance(error, OpError) else error


_PACKED = ("Fill", "StridedSlice")
"""Ops whose lists TensorFlow's own functions, `zeros` and the operator `[]`, convert to tensors before the call."""


def called(op: OpRecord, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> str:
    """Returns the end of an error message, which names the call.

    Unconverted lists and strings follow a path through TensorFlow on which calls are not named.
    """
    attributes = op.host_inputs if inputs and op.type not in _PACKED else ()
    values: list[Any] = [*inputs, *[attrs.get(attribute) for attribute in attributes]]
    if op.takes_lists:
        lists: Any = [value if value.__class__ is list else [value] for value in values]
        values = list(chain.from_iterable(lists))
    is_slow = any([value.__class__ in (list, tuple, str, bytes) for value in values])
    return "" if is_slow else f" name: {name or ''}"


def _wrapper(op: OpRecord, tensors: Sequence[Any], attrs: dict[str, Any]) -> str:
    """Returns TensorFlow's name for the function around an op: its type, and the lengths of lists."""
    lengths = [f"_N_{len(value)}" for value in tensors if value.__class__ is list]
    lengths += [f"_{attribute}_{attrs[attribute]}" for attribute in ("num", "num_split") if attribute in attrs]
    return f"__wrapped__{op.type}{''.join(lengths)}"


def is_of_cluster(error: Exception) -> bool:
    """Returns whether an error was raised by the cluster rather than by an op's kernel."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith(_CLUSTER)


def _wrapped(error: OpError, op: OpRecord, wrapper: str, device: Device, call: str) -> OpError:
    """Returns a kernel's error in TensorFlow's wording; a task's error already names the task."""
    scope = SCOPE()
    if is_of_cluster(error):
        return error
    if scope is not None and scope.node is not None:
        return error  # the session adds the name of the node
    message, newline, hint = error.message.partition("\n")  # nbtf's hint comes after TensorFlow's message
    text = f"{{{{function_node {wrapper}_device_{device.name}}}}} {message} [Op:{op.type}]{call}"
    return type(error)(None, None, text + newline + hint)


def _explained(
    error: Exception, op: OpRecord, tensors: Sequence[Any], attrs: dict[str, Any], device: Device, call: str
) -> Exception:
    """Returns TensorFlow's error for an error of a kernel or of the array library."""
    wrapper = _wrapper(op, tensors, attrs)
    if isinstance(error, OpError):
        return _wrapped(error, op, wrapper, device, call)
    try:
        specs = op.specs(tensors, attrs)
    except OpError as spec_error:
        return _wrapped(spec_error, op, wrapper, device, call)
    if isinstance(error, MemoryError):
        shape, dtype_name = "", ""
        if specs:
            shape, dtype_name = ",".join(map(str, specs[0].shape)), specs[0].dtype.c_name
        text = f"OOM when allocating tensor with shape[{shape}] and type {dtype_name} on {device.name} by allocator cpu"
        return _wrapped(ResourceExhaustedError(f"{text}\n{error}"), op, wrapper, device, call)
    return _wrapped(InvalidArgumentError(str(error)), op, wrapper, device, call)
