"""The road: the full dispatch path that any op can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from time import perf_counter
from typing import Any, Protocol

from nbtf._devices.base import Device, Spec
from nbtf._devices.collectives import COLLECTIVE
from nbtf._record.events import Reason
from nbtf._record.rows import take_note_of_op
from nbtf._runtime.attribute_keys import key_of
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.copying import check_current, check_policy, moved, tell_collective
from nbtf._runtime.numerics import check_results
from nbtf._runtime.op_start import begin, give_up
from nbtf._runtime.placement import on_host
from nbtf._runtime.scopes import SCOPE, Scope
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import HOST_DTYPES, DType, string
from nbtf.errors import (
    InvalidArgumentError,
    MissingDeviceError,
    OpError,
    ResourceExhaustedError,
)


class OpRecord(Protocol):
    """The parts of an op that the road needs; `_ops/op.py` defines them."""

    type: str
    kernel: Any
    shares_memory: bool
    host_outputs: bool
    resource: bool
    host_inputs: Mapping[str, tuple[DType | None, DType | None]]
    many: bool
    takes_lists: bool

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool: ...
    def is_given_values(self, inputs: Sequence[Any]) -> bool: ...
    def convert(self, inputs: Sequence[Any]) -> Sequence[Any]: ...
    def normalised(self, attrs: dict[str, Any]) -> dict[str, Any]: ...
    def check(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[DType, ...]: ...
    def specs(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec] | None: ...
    def output_dtypes(self, dtypes: Sequence[DType], attrs: Mapping[str, Any], count: int) -> list[DType]: ...


def execute(  # noqa: C901, PLR0915  # the steps of an op in order, each with its condition
    op: OpRecord, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None = None
) -> Any:
    """Runs an op and returns its results.

    First, values are converted to tensors, dtypes are checked, and a device is chosen. After listeners are notified,
    inputs are copied to the device and the kernel runs. Finally, listeners are notified again and tapes record the op.

    Args:
      op: the op.
      inputs: tensors, variables, or values to convert; a list if the op accepts a list.
      attrs: the kernel's other arguments.
      name: the node's name in a graph; None for eager ops.

    Returns:
      A tensor, or a list of them for an op with several results.
    """
    scope = SCOPE() and current_scope()
    if scope is not None and scope.graph is not None:
        return scope.graph.add(op, inputs, attrs, name)
    context = CURRENT.context

    tensors = op.convert(inputs)
    attrs_given, attrs = attrs, op.normalised(attrs)
    dtypes = op.check(tensors, attrs)
    results = op.output_dtypes(dtypes, attrs, 1)
    device, runner, reason = placed = _place_op(context, op, tensors, dtypes, results, scope, name)
    start = begin(context, op, device, reason, scope, attrs_given, _FRAMES, inputs) if context.watched else None
    call_site = None if start is None else start[0]
    try:
        if context.settings.device_policy != "silent":
            check_policy(context, op, tensors, runner, name)
        buffers = tensors
        for tensor in tensors:
            if tensor.__class__ is not Tensor or tensor._device is not runner or tensor._host:
                buffers = [moved(context, op, tensor, runner, call_site) for tensor in tensors]
                break
        started = 0.0 if call_site is None or runner.models_time else perf_counter()
        try:
            specs, shapes = (None, None) if runner.memory is None else _specs(op, tensors, dtypes, attrs)
            result_buffers = runner.run(op, buffers, attrs, specs, call_site)
        except FAILURES as error:
            call = called(op, inputs, attrs_given, name)
            raise _explained(error, op, tensors, attrs, device, call) from _cause(error)
        if len(result_buffers) == len(results) == 1:
            outputs = [tensor_of(result_buffers[0], results[0], device)]
        else:
            results = op.output_dtypes(dtypes, attrs, len(result_buffers))
            outputs = [tensor_of(buffer, dtype, device) for buffer, dtype in zip(result_buffers, results, strict=True)]
    except BaseException:
        give_up(context, op, device, reason, start)
        raise
    if runner is not device:
        _keep_on_host(outputs)
    if start is not None:
        if op.type == COLLECTIVE:
            tell_collective(context, tensors, attrs, start[0])
        take_note_of_op(context.observers, op, placed, start, outputs, results, started, shapes, dtypes)
    if context.settings.check_numerics and not (scope is not None and scope.silent):
        check_results(op.type, tensors, outputs, device.name)
    result = outputs if op.many else outputs[0]
    if scope is not None:
        for tape in scope.tapes:
            tape.record(op, tensors, attrs, result)
    return result


# Placing


def _place_op(
    context: Context,
    op: OpRecord,
    tensors: Sequence[Any],
    dtypes: tuple[DType, ...],
    results: list[DType],
    scope: Scope | None,
    name: str | None,
) -> tuple[Device, Device, Reason]:
    """Returns the device an op belongs to, the one that runs its kernel, and the reason.

    They differ for results in host memory: shapes, and on a GPU int32 or string results of such inputs.
    """
    pinned = tensors[0]._device if op.resource else None
    if pinned is not None:
        check_current(context, op, pinned)
    try:
        device, reason = context.place_op(op, dtypes, pinned, scope)
    except MissingDeviceError as error:
        raise type(error)(None, None, f"{error.message} [Op:{op.type}] name: {name or ''}") from None
    if op.host_outputs:
        return device, context.host, reason
    if device.type != "CPU" and results[0] in HOST_DTYPES and _all_in_host_memory(tensors, results):
        has_reason = reason.kind != "lowest-numbered GPU"
        return device, context.host, reason if has_reason else on_host(reason, results[0].name)
    if not device.holds_text:
        if string in dtypes or string in results:
            return device, context.host, reason  # the results are plain numbers, such as shapes
        device.check_holds(*dtypes, *results)
    return device, device, reason


def _all_in_host_memory(tensors: Sequence[Any], results: list[DType]) -> bool:
    for tensor in tensors:
        for element in tensor if tensor.__class__ is list else (tensor,):
            if element._dtype not in HOST_DTYPES or not (element._host or element._device.on_host):
                return False
    return all(dtype in HOST_DTYPES for dtype in results)


def _keep_on_host(outputs: list[Tensor]) -> None:
    for output in outputs:
        output._host = True


# Before the kernel runs

_FRAMES = 4
"""Stack frames from `begin` up to the public function; all belong to nbtf, not to the user's program."""

_SPECS: dict[tuple[Any, ...], list[Spec] | None] = {}
_REMEMBERED = 4096


def _specs(
    op: OpRecord, tensors: Sequence[Any], dtypes: tuple[DType, ...], attrs: dict[str, Any]
) -> tuple[list[Spec] | None, tuple[tuple[int, ...], ...]]:
    """Returns the result specs, cached by what determines them, and the shapes of all inputs."""
    lengths = None
    if op.takes_lists:
        flat = [element for value in tensors for element in (value if value.__class__ is list else (value,))]
        shapes = tuple([element._array.shape for element in flat])
        lengths = tuple([len(value) if value.__class__ is list else None for value in tensors])
    else:
        shapes = tuple([tensor._array.shape for tensor in tensors])
    attributes = key_of(attrs) if attrs else ()
    if attributes is None:
        return op.specs(tensors, attrs), shapes
    key = op, dtypes, shapes, attributes, lengths
    specs = _SPECS.get(key)
    if specs is None:
        if len(_SPECS) >= _REMEMBERED:
            _SPECS.clear()
        specs = _SPECS[key] = op.specs(tensors, attrs)
    return specs, shapes


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
