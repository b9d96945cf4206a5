"""What is decided once about an op on inputs like these: device, reason, dtypes and sizes of the results.

The road looks a decision up by the op, its attributes, the requested device, and the dtype, device and shape of each
input. A change of devices, settings or listeners replaces the context's dictionary of decisions.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nbtf._devices.base import Device, Runnable, Spec
from nbtf._record.events import Reason
from nbtf._record.rows import OpSubject, subject_of_op
from nbtf._runtime.context import Context
from nbtf._runtime.copying import check_current
from nbtf._runtime.placement import on_host
from nbtf._runtime.scopes import Scope
from nbtf._runtime.tensor import Tensor
from nbtf._types import HOST_DTYPES, DType, string
from nbtf.errors import MissingDeviceError

_REMEMBERED = 4096
"""Maximum number of decisions, so that a loop over ever new shapes cannot fill the memory."""

_PLAIN: frozenset[type] = frozenset({bool, int, str, type(None), DType})
"""Classes of attributes that can be compared by value."""

_SUBJECTS = 64
"""Maximum number of result shapes of one decision, which vary if they depend on values."""


class OpRecord(Runnable, Protocol):
    """The parts of an op that the road needs; `_ops/op.py` defines them."""

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


class Decision:
    """What is decided about an op on inputs of certain dtypes, devices and shapes."""

    __slots__ = (
        "_input_shapes",
        "_subjects",
        "attrs",
        "device",
        "dtypes",
        "inputs_are_there",
        "is_sized",
        "reason",
        "results",
        "runner",
        "specs",
    )

    def __init__(
        self,
        attrs: dict[str, Any],
        dtypes: tuple[DType, ...],
        results: list[DType],
        placed: tuple[Device, Device, Reason],
        inputs_are_there: bool,
    ) -> None:
        """Stores the decision.

        Args:
          attrs: the attributes in the form that kernels expect.
          dtypes: the inputs' dtypes, with lists flattened.
          results: the results' dtypes; of a list, for one element.
          placed: the op's device, the one that runs its kernel, and the reason.
          inputs_are_there: whether all inputs are tensors in the memory of the device that runs the kernel.
        """
        self.attrs, self.dtypes, self.results = attrs, dtypes, results
        self.device, self.runner, self.reason = placed
        self.inputs_are_there = inputs_are_there
        self.specs: list[Spec] | None = None
        """The results' specs; None if their sizes depend on values, or if the device does not account for memory."""
        self.is_sized = not self.runner.tells_pieces and self.runner.memory is None
        """Whether `specs` is decided; the first run decides it, because its errors belong to the run."""
        self._input_shapes: tuple[tuple[int, ...], ...] | None = None
        self._subjects: dict[Any, OpSubject] = {}

    def size(self, op: OpRecord, tensors: Sequence[Any]) -> list[Spec] | None:
        """Decides the results' specs, and returns them."""
        flat = [each for value in tensors for each in (value if value.__class__ is list else (value,))]
        self.specs, self._input_shapes = op.specs(tensors, self.attrs), tuple([each._array.shape for each in flat])
        self.is_sized = True
        return self.specs

    def outputs(self, op: OpRecord, buffers: Sequence[Any]) -> list[Tensor]:
        """Returns the tensors of the buffers that the kernel's device returned."""
        dtypes, device = self.results, self.device
        if len(buffers) != 1 or len(dtypes) != 1:
            dtypes = op.output_dtypes(self.dtypes, self.attrs, len(buffers))
        tensors: list[Tensor] = []
        for buffer in buffers:
            tensor = Tensor()
            tensor._array = buffer._array
            tensor._dtype = dtypes[len(tensors)]
            tensor._device = device
            tensor._watch = None
            allocation = buffer._allocation
            if allocation is not None:
                tensor._allocation = allocation
            if self.runner is not device:
                tensor._host = True
            tensors.append(tensor)
        return tensors

    def subject(self, op: OpRecord, outputs: Sequence[Any]) -> OpSubject:
        """Returns the subject of the op's rows in the log, with its results' shapes."""
        key: Any = outputs[0]._array.shape if len(outputs) == 1 else (None, *[each._array.shape for each in outputs])
        subject = self._subjects.get(key)
        if subject is None:
            if len(self._subjects) >= _SUBJECTS:
                self._subjects.clear()
            placed, inputs = (self.device, self.runner, self.reason), (self._input_shapes, self.dtypes)
            subject = self._subjects[key] = subject_of_op(op, placed, outputs, inputs)
        return subject


