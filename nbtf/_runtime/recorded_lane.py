"""The express lane on simulated GPUs while a recorder listens: the road's steps without its checks.

It serves tensors on a device that tracks every piece of memory and models its times. Nothing is reported before the
kernel has run, so the road can repeat the op from the start.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import time
from typing import Any, NamedTuple

from nbtf._devices.sites import CallSite, find_call_site
from nbtf._record.events import Reason
from nbtf._record.rows import OpSubject, next_number, subject_of_op, take_short_note
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.op_start import count_constants
from nbtf._runtime.phases import part_of
from nbtf._runtime.scopes import ORDINARY, Scope
from nbtf._runtime.tensor import Tensor, tensors_of
from nbtf._types import DType

_FRAMES = 3
"""Stack frames from `_decision_of` to the lane, which are not part of the user's program."""

_REMEMBERED = 4096
"""Maximum number of decisions, so that a loop over ever new shapes cannot fill the memory."""


class Decision(NamedTuple):
    """The decisions about an op with given inputs, called at a given program line."""

    call_site: CallSite
    reason: Reason
    request: Any
    """Information for the device; None if the op's result is a view of an input."""
    subjects: dict[int, OpSubject]
    """Subjects by the number of reported constants."""


def run_recorded(op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], scope: Scope | None, dtype: DType) -> Tensor:
    """Runs an op, records a note of it, and returns its result.

    Args:
      op: the op.
      inputs: tensors on a device in `HERE.recorded`.
      attrs: its attributes in order.
      scope: the open scope.
      dtype: dtype of the result.

    Raises:
      LookupError: if the road must run the op; after any other error it must do so as well.
    """
    context, device = CURRENT.context, inputs[0]._device
    call_site, reason, request, subjects = _decision_of(context, op, inputs, attrs, scope)
    began_at, constants = time(), None
    if op.host_inputs:
        named_attrs = dict(zip(op.attrs, attrs, strict=True))
        constants = count_constants(context.constants, op, device, scope, named_attrs, inputs)
    first, result = next_number(), Tensor()
    try:
        if request is None:
            array, allocation = device.view(op, inputs, attrs)
        else:
            array, allocation = device.granted(op, inputs, attrs, request)
    except BaseException:
        context.constants.forget(constants or ())
        raise
    result._array, result._dtype, result._device, result._watch = array, dtype, device, None
    if allocation is not None:
        result._allocation = allocation
    count = 0 if constants is None else len(constants)
    subject = subjects.get(count)
    if subject is None:
        subject = subjects[count] = subject_of_op(op, device, reason, count or None, (result,), _described(inputs))
    take_short_note(context.observers, subject, (call_site, first, began_at, constants), (result,))
    return result


def run_recorded_lists(
    op: Any,
    inputs: Sequence[Any],
    tensors: Sequence[Any],
    question: tuple[dict[str, Any], tuple[Any, ...], Any],
    scope: Scope | None,
) -> list[Tensor]:
    """Does what `run_recorded` does for an op with lists or several results; returns the list of results.

    Args:
      op: the op.
      inputs: tensors or lists of tensors on a device in `HERE.recorded`.
      tensors: all of these tensors.
      question: its attributes as they were given, its cache key, and its memory request without a call
        site.
      scope: the open scope.

    Raises:
      LookupError: if the road must run the op; after any other error it must do so as well.
    """
    context, device = CURRENT.context, tensors[0]._device
    attrs_given, key, request = question
    call_site, reason, request, subjects = _decision_of(context, op, tensors, key, scope, request)
    began_at, constants = time(), None
    if op.host_inputs:
        constants = count_constants(context.constants, op, device, scope, attrs_given, inputs)
    first = next_number()
    try:
        results: list[tuple[Any, Any]] = device.granted_lists(op, inputs, request)
    except BaseException:
        context.constants.forget(constants or ())
        raise
    outputs = tensors_of(results, request.dtypes, device)
    count = 0 if constants is None else len(constants)
    subject = subjects.get(count)
    if subject is None:
        subject = subjects[count] = subject_of_op(op, device, reason, count or None, outputs, _described(tensors))
    take_short_note(context.observers, subject, (call_site, first, began_at, constants), outputs)
    return outputs


def _described(tensors: Sequence[Any]) -> tuple[tuple[tuple[int, ...], ...], tuple[DType, ...]]:
    return tuple([tensor._array.shape for tensor in tensors]), tuple([tensor._dtype for tensor in tensors])


def _decision_of(
    context: Context,
    op: Any,
    inputs: Sequence[Any],
    attrs: tuple[Any, ...],
    scope: Scope | None,
    lists: Any = None,
) -> Decision:
    """Returns the decision about an op, making it if necessary.

    For an op with lists, `inputs` are all its tensors, and `lists` is its memory request without a call site.

    Raises:
      LookupError: if the road must run the op.
    """
    decisions = context.recorded_ops  # read first, so that a stale decision goes into a discarded dictionary
    call_site, device = find_call_site(part_of(scope), _FRAMES), inputs[0]._device
    described = [(tensor._array.shape, tensor._dtype, tensor._host, tensor.__class__) for tensor in inputs]
    if scope is None:
        key = op, attrs, device, id(call_site), *described
    elif scope.__class__ in ORDINARY and scope.plain and current_scope() is scope:
        key = op, attrs, device, id(call_site), scope.request and scope.request.name, scope.replica, *described
    else:
        raise LookupError
    if context.device_scopes.cells:
        key = *key, threading.get_ident()
    try:
        decision = decisions.get(key)
    except TypeError:  # an attribute is an unhashable list
        key = op, tuple([tuple(attr) if attr.__class__ is list else attr for attr in attrs]), *key[2:]
        decision = decisions.get(key)
    if decision is None or decision.call_site is not call_site:
        decision = _decided(context, op, inputs, attrs, scope, call_site, lists)
        if len(decisions) >= _REMEMBERED:
            decisions.clear()
        decisions[key] = decision
    return decision


def _decided(
    context: Context,
    op: Any,
    inputs: Sequence[Any],
    attrs: tuple[Any, ...],
    scope: Scope | None,
    call_site: CallSite,
    lists: Any,
) -> Decision:
    """Makes a decision about an op.

    Raises:
      LookupError: if the road must run the op, because it runs elsewhere or reads a variable, which is reported.
    """
    device = inputs[0]._device
    chosen, reason = context.place_op(op, tuple([tensor._dtype for tensor in inputs]), None, scope)
    if chosen is not device or any([tensor.__class__ is not Tensor or tensor._host for tensor in inputs]):
        raise LookupError
    if lists is not None:
        request = device.lists_request(op, lists.attrs, lists.specs, lists.dtypes, call_site)
    else:
        request = None if op.shares_memory else device.quick_request(op, inputs, attrs, call_site)
    return Decision(call_site, reason, request, {})
