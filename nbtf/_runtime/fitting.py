"""Checks whether a recorded program would fit into another memory limit, or with chunks freed earlier.

The recorded requests are replayed through a new allocator with the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.report import RegionView
from nbtf._devices.lent import FIRST_LENT_REGION, HISTORIES, LENT, LentCard
from nbtf._devices.names import short_name
from nbtf._record.events import Allocated, Event, Freed, Refused
from nbtf._record.rows import next_number
from nbtf._record.totals import Snapshot
from nbtf._runtime.context import CURRENT
from nbtf._runtime.kept_memory import with_holders
from nbtf._runtime.what_ifs import Cause, Note, RefusedRequest, WhatIf, is_line


class Fit(NamedTuple):
    """Whether recorded requests fit into a memory limit, in bytes; true if they all do.

    `peak` is the highest number of bytes in use. `refused` lists the requests that did not fit.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([2**20], 1.0)
    >>> fit = record.fits("2MiB")
    >>> bool(fit), fit.limit, [request.nbytes for request in fit.refused]
    (False, 2097152, [4194304])
    """

    limit: int
    peak: int
    refused: tuple[Allocated | Refused, ...]

    def __bool__(self) -> bool:
        """Returns whether all requests fit."""
        return not self.refused


Maps = dict[str, tuple[int, Sequence[RegionView]]]
"""For each device by full name: the number of the last event before the snapshot, and the regions at that time."""


def started_maps() -> Maps:
    """Returns the current memory of simulated GPUs in use, and of real GPUs whose library reports its pieces."""
    gpus = [gpu for gpu in CURRENT.context.gpus.made if gpu.tells_pieces]
    maps: Maps = {
        gpu.name: (next_number(), with_holders(gpu.memory.map() or (), gpu)) for gpu in gpus if gpu.memory is not None
    }
    for card in LENT:
        maps[card.name] = next_number(), (*maps.get(card.name, (0, ()))[1], *card.memory.map())
    for history in HISTORIES:
        maps[history.name] = next_number(), (*maps.get(history.name, (0, ()))[1], *history.map())
    return maps


def fit_of_device(
    snapshot: Snapshot,
    maps: Maps,
    device: str,
    limit: int | None,
    without: Iterable[Allocated] | Mapping[Allocated, int],
) -> Fit:
    """Implements `Recording.fits`.

    Raises:
      ValueError: if no such simulated GPU exists.
    """
    lent = next((card for card in LENT if device in (card.name, short_name(card.name))), None)
    number, regions = (0, ()) if lent is None else maps.get(lent.name, (0, ()))
    if lent is not None and not regions:
        events = [event for event in snapshot.memory_of(lent.name) if event.seq > number]
        if events and all([getattr(event, "library", "") == lent.library for event in events]):
            return _fit_of_lent(lent, events, limit, _moments(events, without))
    gpus = [gpu for gpu in CURRENT.context.gpus.made if device in (gpu.name, gpu.short_name)]
    allocator = gpus[0].fresh_allocator(limit) if gpus else None
    if allocator is None:
        raise ValueError(f"No matching devices found for '{device}'. Only simulated GPUs have an allocator to replay.")
    gpu = gpus[0]
    return fit_in(allocator, snapshot, gpu.name, *maps.get(gpu.name, (0, ())), without)


def fit_in(
    allocator: BFCAllocator,
    snapshot: Snapshot,
    device: str,
    number: int,
    regions: Sequence[RegionView],
    without: Iterable[Allocated] | Mapping[Allocated, int],
) -> Fit:
    """Replays the memory requests of one device, given by its full name, through a new allocator.

    Args:
      allocator: a new allocator, which is used up.
      snapshot: the recording.
      device: full name of the device.
      number: number of the last event before `regions`.
      regions: the regions mapped before the first event.
      without: see `Recording.fits`.

    Raises:
      NotImplementedError: if the device also has memory of another library.
    """
    device_events = [event for event in snapshot.memory_of(device) if event.seq > number]
    if any([getattr(event, "region", -1) >= FIRST_LENT_REGION for event in device_events]):
        raise NotImplementedError(
            f"The recording contains memory of another library on {device}. nbtf cannot replay its allocator. "
            "For a PyTorch program, use %%gpu_memory --predict CARD."
        )
    return fit_of(device_events, regions, allocator, _moments(device_events, without))


def _moments(events: Sequence[Event], without: Iterable[Allocated] | Mapping[Allocated, int]) -> dict[int, int]:
    """Returns the number of the event before which to free each piece; see `Recording.fits`."""
    first = next((event.seq for event in events if isinstance(event, Refused)), 0)
    has_moments, moments = isinstance(without, Mapping), cast("Any", without)
    return {piece.seq: int(moments[piece]) if has_moments else first for piece in without}


def _fit_of_lent(card: LentCard, events: Sequence[Event], limit: int | None, freed_before: Mapping[int, int]) -> Fit:
    """Replays the requests of another library on a card that was empty before, through an allocator like its own."""
    allocator = card.memory.fresh(limit)
    refused = _refused(events, _ChunkReplay(allocator.allocate_or_none), freed_before)
    return Fit(allocator.total, allocator.stats()["allocated_bytes.all.peak"], refused)


def fit_of(
    events: Sequence[Event], regions: Sequence[RegionView], allocator: BFCAllocator, freed_before: Mapping[int, int]
) -> Fit:
    """Replays memory requests through an allocator.

    Args:
      events: the memory events of one device, in order.
      regions: the regions mapped before the first event.
      allocator: a new allocator, which is used up.
      freed_before: maps numbers of `Allocated` events to the number of the event before which to free that memory.
    """
    refused = _refused(events, _replay_after(regions, allocator), freed_before)
    return Fit(allocator.limit, allocator.stats().peak_bytes_in_use, refused)


def _refused(
    events: Sequence[Event], replay: _ChunkReplay, freed_before: Mapping[int, int]
) -> tuple[Allocated | Refused, ...]:
    """Repeats memory events; returns the requests that do not fit."""
    refused: list[Allocated | Refused] = []
    waiting = dict(freed_before)
    pieces: dict[int, tuple[int, int]] = {}
    for event in events:
        for number in [number for number, moment in waiting.items() if moment <= event.seq and number in pieces]:
            replay.chunks.pop(pieces[number], None)
            del waiting[number]
        if not replay.repeat(event):
            refused.append(cast("Allocated | Refused", event))
        elif isinstance(event, Allocated):
            pieces[event.seq] = event.region, event.offset
    return tuple(refused)


def what_if_in(
    allocator: BFCAllocator, events: Sequence[Event], device: str, regions: Sequence[RegionView], without: str
) -> WhatIf:
    """Replays the memory events of one device through a new allocator until a request fails that was granted.

    Args:
      allocator: a new allocator, which is used up.
      events: the memory events of the device, in order.
      device: short name of the device.
      regions: the regions mapped before the first event.
      without: a line whose allocations are left out, such as `train.py:41`; empty for none.

    Raises:
      ValueError: if the line allocated nothing.
    """
    sites = {event.site for event in events if isinstance(event, Allocated | Refused | Freed) and event.site}
    left_out = {site for site in sites if without and is_line(*site, without)}
    if without and not left_out:
        raise ValueError(f"No memory was allocated by {without!r} on {device}. Expected a line such as train.py:41.")
    replay, notes = _replay_after(regions, allocator), list[Note]()
    if regions:
        notes.append(Note("before", {"size": sum([region.size for region in regions])}))
    peak, count = (-1, -1, -1, 0), len(events)
    refused: list[RefusedRequest] = []
    for index, event in enumerate(events):
        if getattr(event, "site", None) in left_out:
            continue
        if not replay.repeat(event):
            refused.append(_refusal(cast("Allocated | Refused", event), allocator))
            if isinstance(event, Allocated):
                count = index
                break
        in_use, reserved = allocator.level()
        if (reserved, in_use) > peak[:2]:
            peak = reserved, in_use, event.seq, allocator.stats().largest_free_chunk
    figures = allocator.stats()
    return WhatIf(
        device=device,
        allocator="TensorFlow",
        settings=f"allow_growth:{allocator.growth}",
        as_recorded=False,
        card=allocator.limit,
        without=without,
        first_event=events[0].seq if events else 0,
        events=count,
        stopped=count < len(events),
        peak_allocated=figures.peak_bytes_in_use,
        peak_reserved=figures.peak_pool_bytes,
        peak_event=peak[2],
        unallocated=max(0, peak[0] - peak[1]),
        largest_free=peak[3],
        retries=None,
        released=allocator.released_regions,
        refused=len(refused),
        refusal=refused[0] if refused else None,
        notes=tuple(notes),
    )


def _refusal(event: Allocated | Refused, allocator: BFCAllocator) -> RefusedRequest:
    """Returns a failed request with the memory that was then free."""
    figures = allocator.stats()
    free, unallocated = figures.bytes_limit - figures.pool_bytes, figures.pool_bytes - figures.bytes_in_use
    cause: Cause = "fragmentation" if event.nbytes <= free + unallocated else "full"
    line = "" if event.site is None else f"{event.site[0].rpartition('/')[2]}:{event.site[1]}"
    return RefusedRequest(event.seq, event.nbytes, line, cause, free, unallocated, figures.largest_free_chunk)


class _ChunkReplay:
    """Memory events that are repeated in another allocator, and the chunks that they hold in it."""

    def __init__(self, allocate: Callable[[int], object]) -> None:
        """Stores the allocator's function, which returns a chunk that is freed when it dies, or None."""
        self._allocate = allocate
        self.chunks: dict[tuple[int, int], object] = {}
        self._lasting: list[object] = []
        """Chunks of requests that failed when recorded: their lifetime is unknown."""

    def repeat(self, event: Event) -> bool:
        """Repeats a request or a free; returns whether the request fits."""
        if isinstance(event, Freed):
            self.chunks.pop((event.region, event.offset), None)
        elif isinstance(event, Allocated | Refused):
            chunk = self._allocate(event.nbytes)
            if chunk is None:
                return False
            if isinstance(event, Refused):
                self._lasting.append(chunk)
            else:
                self.chunks[event.region, event.offset] = chunk
        return True


def _replay_after(regions: Sequence[RegionView], allocator: BFCAllocator) -> _ChunkReplay:
    """Recreates the memory that was already in use, with its holes; these are not requests of the recording."""
    replay = _ChunkReplay(allocator.allocate)
    holes: list[Chunk | None] = []
    for region in regions:
        pieces = list(region.chunks)
        while region is regions[-1] and pieces and not pieces[-1].in_use:
            pieces.pop()
        for piece in pieces:
            # The padding of a chunk with no other use may be useful under another limit.
            is_end = region is regions[-1] and piece is pieces[-1]
            chunk = allocator.allocate(piece.requested if is_end else piece.size)
            if not piece.in_use:
                holes.append(chunk)
            elif chunk is not None:
                replay.chunks[region.region, piece.offset] = chunk
            del chunk
    holes.clear()
    allocator.clear_stats()
    return replay
