"""Checks whether a recorded program would fit into another memory limit, or with chunks freed earlier.

The recorded requests are replayed through a new allocator with the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.report import RegionView
from nbtf._devices.lent import FIRST_LENT_REGION, HISTORIES, LENT
from nbtf._record.events import Allocated, Event, Freed, Refused
from nbtf._record.rows import next_number
from nbtf._record.totals import Snapshot
from nbtf._runtime.context import CURRENT
from nbtf._runtime.kept_memory import with_holders


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
    gpus = [gpu for gpu in CURRENT.context.gpus.made if device in (gpu.name, gpu.short_name)]
    allocator = gpus[0].fresh_allocator(limit) if gpus else None
    if allocator is None:
        raise ValueError(f"No matching devices found for '{device}'. Only simulated GPUs have an allocator to replay.")
    gpu = gpus[0]
    number, regions = maps.get(gpu.name, (0, ()))
    device_events = [event for event in snapshot.memory_of(gpu.name) if event.seq > number]
    if any([getattr(event, "region", -1) >= FIRST_LENT_REGION for event in device_events]):
        raise NotImplementedError(
            f"The recording contains memory of another library on {device}. nbtf cannot replay its allocator. "
            "For a PyTorch program, use %%gpu_memory --predict CARD."
        )
    first = next((event.seq for event in device_events if isinstance(event, Refused)), 0)
    has_moments, moments = isinstance(without, Mapping), cast("Any", without)
    freed_before = {piece.seq: int(moments[piece]) if has_moments else first for piece in without}
    return fit_of(device_events, regions, allocator, freed_before)


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
    live_chunks: dict[tuple[int, int], Chunk] = {}
    granted: list[Chunk] = []  # requests that failed when recorded: their lifetime is unknown
    refused: list[Allocated | Refused] = []
    _lay_out(regions, allocator, live_chunks)
    waiting = dict(freed_before)
    pieces: dict[int, tuple[int, int]] = {}
    for event in events:
        for number in [number for number, moment in waiting.items() if moment <= event.seq and number in pieces]:
            live_chunks.pop(pieces[number], None)
            del waiting[number]
        if isinstance(event, Freed):
            live_chunks.pop((event.region, event.offset), None)
        elif isinstance(event, Allocated | Refused):
            chunk = allocator.allocate(event.nbytes)
            if chunk is None:
                refused.append(event)
            elif isinstance(event, Refused):
                granted.append(chunk)
            else:
                pieces[event.seq] = event.region, event.offset
                live_chunks[event.region, event.offset] = chunk
            del chunk  # the chunk is freed with its last reference
    return Fit(allocator.limit, allocator.stats().peak_bytes_in_use, tuple(refused))


def _lay_out(regions: Sequence[RegionView], allocator: BFCAllocator, live_chunks: dict[tuple[int, int], Chunk]) -> None:
    """Recreates the memory that was already in use, with its holes; these are not requests of the recording."""
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
                live_chunks[region.region, piece.offset] = chunk
            del chunk
    holes.clear()
    allocator.clear_stats()
