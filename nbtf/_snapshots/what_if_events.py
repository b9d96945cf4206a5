"""What would a program need that ran on simulated GPUs of PyTorch? Replays the memory events of an nbtf recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtf._devices.bfc.report import RegionView
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._record.events import Allocated, Freed, Refused
from nbtf._runtime.what_ifs import Note, WhatIf, is_line
from nbtf._snapshots.history import UNLIMITED, History
from nbtf._snapshots.history_replay import HistoryReplay
from nbtf._snapshots.snapshot import ALLOC, FREE_COMPLETED, OOM, Block, Segment, Trace

_REGION_BITS = 44
"""Addresses of a recording are offsets in regions; regions are placed so far apart that none overlap."""

_SMALL_SEGMENT = 2 << 20

MemoryEvent = Allocated | Freed | Refused


def what_if_of_events(
    events: Sequence[MemoryEvent],
    regions: Sequence[RegionView],
    device: str,
    settings: AllocatorSettings,
    card: int | None = None,
    without: str = "",
) -> WhatIf:
    """Returns what a program on a simulated GPU of PyTorch would need.

    Args:
      events: the memory events of PyTorch on one device, in order.
      regions: PyTorch's segments before the first event.
      device: short name of the device.
      settings: the allocator's settings.
      card: bytes of the card; None means unlimited.
      without: a line whose allocations are left out, such as `train.py:41`; empty for none.

    Raises:
      ValueError: if the line allocated nothing.
    """
    sites = [*{event.site: None for event in events if event.site}]
    left_out = np.array([*(bool(without) and is_line(*site, without) for site in sites), False])
    if without and not left_out.any():
        raise ValueError(f"No memory was allocated by {without!r} on {device}. Expected a line such as train.py:41.")
    trace = _trace(events, {site: number for number, site in enumerate(sites)})
    beginning = [_segment(region) for region in regions]
    history = History(trace, 0, beginning, settings, np.zeros(len(trace), np.int64), card)
    outcome = HistoryReplay(history, settings, card or UNLIMITED, stacks_left_out=left_out).run()
    refusal = outcome.refusal
    if refusal is not None:
        site = sites[outcome.refused_stack] if outcome.refused_stack >= 0 else None
        line = "" if site is None else f"{site[0].replace(chr(92), '/').rpartition('/')[2]}:{site[1]}"
        refusal = refusal._replace(event=events[refusal.event].seq if refusal.event >= 0 else -1, line=line)
    size = sum([each.size for each in beginning])
    notes = [Note("before", {"size": size}), Note("anew", {})] if beginning else []
    if card is None:
        notes.append(Note("noCard", {}))
    if outcome.granted_later:
        notes.append(Note("granted", {"n": outcome.granted_later}))
    return WhatIf(
        device=device,
        allocator="PyTorch",
        settings=settings.text,
        as_recorded=False,
        card=card,
        without=without,
        first_event=events[0].seq if events else 0,
        events=outcome.events,
        stopped=outcome.stopped,
        peak_allocated=outcome.peak_allocated,
        peak_reserved=outcome.peak_reserved,
        peak_event=events[outcome.peak_event].seq if outcome.peak_event >= 0 else -1,
        unallocated=outcome.unallocated,
        largest_free=outcome.largest_free,
        retries=outcome.retries,
        released=outcome.released,
        refused=outcome.refused,
        refusal=refusal,
        notes=tuple(notes),
    )


def _trace(events: Sequence[MemoryEvent], stacks: dict[tuple[str, int] | None, int]) -> Trace:
    rows = [
        (OOM, 0, event.nbytes, stacks.get(event.site, -1))
        if isinstance(event, Refused)
        else (
            ALLOC if isinstance(event, Allocated) else FREE_COMPLETED,
            (event.region << _REGION_BITS) + event.offset,
            event.nbytes,
            stacks.get(event.site, -1),
        )
        for event in events
    ]
    action, address, size, stack = np.array(rows, np.int64).reshape(-1, 4).T
    zeros = np.zeros(len(rows), np.int64)
    return Trace(0, action.astype(np.uint8), address, size, zeros, zeros, stack.astype(np.int32))


def _segment(region: RegionView) -> Segment:
    base = region.region << _REGION_BITS
    blocks = [
        Block(base + each.offset, each.size, each.requested, "active_allocated" if each.in_use else "inactive")
        for each in region.chunks
    ]
    return Segment(0, base, region.size, 0, region.size == _SMALL_SEGMENT, False, tuple(blocks))
