"""The memory of a GPU, simulated or real, whose chunks come from TensorFlow's allocator."""

from __future__ import annotations

from nbtf._devices.base import MemoryStats, Piece, describe_label
from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.report import ChunkView, RegionView


class BFCMemory:
    """The memory statistics of one GPU."""

    def __init__(self, allocator: BFCAllocator) -> None:
        """Reads the given allocator."""
        self._allocator = allocator
        self.level = allocator.level

    def stats(self) -> MemoryStats:
        """Returns the current statistics."""
        stats = self._allocator.stats()
        return MemoryStats(
            in_use=stats.bytes_in_use,
            peak=stats.peak_bytes_in_use,
            requested=stats.requested_bytes,
            pool=stats.pool_bytes,
            limit=stats.bytes_limit,
            num_allocs=stats.num_allocs,
            largest_alloc=stats.largest_alloc_size,
            largest_free=stats.largest_free_chunk,
        )

    def reset_peak(self) -> None:
        """Sets the peak to the current use and resets the number of allocations, as TensorFlow's reset does."""
        self._allocator.clear_stats()

    def map(self) -> tuple[RegionView, ...]:
        """Returns regions and chunks."""
        return tuple(
            region._replace(chunks=tuple([_described(chunk) for chunk in region.chunks]))
            for region in self._allocator.snapshot()
        )

    def piece(self, allocation: object) -> Piece | None:
        """Returns where a chunk is; None if it has been freed."""
        if not isinstance(allocation, Chunk):
            return None
        block = allocation._block  # faster than its properties: views request very many pieces
        if not block.in_use:
            return None
        return Piece(block.region.number, block.address - block.region.address, block.size, block.requested)

    def trim(self) -> int:
        """Releases idle regions if memory grows with use; returns the number of bytes."""
        return self._allocator.trim() if self._allocator.growth else 0


def _described(chunk: ChunkView) -> ChunkView:
    """Returns a chunk whose label has file and line."""
    label = describe_label(chunk.label)
    return chunk if label is chunk.label else chunk._replace(label=label)
