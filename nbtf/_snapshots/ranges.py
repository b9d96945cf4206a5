"""Which ranges of memory did PyTorch's allocator have from the driver at a state of a history?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._snapshots.snapshot import SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, SNAPSHOT, Segment, Trace


class Range(NamedTuple):
    """Contiguous memory from the driver, in bytes: a segment, or the mapped part of an expandable one."""

    address: int
    size: int
    stream: int
    is_expandable: bool


class MappedParts:
    """The mapped parts of expandable segments: ranges by address that neither overlap nor touch."""

    def __init__(self) -> None:
        """Begins without any."""
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.streams: list[int] = []

    def add(self, start: int, end: int, stream: int) -> None:
        """Adds a range, merged with those that it touches."""
        first, last = bisect_left(self.ends, start), bisect_right(self.starts, end)
        if first < last:
            start, end = min(start, self.starts[first]), max(end, self.ends[last - 1])
        self.starts[first:last], self.ends[first:last], self.streams[first:last] = [start], [end], [stream]

    def remove(self, start: int, end: int) -> None:
        """Removes a range; parts that were not mapped are ignored."""
        first, last = bisect_right(self.ends, start), bisect_left(self.starts, end)
        if first >= last:
            return
        remainders = [
            (self.starts[first], start, self.streams[first]),
            (end, self.ends[last - 1], self.streams[last - 1]),
        ]
        remainders = [remainder for remainder in remainders if remainder[0] < remainder[1]]
        starts, ends, streams = ([remainder[column] for remainder in remainders] for column in range(3))
        self.starts[first:last], self.ends[first:last], self.streams[first:last] = starts, ends, streams

    def ranges(self) -> list[Range]:
        """Returns the ranges by address."""
        rows = zip(self.starts, self.ends, self.streams, strict=True)
        return [Range(start, end - start, stream, True) for start, end, stream in rows]


def ranges_at(trace: Trace, segments: Sequence[Segment], state: int) -> list[Range]:
    """Returns the ranges at a state by address; state 0 is before the first event, state `i + 1` after event `i`."""
    return next(ranges_before(trace, segments, [state]))


def ranges_before(trace: Trace, segments: Sequence[Segment], states: Sequence[int]) -> Iterator[list[Range]]:
    """Yields the ranges at some states by address. The events after each state are undone from the end.

    Args:
      trace: the history of one device.
      segments: its segments at the end.
      states: numbers of the states, the last one first.
    """
    mapped = MappedParts()
    plain: dict[int, Range] = {}
    for segment in segments:
        if segment.is_expandable:
            mapped.add(segment.address, segment.address + segment.size, segment.stream)
        else:
            plain[segment.address] = Range(segment.address, segment.size, segment.stream, False)
    action = trace.action
    changes = np.flatnonzero((action >= SEGMENT_ALLOC) & (action <= SEGMENT_UNMAP))[::-1]
    columns = (changes, action[changes], trace.address[changes], trace.size[changes], trace.stream[changes])
    events = list(zip(*(column.tolist() for column in columns), strict=True))
    undone = 0
    for state in states:
        while undone < len(events) and events[undone][0] >= state:
            _, code, address, size, stream = events[undone]
            _undo(code, Range(address, size, stream, code >= SEGMENT_MAP), plain, mapped)
            undone += 1
        yield sorted([*plain.values(), *mapped.ranges()])


def _undo(code: int, changed: Range, plain: dict[int, Range], mapped: MappedParts) -> None:
    """Undoes an event that added or removed a range."""
    if code == SEGMENT_ALLOC:
        plain.pop(changed.address, None)
    elif code == SEGMENT_FREE:
        plain[changed.address] = changed
    elif code == SEGMENT_MAP:
        mapped.remove(changed.address, changed.address + changed.size)
    else:
        mapped.add(changed.address, changed.address + changed.size, changed.stream)


def reserved_levels(trace: Trace, stream: int | None = None) -> NDArray[np.int64]:
    """Returns how much more is reserved at each state than before the first event, in bytes; of all streams or one."""
    action = trace.action if stream is None else np.where(trace.stream == stream, trace.action, SNAPSHOT)
    sign = np.zeros(len(action), np.int64)
    sign[(action == SEGMENT_ALLOC) | (action == SEGMENT_MAP)] = 1
    sign[(action == SEGMENT_FREE) | (action == SEGMENT_UNMAP)] = -1
    return np.append(np.int64(0), np.cumsum(sign * trace.size))
