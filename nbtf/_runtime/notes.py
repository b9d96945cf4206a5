"""Notes: compact records of ops and copies taken while the program runs, and the events that they stand for.

Creating an event takes a microsecond, and most events are never read. So the road writes a note, a plain tuple of the
data at hand, and readers create the events. A note begins with its subject, shared by all iterations of a loop: the
op, its device and the shapes. The rest are numbers and times. A note keeps no tensor and no frame alive, only
devices, op records and code.

     SUBJECT   NUMBER  TIME    WHERE       FIRST   BEGAN   SECONDS   LEVEL           MORE
    +---------+-------+-------+-----------+-------+-------+---------+---------------+--------------------------+
    | subject | of the end    | call site | of the begin  | None if | in use, pool, | None, or the numbers of  |
    |         | number, time  |           | number, time  | modelled| or None       | constants and allocations|
    +---------+-------+-------+-----------+-------+-------+---------+---------------+--------------------------+

The level is None if no memory was allocated, or if a journal records it (see `pieces.py`). Allocations have numbers
of their own only if there are several.

Numbers are even; the odd number before each belongs to the same note. Waiting notes are stored in one flat list without
tuples around them: a garbage collection over a hundred thousand tuples costs more than the notes themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from time import time
from typing import Any, Protocol

from nbtf._devices.base import Device, Runnable
from nbtf._devices.sites import NO_PLACE, CallSite
from nbtf._runtime.events import CopyKind, Event, Reason
from nbtf._runtime.subjects import Begun, CopySubject, EventSubject, Note, OpSubject

SUBJECT, NUMBER, TIME, WHERE, FIRST, BEGAN, SECONDS, LEVEL, MORE = range(9)
NOTE = 9
"""Number of fields in a note."""

next_number = itertools.count(2, 2).__next__
"""Returns the next number; it and the odd number before it are unique in the process."""

_REMEMBERED = 4096
"""Maximum number of cached subjects, so that a loop over ever new shapes cannot fill the memory."""


_SUBJECTS: dict[tuple[Any, ...], OpSubject] = {}


def _subject_of(key: tuple[Any, ...], reason: Reason) -> OpSubject:
    """Returns a subject. It keeps alive the reason whose `id` is in its key: equal reasons may differ in paths."""
    subject = _SUBJECTS.get(key)
    if subject is not None:
        return subject
    if len(_SUBJECTS) >= _REMEMBERED:
        _SUBJECTS.clear()
    op, device, _, *details = key
    subject = _SUBJECTS[key] = OpSubject(op, device, reason, *details)
    return subject


def note_of_failure(op: Runnable, device: Device, reason: Reason, start: Begun) -> Note:
    """Returns the note of an op that failed."""
    call_site, first, began_at, constants = start
    subject = OpSubject(op, device, reason, len(constants or ()))
    return subject, next_number(), began_at, call_site, first, began_at, None, None, (constants, None)


class NoteSink(Protocol):
    """A receiver of notes."""

    due: int
    """`count` is called after a note whose number exceeds this one."""

    @property
    def takers(self) -> Sequence[Callable[[Note], object]]:
        """The functions that are called with every note."""
        ...

    def count(self) -> None:
        """Counts the notes received so far."""
        ...


def subject_of_op(
    op: Runnable,
    placed: tuple[Device, Device, Reason],
    constants: int | None,
    outputs: Sequence[Any],
    inputs: tuple[tuple[tuple[int, ...], ...] | None, tuple[Any, ...]],
) -> OpSubject:
    """Returns the subject of an op.

    Args:
      op: the op.
      placed: its device, the device that ran the kernel, and the reason.
      constants: the number of its constants that are reported; None without any.
      outputs: the results.
      inputs: the inputs' shapes and dtypes, with lists flattened; no shapes if the device measures times.
    """
    device, runner, reason = placed
    shapes: Any = tuple([output._array.shape for output in outputs])
    dtypes: Any = tuple([output._dtype for output in outputs])
    if len(outputs) == 1:
        (shapes,), (dtypes,) = shapes, dtypes
    return _subject_of((op, device, id(reason), constants, runner, shapes, dtypes, *inputs), reason)


# Copies and reports of other libraries

_COPIES: dict[tuple[Any, ...], CopySubject] = {}


def note_of_copy(
    source: Device,
    target: Device,
    copy_kind: CopyKind,
    nbytes: int,
    seconds: float,
    call_site: CallSite,
    pinned: bool | None = None,
) -> Note:
    """Returns the note of a finished copy."""
    key = source, target, copy_kind, nbytes, pinned
    subject = _COPIES.get(key)
    if subject is None:
        if len(_COPIES) >= _REMEMBERED:
            _COPIES.clear()
        subject = _COPIES[key] = CopySubject(*key)
    level = None if subject.memory is None else subject.memory.level()
    number = next_number()
    return subject, number, time(), call_site, number, 0.0, seconds, level, None


def note_of_event(event: Event) -> Note:
    """Returns the note of an event that was created elsewhere."""
    return EventSubject(event), event.seq, event.time, NO_PLACE, event.seq, 0.0, None, None, None
