"""Reports ops to the log and to listeners: their constants, their start, and their end or failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any, Protocol

from nbtf._devices.base import Buffer, Device, Runnable
from nbtf._devices.sites import NOWHERE, find_call_site
from nbtf._record.events import Reason
from nbtf._record.listeners import Observers
from nbtf._record.rows import (
    Begun,
    OpSubject,
    Row,
    events_of_begin,
    next_number,
    note_of_failure,
    rows_of_constants,
)
from nbtf._runtime.constants import Constants
from nbtf._runtime.context import Context
from nbtf._runtime.phases import LIBRARY, NOTHING, SAYING, part_of
from nbtf._runtime.placement import IN_SCOPES
from nbtf._runtime.scopes import Scope
from nbtf._types import DType


class Begins(Runnable, Protocol):
    """The part of an op that reporting its start needs."""

    host_inputs: Mapping[str, tuple[DType | None, DType | None]]

    def is_given_values(self, inputs: Sequence[Any]) -> bool: ...


def begin(
    context: Context,
    op: Begins,
    device: Device,
    reason: Reason,
    scope: Scope | None,
    attrs: Mapping[str, Any],
    frames: int,
    inputs: Sequence[Any] = (),
) -> Begun | None:
    """Reports the start of an op to the log and to listeners, unless an observer itself runs the op.

    Args:
      context: the current context.
      op: the op.
      device: the device that will run it.
      reason: why that device was chosen.
      scope: the open scope.
      attrs: its attributes; TensorFlow makes constants of those in host memory.
      frames: how many of the calling frames belong to nbtf.
      inputs: its inputs as they were given.

    Returns:
      The beginning of the op's note; None without listeners.
    """
    observers = context.observers
    if (observers.functions and observers.telling) or (scope is not None and scope.silent):
        return None
    node = None if scope is None else scope.node  # a graph has nodes for its constants, and its own log
    constants: list[int] | None = None
    try:
        if op.host_inputs and node is None and not (reason in IN_SCOPES and device is context.host):
            constants = count_constants(context.constants, op, device, scope, attrs, inputs)
        if context.log is not None and node is None:
            for _ in constants or ():
                context.log("_EagerConst", device.name)
            context.log(op.type, device.name)
        if not observers.takers:
            return None
        is_bare = scope is None and SAYING() is NOTHING and LIBRARY.describe is None
        part = NOWHERE if is_bare else part_of(scope)
        call_site = find_call_site(part, frames)
        start = call_site, next_number(), time(), constants
        if observers.functions:
            observers.tell(events_of_begin(op, device, reason, start))
    except BaseException:
        if constants is not None:
            context.constants.forget(constants)
        raise
    return start


def count_constants(
    constants: Constants,
    op: Begins,
    device: Device,
    scope: Scope | None,
    attrs: Mapping[str, Any],
    inputs: Sequence[Any],
) -> list[int] | None:
    """Returns an event number for each constant that TensorFlow now makes of attributes; None without any."""
    slow, events = op.is_given_values(inputs), list[int]()
    try:
        for attr, dtypes in op.host_inputs.items():
            value = attrs[attr]
            if isinstance(value, Buffer):
                continue
            events.append(next_number())
            key = constants.key(value, dtypes[slow], device, scope)
            if key is not None and constants.claim(key, events[-1]) != events[-1]:
                events.pop()
    except BaseException:
        constants.forget(events)
        raise
    return events or None


def take_note(sink: Observers, subject: OpSubject, start: Begun, outputs: Sequence[Any], seconds: float) -> None:
    """Appends the row of an op that has just run; its results remember the row's number.

    Args:
      sink: receives the row.
      subject: what the row stands for.
      start: the start of the op, as `begin` returned it.
      outputs: the results.
      seconds: the measured duration of the kernel; nan if the device models times.
    """
    call_site, first, began_at, constants = start
    more = None if subject.pieces is None else subject.pieces.entries(subject.outputs, call_site)
    last = next_number()
    for output in outputs:
        output._seq = last
    row: Row = subject, last, time(), call_site, first, began_at, seconds, more
    if constants is not None:
        row = *rows_of_constants(subject.device, subject.reason, start), *row
    for take in sink.takers:
        take(row)
    if last > sink.due:
        sink.count()


def give_up(context: Context, op: Runnable, device: Device, reason: Reason, start: Begun | None) -> None:
    """Records the failure of an op that had started."""
    if start is not None:
        context.observers.take(note_of_failure(op, device, reason, start))
