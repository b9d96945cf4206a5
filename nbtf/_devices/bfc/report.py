"""Reports on the memory of a simulated GPU: a snapshot, a picture, and TensorFlow's out-of-memory dump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtf._devices.bfc.chunks import BINS, MIN_CHUNK, Region, Tile, bin_of, rounded
from nbtf._devices.sizes import human

if TYPE_CHECKING:
    from nbtf._devices.bfc.allocator import BFCAllocator

_NO_HANDLE = 2**64 - 1
_PICTURE_WIDTH = 100


class ChunkView(NamedTuple):
    """A chunk in a snapshot. `bin` is None while it is in use; for a free chunk, `requested` is 0.

    `holder` is `"weights"` or `"optimizer slots"` if a variable keeps the chunk.
    """

    offset: int
    size: int
    in_use: bool
    requested: int
    label: Any
    bin: int | None
    holder: str = ""


class RegionView(NamedTuple):
    """A region in a snapshot; `region` is its number."""

    region: int
    size: int
    chunks: tuple[ChunkView, ...]


def views(regions: Sequence[Region]) -> tuple[RegionView, ...]:
    """Returns plain copies of all regions and their chunks."""
    return tuple(
        RegionView(region.number, region.size, tuple(_view(region, block) for block in region.blocks()))
        for region in regions
    )


def _view(region: Region, block: Tile) -> ChunkView:
    offset = block.address - region.address
    if block.in_use:
        return ChunkView(offset, block.size, True, block.requested, block.label, None)
    return ChunkView(offset, block.size, False, 0, None, bin_of(block.size))


def picture(regions: Sequence[Region]) -> str:
    """Returns all regions in a row as 100 characters: `*` requested, `x` wasted by rounding, `_` free."""
    total = sum(region.size for region in regions)
    if total == 0:
        return "<allocator contains no memory>"
    cells = ["_"] * _PICTURE_WIDTH

    def paint(start: int, nbytes: int, mark: str) -> None:
        first, last = start * _PICTURE_WIDTH // total, (start + nbytes - 1) * _PICTURE_WIDTH // total
        cells[first : last + 1] = mark * (last + 1 - first)

    region_start = 0
    for region in regions:
        for block in region.blocks():
            if block.in_use:
                start = region_start + block.address - region.address
                paint(start + block.requested, block.size - block.requested, "x")
                paint(start, block.requested, "*")
        region_start += region.size
    return "".join(cells)


def dump(allocator: BFCAllocator, nbytes: int, op: str) -> str:
    """Returns what TensorFlow 2.21 writes when an allocation fails. The caller holds the allocator's lock.

    Source: BFCAllocator::AllocateRawInternal and DumpMemoryLog, bfc_allocator.cc of TensorFlow 2.21.
    """
    need = rounded(nbytes)
    blocks = [block for region in allocator._regions for block in region.blocks()]
    in_use = [block for block in blocks if block.in_use]
    return "\n".join(
        (
            f"Allocator ({allocator.name}) ran out of memory trying to allocate {human(nbytes)} "
            f"(rounded to {need})requested by op {op}",
            "If the cause is memory fragmentation maybe the environment variable "
            "'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ",
            "Current allocation summary follows.",
            "Current allocation summary follows.",
            f"BFCAllocator dump for {allocator.name}",
            *_bin_lines(blocks),
            f"Bin for {human(need)} was {human(MIN_CHUNK << bin_of(need))}, Chunk State: ",
            *(_state(block) for size, _, block in allocator._free if bin_of(size) == bin_of(need)),
            *_region_lines(allocator._regions),
            "     Summary of in-use Chunks by size: ",
            *(
                f"{count} Chunks of size {size} totalling {human(size * count)}"
                for size, count in sorted(Counter(block.size for block in in_use).items())
            ),
            f"Sum Total of in-use chunks: {human(sum(block.size for block in in_use))}",
            f"Total size in pool: {human(allocator._pool)} memory_limit_: {human(allocator.limit)} "
            f"available size: {human(allocator.limit - allocator._pool)} "
            f"curr_region_allocation_bytes_: {human(allocator.next_region)}",
            "Stats: ",
            *_stats_lines(allocator),
            "",
            picture(allocator._regions),
        )
    )


def _bin_lines(blocks: Sequence[Tile]) -> Iterator[str]:
    for number in range(BINS):
        inside = [block for block in blocks if bin_of(block.size) == number]
        used = [block for block in inside if block.in_use]
        yield (
            f"Bin ({MIN_CHUNK << number}): \tTotal Chunks: {len(inside)}, Chunks in use: {len(used)}. "
            f"{human(sum(block.size for block in inside))} allocated for chunks. "
            f"{human(sum(block.size for block in used))} in use in bin. "
            f"{human(sum(block.requested for block in used))} client-requested in use in bin."
        )


def _state(block: Tile, neighbours: bool = True) -> str:
    text = (
        f"  Size: {human(block.size)} | Requested Size: {human(block.requested)} | in_use: {int(block.in_use)} | "
        f"bin_num: {-1 if block.in_use else bin_of(block.size)}"
    )
    if neighbours and block.prev is not block.region:
        text += f", prev: {_state(block.prev, False)}"
    if neighbours and block.next is not block.region:
        text += f", next: {_state(block.next, False)}"
    return text


def _region_lines(regions: Sequence[Region]) -> Iterator[str]:
    for region in regions:
        yield f"Next region of size {region.size}"
        for block in region.blocks():
            following = _NO_HANDLE if block.next is region else block.next.handle
            yield f"{'InUse' if block.in_use else 'Free '} at {block.address:x} of size {block.size} next {following}"


def _stats_lines(allocator: BFCAllocator) -> Iterator[str]:
    # TensorFlow 2.21 keeps the last three fields at 0 on a GPU.
    rows = (
        ("Limit", human(allocator.limit)),
        ("InUse", human(allocator._in_use)),
        ("MaxInUse", human(allocator._peak)),
        ("NumAllocs", str(allocator._num_allocs)),
        ("MaxAllocSize", human(allocator._largest_alloc)),
        ("Reserved", human(0)),
        ("PeakReserved", human(0)),
        ("LargestFreeBlock", human(0)),
    )
    return (f"{name + ':':<18}{value:>20}" for name, value in rows)