def decide(
    context: Context,
    op: OpRecord,
    tensors: Sequence[Any],
    attrs: dict[str, Any],
    scope: Scope | None,
    name: str | None,
) -> Decision:
    """Returns the decision about an op, remembered if there was an op like it since the last change.

    Args:
      context: the current context.
      op: the op.
      tensors: its inputs as tensors.
      attrs: its attributes as they were given.
      scope: the open scope.
      name: the node's name, for errors.

    Raises:
      InvalidArgumentError: if dtypes that must agree differ, or the op does not support one of them.
      MissingDeviceError: if the requested device does not exist or has no kernel, and soft placement is off.
    """
    decisions = context.decisions  # read first, so that a stale decision goes into a discarded dictionary
    attributes = key_of(attrs) if attrs else ()
    if attributes is None or (scope is not None and scope.placed is not None):
        return _decide(context, op, tensors, attrs, scope, name)
    key: list[Any] = [op, attributes]
    for tensor in tensors:
        if tensor.__class__ is Tensor:
            key += tensor._dtype, tensor._device, tensor._array.shape, tensor._host
        elif tensor.__class__ is list:
            key.append(len(tensor))
            for element in tensor:
                key += element._dtype, element._device, element._array.shape, element._host
        else:
            key += tensor.__class__, tensor._dtype, tensor._device, tensor._array.shape
    if scope is not None or context.device_scopes.cells:
        key += request_key(context, scope)
    remembered = tuple(key)
    decision = decisions.get(remembered)
    if decision is None:
        decision = _decide(context, op, tensors, attrs, scope, name)
        remember(decisions, remembered, decision)
    return decision


def request_key(context: Context, scope: Scope | None) -> tuple[Any, ...]:
    """Returns what distinguishes requests for a device: of a scope, and of the cell that runs in this thread."""
    cell = (threading.get_ident(),) if context.device_scopes.cells else ()
    return cell if scope is None else (scope.request and (scope.request.name, scope.request.reason), *cell)


def remember(decisions: dict[Any, Any], key: Any, decision: object) -> None:
    """Adds a decision to a context's dictionary."""
    if len(decisions) >= _REMEMBERED:
        decisions.clear()
    decisions[key] = decision


def key_of(attrs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Returns attributes with their names and classes, because 1 equals True; None if an attribute is not plain.

    Plain values are numbers, strings, dtypes and lists of integers. Zeros are compared as text, because 0.0 equals
    -0.0.
    """
    values = (*attrs.values(),)
    classes = (*map(type, values),)
    if _PLAIN.issuperset(classes):
        return *attrs, *values, *classes
    key: list[Any] = [*attrs]
    for value in values:
        value_class = value.__class__
        if value_class is list or value_class is tuple:
            for item in value:
                if item.__class__ is not int:
                    return None
            value = tuple(value)
        elif value_class is float:
            value = value or str(value)
        elif value_class not in _PLAIN:
            return None
        key += value_class, value
    return tuple(key)


def _decide(
    context: Context,
    op: OpRecord,
    tensors: Sequence[Any],
    attrs: dict[str, Any],
    scope: Scope | None,
    name: str | None,
) -> Decision:
    values = op.normalised(attrs)
    dtypes = op.check(tensors, values)
    results = op.output_dtypes(dtypes, values, 1)
    placed = _place(context, op, tensors, dtypes, results, scope, name)
    runner = placed[1]
    are_there = all([each.__class__ is Tensor and each._device is runner and not each._host for each in tensors])
    return Decision(values, dtypes, results, placed, are_there)


def _place(
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
