"""Would what was recorded fit into less memory, or into more, or if something were freed earlier? Tried, not guessed.

The recorded requests go once more through an allocator with the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.report import RegionView
from nbtf._devices.lent import FIRST_LENT_REGION, HISTORIES, LENT
from nbtf._runtime.context import CURRENT
from nbtf._runtime.events import Allocated, Event, Freed, Refused
from nbtf._runtime.kept_memory import with_holders
from nbtf._runtime.notes import next_number
from nbtf._runtime.totals import Snapshot


class Fit(NamedTuple):
    """Whether recorded requests fit into a limit, in bytes; it is true if they do.

    `peak` is the most that was in use, `refused` the requests that did not fit.

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
        """Tells whether all fit."""
        return not self.refused


Maps = dict[str, tuple[int, Sequence[RegionView]]]
"""Of devices by full name: the number of the last event before a look, and the regions that it saw."""


def started_maps() -> Maps:
    """Returns what GPUs hold at this moment: simulated ones that are in use, and real ones whose library tells."""
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
    """Returns what `Recording.fits` does.

    Raises:
      ValueError: there is no such simulated GPU.
    """
    gpus = [gpu for gpu in CURRENT.context.gpus.made if device in (gpu.name, gpu.short_name)]
    allocator = gpus[0].fresh_allocator(limit) if gpus else None
    if allocator is None:
        raise ValueError(f"No matching devices found for '{device}': only simulated GPUs say how they take memory")
    gpu = gpus[0]
    number, regions = maps.get(gpu.name, (0, ()))
    device_events = [event for event in snapshot.memory_of(gpu.name) if event.seq > number]
    if any([getattr(event, "region", -1) >= FIRST_LENT_REGION for event in device_events]):
        raise NotImplementedError(
            f"On {device} this recording has memory of another library, whose allocator has other rules than nbtf's: "
            "what would fit is not said of it. %%gpu_memory --predict CARD says it of a PyTorch program."
        )
    first = next((event.seq for event in device_events if isinstance(event, Refused)), 0)
    has_moments, moments = isinstance(without, Mapping), cast("Any", without)
    freed_before = {piece.seq: int(moments[piece]) if has_moments else first for piece in without}
    return fit_of(device_events, regions, allocator, freed_before)


def fit_of(
    events: Sequence[Event], regions: Sequence[RegionView], allocator: BFCAllocator, freed_before: Mapping[int, int]
) -> Fit:
    """Sends requests through an allocator.

    Args:
      events: of one device, in order.
      regions: what it had mapped before the first of them.
      allocator: a fresh one; it is used up.
      freed_before: for numbers of `Allocated` events the number of the event before which the piece is freed.
    """
    live_chunks: dict[tuple[int, int], Chunk] = {}
    granted: list[Chunk] = []  # what was refused then: nobody recorded how long it would have lived
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
            del chunk  # it lives as long as somebody holds it
    return Fit(allocator.limit, allocator.stats().peak_bytes_in_use, tuple(refused))


def _lay_out(regions: Sequence[RegionView], allocator: BFCAllocator, live_chunks: dict[tuple[int, int], Chunk]) -> None:
    """Takes what was in use already, with holes where they were; none of it is a request of the recording."""
    holes: list[Chunk | None] = []
    for region in regions:
        pieces = list(region.chunks)
        while region is regions[-1] and pieces and not pieces[-1].in_use:
            pieces.pop()
        for piece in pieces:
            # What the allocator added for want of another use may be of use with another limit.
            is_end = region is regions[-1] and piece is pieces[-1]
            chunk = allocator.allocate(piece.requested if is_end else piece.size)
            if not piece.in_use:
                holes.append(chunk)
            elif chunk is not None:
                live_chunks[region.region, piece.offset] = chunk
            del chunk
    holes.clear()
    allocator.clear_stats()
