"""The express lane for ops with lists or several results on simulated GPUs, recorded or not.

It is not generated code, unlike the lanes of `express.py`: such ops take lists of any length, and most of a call's cost
is memory. Everything that it does not handle goes to the road.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from nbtf._devices.collectives import COLLECTIVE
from nbtf._ops.express import HANDED_OVER
from nbtf._runtime.attribute_keys import PLAIN, key_of
from nbtf._runtime.recorded_lane import run_recorded_lists
from nbtf._runtime.scopes import HERE, SCOPE
from nbtf._runtime.tensor import Tensor, tensors_of

if TYPE_CHECKING:
    from nbtf._ops.op import Op

_REMEMBERED = 4096
"""Number of op and shape combinations that a device caches, so that a loop over new shapes cannot fill the memory."""

_PLAIN = PLAIN | {float}


def has_list_lane(op: Op) -> bool:
    """Returns whether an op may take this lane: it has lists and only computes on its inputs' device."""
    with_lists = (op.takes_lists or op.many) and bool(op.results)
    elsewhere = op.resource or op.host_outputs or op._cpu_only is True or op.type == COLLECTIVE
    return with_lists and not (elsewhere or op.shares_memory or op.data_dependent)


def run_with_lists(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Returns the result or the list of results of an op with this lane; None if the road must run it."""
    if not (HERE.elsewhere or HERE.recorded):
        return None
    scope = SCOPE()
    try:
        tensors = [*chain.from_iterable([value if value.__class__ is list else (value,) for value in inputs])]
        device = tensors[0]._device
        is_told = device in HERE.recorded
        if not is_told and (device not in HERE.elsewhere or device is not (scope.lane if scope else HERE.first)):
            return None
        attributes = key_of(attrs, _PLAIN)
        if attributes is None:  # reading a tensor attribute is an event to report
            return None
        key = op, *_described(op, inputs, tensors, device), *attributes
        request = device.list_requests.get(key)
        if request is None:
            request = device.list_requests[key] = _new_request(op, inputs, attrs, device)
        if is_told:
            outputs = run_recorded_lists(op, inputs, tensors, (attrs, key, request), scope)
        else:
            outputs = tensors_of(device.granted_lists(op, inputs, request), request.dtypes, device)
    except HANDED_OVER:
        return None
    result: Any = outputs if op.many else outputs[0]
    if scope is not None and (tape := scope.tape) is not None:
        tape.record(op, inputs, request.attrs, result)
    return result


def _described(op: Op, inputs: Sequence[Any], tensors: Sequence[Any], device: Any) -> list[Any]:
    """Returns the shapes and dtypes of the tensors and the lengths of the lists.

    Raises:
      LookupError: if an input is not a tensor in the memory of a device that has this lane.
    """
    if not device.lists_in_lane:
        raise LookupError
    described: list[Any] = []
    for tensor in tensors:
        if tensor.__class__ is not Tensor or tensor._device is not device or tensor._host:
            raise LookupError
        described += tensor._array.shape, tensor._dtype
    if op.takes_lists:
        described += [len(value) if value.__class__ is list else None for value in inputs]
    return described


def _new_request(op: Op, inputs: Sequence[Any], attrs: dict[str, Any], device: Any) -> Any:
    """Returns the device's request object for an op on inputs of these shapes.

    Raises:
      LookupError: if the road must run the op. Other errors may be raised as well; the road raises them again.
    """
    values = op.normalised(attrs)
    dtypes = op.check(inputs, values)
    specs = op.specs(inputs, values)
    if not specs or not op.has_kernel(device.type, dtypes):
        raise LookupError
    if len(device.list_requests) >= _REMEMBERED:
        device.list_requests.clear()
    return device.lists_request(op, values, specs, op.output_dtypes(dtypes, values, len(specs)))
