"""The express lane of ops on simulated GPUs while a recorder listens: what the road does, without its questions.

It serves tensors on a device whose account tells every piece and whose times are modelled. Nothing is told before the
kernel has run, so that the road can do it all over again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import time
from typing import Any, NamedTuple

from nbtf._devices.sites import CallSite, find_call_site
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.events import Reason
from nbtf._runtime.notes import next_number, subject_of_op, take_short_note
from nbtf._runtime.op_start import count_constants
from nbtf._runtime.phases import part_of
from nbtf._runtime.scopes import ORDINARY, Scope
from nbtf._runtime.subjects import OpSubject
from nbtf._runtime.tensor import Tensor, tensors_of
from nbtf._types import DType

_FRAMES = 3
"""From `_decision_of` to the lane, which are no place in a user's program."""

_REMEMBERED = 4096
"""Decisions at most; a loop over ever new shapes must not fill the memory."""


class Decision(NamedTuple):
    """What was decided about an op on such inputs, at a place of the program."""

    call_site: CallSite
    reason: Reason
    request: Any
    """What the device needs to know; None for an op whose result shows the memory of an input."""
    subjects: dict[int, OpSubject]
    """By the number of constants that are told of."""


def run_recorded(op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], scope: Scope | None, dtype: DType) -> Tensor:
    """Returns the result of an op, of which the recorders have taken a note.

    Args:
      op: its record.
      inputs: on a device that is in `HERE.recorded`.
      attrs: its attributes in order.
      scope: the scope that is open.
      dtype: of the result.

    Raises:
      LookupError: the road must do it; so must it after any other error.
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
    """Does what `run_recorded` does for an op that takes lists or has several results; returns the list of them.

    Args:
      op: its record.
      inputs: tensors or lists of them, on a device that is in `HERE.recorded`.
      tensors: all of them.
      question: its attributes as they were given, what tells it apart from others, and its request without a place.
      scope: the scope that is open.

    Raises:
      LookupError: the road must do it; so must it after any other error.
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
    """Returns what was decided about an op, or is now.

    Of one with lists, `inputs` are all its tensors, and `lists` is its request without a place.

    Raises:
      LookupError: the road must do it.
    """
    decisions = context.recorded_ops  # before anything is decided: what is stale goes where nobody reads
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
    except TypeError:  # lists among the attributes
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
    """Decides about an op.

    Raises:
      LookupError: the road must do it: it is placed elsewhere, or an input is a variable, whose reading is told.
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
