"""Which history of a device is replayed, what was in memory before it, and what did the program itself do?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.caching.blocks import SMALL, SMALL_SEGMENT
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.beginning import state_of
from nbtf._snapshots.charges import Flags, Integers
from nbtf._snapshots.settings import settings_of
from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    FREE_REQUESTED,
    OOM,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    Segment,
    Trace,
)

UNLIMITED = 1 << 44
"""Bytes of a card whose size is unknown: more than any card has."""


class History(NamedTuple):
    """What happened on a device, from event number `first` on, and what was in its memory before.

    `reserved` are the bytes reserved before each event, and `card` those that PyTorch could have; None if unknown.
    """

    trace: Trace
    first: int
    beginning: Sequence[Segment]
    settings: AllocatorSettings
    reserved: Integers
    card: int | None

    @classmethod
    def of(cls, account: DeviceAccount, first: int = 0, last: int | None = None) -> History:
        """Returns the history of a device, or its events from number `first` up to, but without, `last`."""
        trace = account.trace
        last = len(trace) if last is None else min(last, len(trace))
        if first or last < len(trace):
            columns = ("action", "address", "size", "stream", "microseconds", "stack")
            cut: Any = [getattr(trace, name)[first:last] for name in columns]
            trace = Trace(trace.device, *cut)
        settings, reserved = settings_of(account.snapshot), account.reserved[first:last]
        beginning = [_with_pool(each, settings) for each in _possible(state_of(account, first))]
        starts = _unmapped_starts(beginning, trace, settings)
        return cls(trace, first, (*beginning, *starts), settings, reserved, recorded_card(account))


def recorded_card(account: DeviceAccount) -> int | None:
    """Returns the bytes that PyTorch could have on the card; None if the file does not show them.

    An out-of-memory event contains the free bytes; with the reserved ones they are what PyTorch could have.
    """
    sizes = [each.free_on_card + each.reserved for each in account.failures]
    return max([size for size in sizes if 0 < size < UNLIMITED], default=None)


def _possible(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Yields segments by address without impossible ones, which only contradictory files contain.

    Such a segment overlaps the one before it, or it or one of its blocks has no bytes.
    """
    end = 0
    for segment in segments:
        sizes = [segment.size, *[block.size for block in segment.blocks]]
        if segment.address >= end and min(sizes) > 0:
            end = segment.address + segment.size
            yield segment


def _with_pool(segment: Segment, settings: AllocatorSettings) -> Segment:
    """Returns a part of an expandable segment with the pool that its pages and blocks show.

    A file names the pools of segments only at the end. Blocks in the large pool are larger than 1 MiB.
    """
    if not segment.is_expandable:
        return segment
    sizes = [block.size for block in segment.blocks if block.state != "inactive"]
    has_large_pages = segment.size % settings.large_segment_size == 0
    return segment._replace(is_small=max(sizes) <= SMALL if sizes else not has_large_pages)


def _unmapped_starts(segments: Sequence[Segment], trace: Trace, settings: AllocatorSettings) -> Iterator[Segment]:
    """Yields empty parts where expandable segments begin, if their first pages are not mapped before the first event.

    The file contains only mapped pages. Those that are mapped later show how far a segment reaches down. A segment for
    small requests grows by one page at a time.
    """
    rows = trace.action == SEGMENT_MAP
    address, size, stream = trace.address[rows], trace.size[rows], trace.stream[rows]
    expandable = [each for each in segments if each.is_expandable]
    for is_small, owner in sorted({(each.is_small, each.stream) for each in expandable}):
        first = min(each.address for each in expandable if (each.is_small, each.stream) == (is_small, owner))
        below = max([each.address + each.size for each in segments if each.address < first], default=0)
        page = SMALL_SEGMENT if is_small else settings.large_segment_size
        is_own = size == page if is_small else size % page == 0
        is_own &= (stream == owner) & (address >= below) & (address < first) & ((first - address) % page == 0)
        if is_own.any():
            yield Segment(trace.device, int(address[is_own].min()), 0, owner, is_small, True, ())


def is_prompt_free(trace: Trace) -> Flags:
    """Returns for each event whether the next one completes it: a free of memory that no other stream uses."""
    following = np.append(trace.action[1:], np.uint8(OOM))
    address = np.append(trace.address[1:], np.int64(-1))
    return (trace.action == FREE_REQUESTED) & (following == FREE_COMPLETED) & (address == trace.address)


def program_releases(history: History) -> Flags:
    """Returns at which events the program released the cache, as `torch.cuda.empty_cache()` does.

    Releases directly before a failure are those of the failed request. Those directly before a new segment are the
    request's as well if the card was too full for it, or if the settings collect garbage.
    """
    trace, settings, action = history.trace, history.settings, history.trace.action
    is_release = (action == SEGMENT_FREE) | (action == SEGMENT_UNMAP)
    is_new = (action == SEGMENT_ALLOC) | (action == SEGMENT_MAP)
    is_first = is_release & ~np.append(False, is_release[:-1])
    is_last = is_release & ~np.append(is_release[1:], False)
    following = np.append(action[1:], np.uint8(ALLOC))
    is_request = np.append(is_new[1:], False)
    if not settings.garbage_collection_threshold:
        releases_some = settings.max_split_size != AllocatorSettings().max_split_size
        unknown = 0 if releases_some else UNLIMITED
        limit = unknown if history.card is None else int(history.card * settings.memory_fraction)
        # Each run of releases has a first and a last one, and a run of new segments may follow it.
        totals = np.append(0, np.cumsum(np.where(is_new, trace.size, 0)))
        starts = np.flatnonzero(is_last) + 1
        non_new = np.append(np.flatnonzero(~is_new), len(action))
        ends = non_new[non_new.searchsorted(starts)]
        is_request[is_last] &= history.reserved[is_first] + totals[ends] - totals[starts] > limit
    return is_last & (following != OOM) & ~is_request
