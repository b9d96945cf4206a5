"""Which pieces of memory does the history of a device contain, and from when to when did each exist?

Times are numbers of states: state 0 is before the first event, and state `i + 1` is after event `i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.charges import Flags, Integers, Requests, charged
from nbtf._snapshots.snapshot import ALLOC, FREE_COMPLETED, FREE_REQUESTED, Segment, Trace

_NONE = 255
"""Stands for no action."""


class Pieces(NamedTuple):
    """Pieces of memory in columns.

    Attributes:
      address: first byte.
      size: bytes that the allocator charges.
      requested: bytes that the program requested.
      birth: the first state with the piece; 0 if it is older than the history.
      freed: the first state after the program freed it; the number of states if it never did.
      death: the first state after the memory became free, once other streams no longer used it.
      event: the event that allocated it; -1 if it is older than the history.
      stack: index into `MemorySnapshot.stacks`, -1 if unknown.
      stream: the CUDA stream.
      is_inexact: whether `size` may be too small by an unsplit rest of up to 1 MiB.
    """

    address: Integers
    size: Integers
    requested: Integers
    birth: Integers
    freed: Integers
    death: Integers
    event: Integers
    stack: Integers
    stream: Integers
    is_inexact: Flags

    def at(self, rows: Flags | Integers) -> Pieces:
        """Returns some of the pieces."""
        columns: Any = [column[rows] for column in self]
        return Pieces(*columns)


class Contradictions(NamedTuple):
    """Numbers of pieces and events that do not fit together.

    Attributes:
      unfreed: pieces at whose address another one was allocated before they were freed.
      unallocated: frees of memory that was already free.
      vanished: pieces that were not freed, and are not in use at the end.
      appeared: blocks in use at the end that the history does not allocate, although it mentions their address.
      rounded: allocations whose size in the history is the charged one, as some releases of PyTorch write it.
    """

    unfreed: int = 0
    unallocated: int = 0
    vanished: int = 0
    appeared: int = 0
    rounded: int = 0


class _Ends(NamedTuple):
    """The blocks in use at the end of a history, by address."""

    address: Integers
    size: Integers
    requested: Integers
    stack: Integers
    stream: Integers
    is_pending: Flags

    def at(self, rows: Flags | Integers) -> _Ends:
        columns: Any = [column[rows] for column in self]
        return _Ends(*columns)


def pieces_of(trace: Trace, segments: Sequence[Segment], settings: AllocatorSettings) -> tuple[Pieces, Contradictions]:
    """Returns all pieces of a device in no particular order.

    The blocks at the end are right in any case: where the history contradicts them, it is corrected in its last state.

    Args:
      trace: the history of one device.
      segments: the segments of the device at the end.
      settings: the allocator's settings.
    """
    count, ends = len(trace), _ends(segments)
    pieces, contradictions = _paired(trace)
    # The blocks in use at the end decide about pieces whose end is not in the history.
    open_rows = np.flatnonzero(pieces.death > count)
    is_listed, at_end = _positions(ends.address, pieces.address[open_rows])
    vanished, rows, at_end = open_rows[~is_listed], open_rows[is_listed], at_end[is_listed]
    pieces.death[vanished] = count
    pieces.freed[vanished] = np.minimum(pieces.freed[vanished], count)
    listed = ends.at(at_end)
    pieces.freed[rows] = np.where(listed.is_pending, np.minimum(pieces.freed[rows], count), count + 1)
    is_rounded = (listed.requested < listed.size) & (pieces.requested[rows] == listed.size) & (pieces.event[rows] >= 0)
    pieces.size[rows] = listed.size
    pieces.requested[rows] = np.where(
        listed.requested < listed.size, listed.requested, np.minimum(pieces.requested[rows], listed.size)
    )
    pieces.stack[rows] = np.where(pieces.stack[rows] < 0, listed.stack, pieces.stack[rows])

    is_other = np.ones(len(ends.address), bool)
    is_other[at_end] = False
    lasting = ends.at(is_other)
    is_mentioned, _ = _positions(pieces.address, lasting.address)
    birth = np.where(is_mentioned, count, 0)
    alone = Pieces(
        lasting.address,
        lasting.size,
        lasting.requested,
        birth,
        np.where(lasting.is_pending, birth, count + 1),
        np.full(len(birth), count + 1),
        np.full(len(birth), -1),
        lasting.stack,
        lasting.stream,
        np.zeros(len(birth), bool),
    )
    columns: Any = [np.concatenate(both) for both in zip(pieces, alone, strict=True)]
    pieces = Pieces(*columns)
    sizes, is_inexact = charged(
        Requests(pieces.address, pieces.requested, pieces.birth, pieces.death, pieces.size), trace, segments, settings
    )
    contradictions = contradictions._replace(
        vanished=len(vanished),
        appeared=int(np.count_nonzero(is_mentioned)),
        rounded=int(np.count_nonzero(is_rounded)),
    )
    return pieces._replace(size=sizes, is_inexact=is_inexact), contradictions


def _paired(trace: Trace) -> tuple[Pieces, Contradictions]:
    """Returns the pieces that events mention, by address; `size` is -1, as events contain only what was requested."""
    count = len(trace)
    events = np.flatnonzero(trace.action <= FREE_COMPLETED)
    events = events[trace.address[events].argsort(kind="stable")]
    address, action = trace.address[events], trace.action[events]
    is_head = np.append(True, address[1:] != address[:-1])[: len(events)]
    states = np.append(events + 1, 0)
    """The state after each event; one more, so that there is one behind the last event."""
    following = np.append(np.where(np.append(is_head, True)[1:], _NONE, np.append(action, _NONE)[1:]), _NONE)
    """The next action at the same address."""

    is_start = (action == ALLOC) | is_head
    starts = np.flatnonzero(is_start)
    first = action[starts]
    is_new, ends_older = first == ALLOC, first == FREE_COMPLETED
    has_request = (is_new & (following[starts] == FREE_REQUESTED)) | (first == FREE_REQUESTED)
    request = np.where(is_new, starts + 1, starts)
    last = np.where(has_request, request, starts)
    """The last event of each piece before the one that ends it."""
    has_end = ends_older | (following[last] == FREE_COMPLETED)
    is_replaced = ~has_end & (following[last] != _NONE)
    end = np.where(ends_older, starts, last + 1)
    death = np.where(has_end | is_replaced, states[end], count + 1)
    freed = np.where(has_request, states[np.minimum(request, len(events))], death)
    if bool((trace.action == FREE_REQUESTED).any()):
        freed[ends_older] = 0  # the request is older than the history
    first_events = events[starts]
    pieces = Pieces(
        address[starts],
        np.full(len(starts), -1),
        trace.size[first_events],
        np.where(is_new, first_events + 1, 0),
        freed,
        death,
        np.where(is_new, first_events, -1),
        np.where(is_new, trace.stack[first_events], -1).astype(np.int64),
        trace.stream[first_events],
        np.zeros(len(starts), bool),
    )
    extra_frees = np.count_nonzero(action != ALLOC) - np.count_nonzero(has_request) - np.count_nonzero(has_end)
    return pieces, Contradictions(int(np.count_nonzero(is_replaced)), int(extra_frees))


def _ends(segments: Sequence[Segment]) -> _Ends:
    rows = [
        (block.address, block.size, block.requested, block.stack, segment.stream, block.state != "active_allocated")
        for segment in segments
        for block in segment.blocks
        if block.state != "inactive"
    ]
    columns = np.array(rows, np.int64).reshape(-1, 6)
    columns = columns[columns[:, 0].argsort(kind="stable")].T
    address, size, requested, stack, stream, is_pending = columns
    return _Ends(address, size, requested, stack, stream, is_pending.astype(bool))


def _positions(sorted_values: Integers, values: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Returns which values are among some sorted ones, and where."""
    if not len(sorted_values):
        return np.zeros(len(values), bool), np.zeros(len(values), np.int64)
    at = np.minimum(sorted_values.searchsorted(values), len(sorted_values) - 1)
    return sorted_values[at] == values, at
