"""Which pieces of memory and which segments does a history mention, and from which step to which did they exist?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._snapshots.pieces import Pieces
from nbtf._snapshots.snapshot import (
    FREE_REQUESTED,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    SNAPSHOT,
    Segment,
    Trace,
)

Integers = NDArray[np.int64]


class Lifetimes(NamedTuple):
    """Ranges of addresses in columns, by birth and address.

    Attributes:
      address: first byte.
      size: bytes that are allocated or reserved.
      requested: bytes that the program requested; equal to `size` for segments.
      birth: the step from which the range exists; 0 for all that are older than the history.
      death: the step from which it no longer exists; the number of steps for all that outlive the history.
      event: the event that created it; -1 for ranges that are older than the history.
      stack: index into `MemorySnapshot.stacks`, -1 if unknown.
      stream: the CUDA stream.
    """

    address: Integers
    size: Integers
    requested: Integers
    birth: Integers
    death: Integers
    event: Integers
    stack: Integers
    stream: Integers

    def at(self, rows: NDArray[np.bool_] | Integers) -> Lifetimes:
        """Returns some of the ranges."""
        return Lifetimes(*(column[rows] for column in self))

    def sorted(self) -> Lifetimes:
        """Returns the ranges by birth and address."""
        return self.at(np.lexsort((self.address, self.birth)))

    def levels(self, steps: int) -> Integers:
        """Returns the bytes of the ranges that exist after each step."""
        changes = np.zeros(steps + 1, np.int64)
        np.add.at(changes, self.birth, self.size)
        np.subtract.at(changes, self.death, self.size)
        return changes.cumsum()[:steps]


def step_numbers(trace: Trace) -> Integers:
    """Returns the step of each event, and the number of steps at the end.

    A step is an event that changes memory or fails to: a requested free changes nothing until it is completed.
    """
    counts = ~np.isin(trace.action, (FREE_REQUESTED, SNAPSHOT))
    return np.concatenate([[0], np.cumsum(counts)])


def lifetimes_of(pieces: Pieces, trace: Trace) -> Lifetimes:
    """Returns the pieces of an account with steps in place of states, by birth and address.

    A piece that another stream still uses exists until its memory is free.
    """
    steps = step_numbers(trace)
    birth, death = steps[np.maximum(pieces.birth - 1, 0)], steps[np.maximum(pieces.death - 1, 0)]
    columns = pieces.address, pieces.size, pieces.requested, birth, death, pieces.event, pieces.stack, pieces.stream
    return Lifetimes(*(np.asarray(column, np.int64) for column in columns)).sorted()


def segments_of(trace: Trace, segments: Sequence[Segment]) -> Lifetimes:
    """Returns the ranges of memory that a device's allocator had from the driver.

    Args:
      trace: the history of the device.
      segments: its segments at the end of the history.
    """
    segments_at_end = [
        (each.address, each.size, each.size, -1, each.stream) for each in segments if not each.is_expandable
    ]
    usual_ranges = _paired(trace, SEGMENT_ALLOC, SEGMENT_FREE, np.array(segments_at_end, np.int64).reshape(-1, 5))
    mapped = _mapped(trace, [each for each in segments if each.is_expandable])
    return Lifetimes(*(np.concatenate(columns) for columns in zip(usual_ranges, mapped, strict=True))).sorted()


def _paired(trace: Trace, begin: int, end: int, at_end: Integers) -> Lifetimes:
    """Pairs each event that creates a range with the next event at the same address.

    Args:
      trace: the history of one device.
      begin: the action that creates a range.
      end: the action that ends it.
      at_end: the ranges that exist at the end: rows of address, size, requested, stack and stream.
    """
    steps = step_numbers(trace)
    events = np.flatnonzero((trace.action == begin) | (trace.action == end))
    events = events[np.lexsort((events, trace.address[events]))]
    address, creates = trace.address[events], trace.action[events] == begin
    is_same = address[1:] == address[:-1]
    followed = np.append(is_same, False)
    follows = np.append(False, is_same)[: len(events)]
    births = np.flatnonzero(creates)
    next_event = events[np.minimum(births + 1, max(len(events) - 1, 0))]
    deaths = np.where(followed[births], steps[next_event], steps[-1])
    older = events[~creates & ~follows]
    created = events[births]
    is_listed, _ = _positions(np.sort(address[creates & ~followed]), at_end[:, 0])
    is_freed, _ = _positions(np.sort(address[~creates & ~followed]), at_end[:, 0])
    lasting = at_end[~is_listed & ~is_freed]
    zeros, unknown = np.zeros(len(older), np.int64), np.full(len(older), -1)
    columns = (
        (trace.address[created], trace.address[older], lasting[:, 0]),
        (trace.size[created], trace.size[older], lasting[:, 1]),
        (trace.size[created], trace.size[older], lasting[:, 2]),
        (steps[created], zeros, np.zeros(len(lasting), np.int64)),
        (deaths, steps[older], np.full(len(lasting), steps[-1])),
        (created, unknown, np.full(len(lasting), -1)),
        (trace.stack[created], unknown, lasting[:, 3]),
        (trace.stream[created], trace.stream[older], lasting[:, 4]),
    )
    return Lifetimes(*(np.concatenate(pieces).astype(np.int64) for pieces in columns))


def _positions(sorted_values: Integers, values: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Returns which values are among some sorted ones, and where."""
    at = np.minimum(sorted_values.searchsorted(values), max(len(sorted_values) - 1, 0))
    return (sorted_values[at] == values if len(sorted_values) else np.zeros(len(values), bool)), at


def _mapped(trace: Trace, segments: Sequence[Segment]) -> Lifetimes:
    """Returns the mapped parts of expandable segments, cut wherever an event begins or ends."""
    steps = step_numbers(trace)
    events = np.flatnonzero((trace.action == SEGMENT_MAP) | (trace.action == SEGMENT_UNMAP)).tolist()
    ends = {(each.address, each.address + each.size): each.stream for each in segments}
    ranges = [(int(trace.address[at]), int(trace.address[at] + trace.size[at])) for at in events]
    bounds = sorted({bound for both in (*ends, *ranges) for bound in both})
    index = {bound: number for number, bound in enumerate(bounds)}
    streams = {cell: stream for (first, last), stream in ends.items() for cell in range(index[first], index[last])}
    births: dict[int, int] = {}
    handled = set[int]()
    rows: list[tuple[int, int, int, int, int]] = []
    for at, (first, last) in zip(events, ranges, strict=True):
        for cell in range(index[first], index[last]):
            is_mapped = cell in births or cell not in handled
            if trace.action[at] == SEGMENT_MAP:
                births.setdefault(cell, int(steps[at]))
            elif is_mapped:
                rows.append((cell, births.pop(cell, 0), int(steps[at]), at, int(trace.stream[at])))
            handled.add(cell)
    rows += [(cell, birth, int(steps[-1]), -1, streams.get(cell, 0)) for cell, birth in births.items()]
    rows += [(cell, 0, int(steps[-1]), -1, stream) for cell, stream in streams.items() if cell not in handled]
    sizes = [end - start for start, end in pairwise(bounds)]
    table = [(bounds[cell], sizes[cell], sizes[cell], birth, death, -1, -1, at) for cell, birth, death, _, at in rows]
    return Lifetimes(*np.array(table, np.int64).reshape(-1, 8).T)
