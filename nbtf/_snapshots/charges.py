"""How many bytes did PyTorch's allocator charge for a request? The request rounded up, and a rest that was not split.

A free block is split only if its rest is worth it: from 512 bytes on in the small pool and in expandable segments, and
above 1 MiB elsewhere. Otherwise, the request gets the whole block. Every block of the large pool is therefore larger
than 1 MiB, and a gap of at most 1 MiB behind a piece belongs to that piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._devices.caching.blocks import MIN_BLOCK, SMALL
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.snapshot import SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, Segment, Trace

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Requests(NamedTuple):
    """Pieces whose sizes are needed, in columns; `file_size` is the size where the file contains it, otherwise -1."""

    address: Integers
    requested: Integers
    birth: Integers
    death: Integers
    file_size: Integers


def rounded_sizes(requested: Integers, settings: AllocatorSettings) -> Integers:
    """Returns the sizes to which requests are rounded up; `caching.blocks.rounded` does the same for one size.

    >>> rounded_sizes(np.array([1, 513, 1 << 20]), AllocatorSettings()).tolist()
    [512, 1024, 1048576]
    """
    sizes = np.maximum((requested + MIN_BLOCK - 1) & -MIN_BLOCK, MIN_BLOCK)
    if not settings.divisions:
        return sizes
    lengths = np.frexp(np.maximum(requested, 1).astype(np.float64))[1].astype(np.int64)
    divisions = np.array(settings.divisions, np.int64)[np.clip(lengths - SMALL.bit_length(), 0, 15)]
    is_divided = (requested >= MIN_BLOCK) & (divisions > 1) & (requested > MIN_BLOCK * divisions)
    steps = np.maximum((np.int64(1) << np.clip(lengths - 1, 0, 62)) // np.maximum(divisions, 1), 1)
    return np.where(is_divided, -(-requested // steps) * steps, sizes)


def charged(
    pieces: Requests, trace: Trace, segments: Sequence[Segment], settings: AllocatorSettings
) -> tuple[Integers, Flags]:
    """Returns the bytes charged for each piece, and whether that figure may be too small.

    Args:
      pieces: all pieces of a device.
      trace: the history of the device.
      segments: its segments at the end.
      settings: the allocator's settings.
    """
    sizes = np.where(pieces.file_size >= 0, pieces.file_size, rounded_sizes(pieces.requested, settings))
    is_inexact = np.zeros(len(sizes), bool)
    if settings.expandable_segments:
        return sizes, is_inexact
    unknown = np.flatnonzero((pieces.file_size < 0) & (sizes > SMALL))
    if not len(unknown):
        return sizes, is_inexact
    is_oversize = sizes[unknown] >= settings.max_split_size
    largest_rest = np.where(is_oversize, np.maximum(settings.max_non_split_rounding, SMALL), SMALL)
    ends = pieces.address[unknown] + sizes[unknown]
    limit = _segment_ends(pieces.address[unknown], pieces.birth[unknown], trace, segments)
    following = _following(pieces, unknown, ends, np.minimum(ends + largest_rest, limit))
    following = np.where(following < 0, limit, following)
    remainder = following - ends
    has_remainder = (remainder > 0) & (remainder <= largest_rest) & (limit > 0)
    sizes[unknown[has_remainder]] += remainder[has_remainder]
    is_old = pieces.birth[unknown] == 0
    is_inexact[unknown] = is_old & (remainder > largest_rest)
    return sizes, is_inexact


def _following(pieces: Requests, rows: Integers, first: Integers, last: Integers) -> Integers:
    """Returns the address of the next piece that existed at the same time, at addresses from `first` to `last`.

    For a piece from before the history, pieces during its whole life count, because a block in use never changes its
    size. -1 if there is none.
    """
    order = np.lexsort((pieces.birth, pieces.address))
    addresses, births, deaths = pieces.address[order], pieces.birth[order], pieces.death[order]
    heads = np.flatnonzero(np.append(True, addresses[1:] != addresses[:-1]))
    distinct = addresses[heads]
    group = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(addresses))))
    span = int(pieces.death.max()) + 2
    keys = group * span + births  # sorted by address, then by birth
    moment, until = pieces.birth[rows], pieces.death[rows]
    is_old = moment == 0
    result = np.full(len(rows), -1)
    candidate = distinct.searchsorted(first)
    active = np.arange(len(rows))
    while len(active):
        inside = candidate[active] < len(distinct)
        active = active[inside]
        active = active[distinct[candidate[active]] <= last[active]]
        if not len(active):
            break
        at = candidate[active]
        latest = np.where(is_old[active], until[active] - 1, moment[active])
        entry = keys.searchsorted(at * span + latest, "right") - 1
        is_here = (entry >= 0) & (group[np.maximum(entry, 0)] == at)
        is_here &= deaths[np.maximum(entry, 0)] > moment[active]
        result[active[is_here]] = distinct[at[is_here]]
        active = active[~is_here]
        candidate[active] += 1
    return result


def _segment_ends(addresses: Integers, states: Integers, trace: Trace, segments: Sequence[Segment]) -> Integers:
    """Returns the end of the segment around each address at a state; 0 where no segment is known, or it can grow."""
    rows = segment_lives(trace, segments)
    order = np.lexsort((rows[:, 2], rows[:, 0]))
    start, size, birth, death = rows[order].T[:4]
    result = np.zeros(len(addresses), np.int64)
    candidate = start.searchsorted(addresses, "right") - 1
    active = np.flatnonzero(candidate >= 0)
    # Segments of several times may begin at one address or overlap; almost always, the first candidate is right.
    for _ in range(64):
        if not len(active):
            break
        at = candidate[active]
        is_right = (
            (birth[at] <= states[active]) & (states[active] < death[at]) & (addresses[active] < start[at] + size[at])
        )
        result[active[is_right]] = (start[at] + size[at])[is_right]
        active = active[~is_right]
        candidate[active] -= 1
        active = active[candidate[active] >= 0]
    return result


def segment_lives(trace: Trace, segments: Sequence[Segment]) -> Integers:
    """Returns rows of address, size, birth, death, stream and event of the segments that do not grow."""
    count = len(trace)
    events = np.flatnonzero((trace.action == SEGMENT_ALLOC) | (trace.action == SEGMENT_FREE))
    open_at: dict[int, list[int]] = {}
    rows: list[list[int]] = []
    freed: set[int] = set()
    columns = (trace.action[events], trace.address[events], trace.size[events], trace.stream[events])
    for event, action, address, size, stream in zip(
        events.tolist(), *(column.tolist() for column in columns), strict=True
    ):
        row = open_at.pop(address, None)
        if row is not None:
            row[3] = event + 1
        elif action == SEGMENT_FREE and address not in freed:
            rows.append([address, size, 0, event + 1, stream, -1])
        freed.add(address)
        if action == SEGMENT_ALLOC:
            open_at[address] = row = [address, size, event + 1, count + 1, stream, event]
            rows.append(row)
    ends = {segment.address: segment for segment in segments if not segment.is_expandable}
    for address, row in open_at.items():
        if address not in ends:
            row[3] = count
    for address, segment in ends.items():
        if address not in open_at:
            birth = count if address in freed else 0
            rows.append([address, segment.size, birth, count + 1, segment.stream, -1])
    return np.array(rows, np.int64).reshape(-1, 6)


def is_mapping(trace: Trace) -> Flags:
    """Returns which events map or unmap parts of expandable segments."""
    return (trace.action == SEGMENT_MAP) | (trace.action == SEGMENT_UNMAP)
