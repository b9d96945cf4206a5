"""Where on the card is a PyTorch tensor stored? The rules of its caching allocator, without the card."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Piece
from nbtf._devices.bfc.pool import Driver
from nbtf._devices.caching import statistics as count
from nbtf._devices.caching.blocks import MIN_BLOCK, SMALL, Allocation, Block, Death, Pool, rounded, segment_size
from nbtf._devices.caching.history import History
from nbtf._devices.caching.report import MemoryFigures, OutOfDeviceMemory, segments_of
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.caching.statistics import flat
from nbtf._devices.caching.telling import TellingSegments

# Source of every rule in this file: c10/cuda/CUDACachingAllocator.cpp, shortly before and after PyTorch 2.13.


class CachingAllocator(TellingSegments):
    """The memory of one card, as PyTorch manages it.

    An allocation may die at any moment, even while this thread is inside `allocate`. Its death therefore only appends
    to a deque. The frees are done in order before any other operation, so every figure includes them.

    Its decisions were compared with real cards. The histories in 18 public memory snapshots of training and inference
    (1.6 to 59 GiB) were replayed with the driver's addresses. 17 are equal in all 77,967 addresses, in all segments and
    in the bytes at the end. One differs from its 179th event on, perhaps because its start is not exactly known. To
    repeat this with your own snapshots, run `python -m tests.devices.replay_snapshots FOLDER`.

    Some behaviour was not compared with a card. The choice between free blocks of equal size depends on the driver's
    addresses; here every segment has a higher address than those before it. Work on another stream finishes here before
    the next request. CUDA's context and libraries need memory as well (see `fixed_parts`). The order in which garbage
    is collected may differ. CUDA graphs, `torch.cuda.MemPool` and memory shared with other processes are not supported.

    >>> allocator = CachingAllocator(16 << 30)
    >>> weights = allocator.allocate(3 << 20)
    >>> allocator.allocated >> 20, allocator.reserved >> 20
    (3, 20)
    """

    def __init__(self, card: int | Driver, settings: AllocatorSettings | None = None, *, device: int = 0) -> None:
        """Creates an allocator that has not reserved any memory yet.

        Args:
          card: the card's memory in bytes, or its driver if other allocators use it as well.
          settings: such as `AllocatorSettings.parse` returns; PyTorch's defaults if None.
          device: number of the card, for texts and snapshots.
        """
        super().__init__(Driver(card) if isinstance(card, int) else card, settings or AllocatorSettings())
        self.card.pools.add(self)
        self.device = device
        self._pending: deque[Death] = deque()
        self._at_death = self._pending.append

    def allocate(self, nbytes: int, stream: int = 0, label: Any = None) -> Allocation | None:
        """Allocates memory.

        Args:
          nbytes: number of bytes.
          stream: stream that uses it; memory freed on one stream does not serve another.
          label: description of the memory.

        Returns:
          The allocation. None if `nbytes` is 0; then nothing is counted.

        Raises:
          OutOfDeviceMemory: if the card has too little memory even after the cache was released.
        """
        if nbytes <= 0:
            return None
        allocation = Allocation(nbytes, stream, label, self._at_death)
        try:
            with self._lock, self.card.lock:
                failure = self._after_frees(self._grant, allocation)
            if failure is None:
                return allocation
        except BaseException:  # after an interrupt, the traceback keeps this frame alive
            del allocation
            raise
        raise OutOfDeviceMemory(failure)

    def allocate_or_none(self, nbytes: int) -> Allocation | None:
        """Returns an allocation; None if the card has too little memory."""
        try:
            return self.allocate(nbytes)
        except OutOfDeviceMemory:
            return None

    def fresh(self, total: int | None = None) -> CachingAllocator:
        """Returns an unused allocator with the same settings, on its own card, of another size if `total` is given."""
        card = self.total - self.mapped_by_others if total is None else total
        allocator = CachingAllocator(card, self.settings, device=self.device)
        allocator.memory_fraction = self.memory_fraction
        return allocator

    def free(self, allocation: Allocation | None) -> None:
        """Frees memory. Any thread may call it at any time; freeing twice has no effect."""
        if allocation is not None:
            self._pending.append(allocation._death)

    def record_stream(self, allocation: Allocation, stream: int) -> None:
        """Records that another stream uses memory, which is then reused only after that stream's work is done."""
        with self._lock:
            self._do_frees()
            block = allocation._death.block
            if block is not None and stream not in (block.stream, *block.streams):
                block.streams = (*block.streams, stream)

    def empty_cache(self) -> int:
        """Releases idle segments to the card, as `torch.cuda.empty_cache()` does; returns the number of bytes."""
        with self._lock, self.card.lock:
            reserved = self.reserved
            self._after_frees(self._synchronize_and_release)
            return reserved - self.reserved

    def set_memory_fraction(self, fraction: float) -> None:
        """Limits this process to a fraction of the card; 1 allows all of it.

        Raises:
          ValueError: if the fraction is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"invalid fraction:{fraction}. Please set within [0, 1].")
        self.memory_fraction = fraction

    @property
    def allocated(self) -> int:
        """Bytes in use, each allocation rounded up to the size that is charged."""
        return self.level()[0]

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes of all segments."""
        if self._pending:
            with self._lock:
                self._do_frees()
        return self._statistics.current(count.ALLOCATED_BYTES), self.reserved

    def stats(self) -> dict[str, int]:
        """Returns the current statistics, with the keys of `torch.cuda.memory_stats()`."""
        return flat(self.nested_stats())

    def nested_stats(self) -> dict[str, Any]:
        """Returns the current statistics, nested as in `torch.cuda.memory_stats_as_nested_dict()`."""
        with self._lock:
            self._do_frees()
            unlimited = self.settings.max_split_size == AllocatorSettings().max_split_size
            return self._statistics.nested(-1 if unlimited else self.settings.max_split_size)

    def reset_peak_stats(self) -> None:
        """Sets every peak to the current value."""
        with self._lock:
            self._do_frees()
            self._statistics.reset_peaks()

    def reset_accumulated_stats(self) -> None:
        """Resets the accumulated figures (bytes allocated and freed, retries, errors) to 0."""
        with self._lock:
            self._do_frees()
            self._statistics.reset_accumulated()

    def snapshot(self) -> list[dict[str, Any]]:
        """Returns all segments with their blocks by address, in the format of `torch.cuda.memory_snapshot()`."""
        with self._lock:
            self._do_frees()
            free = [entry[-1] for pool in (self._small, self._large) for entry in pool.blocks]
            blocks = [block for block in self._held if block.allocated]
            frames = None if self.history is None else self.history.frames_at
            return segments_of([*free, *blocks, *self._waiting], self.device, frames)

    def record_history(self, history: History | None) -> None:
        """Starts a history, or stops recording if it is None; the events of a stopped history can still be read."""
        with self._lock:
            self._do_frees()
            if history is not None:
                self.history = history
            elif self.history is not None:
                self.history.is_recording = False

    def trace(self) -> list[dict[str, Any]]:
        """Returns the recorded events, in the format of `device_traces` in a snapshot."""
        with self._lock:
            self._do_frees()
            return [] if self.history is None else self.history.trace()

    # Granting

    def _grant(self, allocation: Allocation) -> MemoryFigures | None:
        """Gives an allocation its block; returns the figures for the error if none is available."""
        self._free_used_elsewhere()
        size = rounded(allocation.requested, self.settings)
        pool = self._small if size <= SMALL else self._large
        block = self._best_fit(pool, size, allocation.stream) or self._take_more(pool, size, allocation.stream)
        if block is None:
            self._statistics.values[count.OOMS] += 1
            self._write_refusal(allocation.requested, allocation.label)
            self._trace("oom", self.free_bytes, segment_size(size, self.settings), allocation.stream)
            return self._figures(segment_size(size, self.settings))
        block = self._split(block, size)
        block.allocated, block.requested, block.label = True, allocation.requested, allocation.label
        self._statistics.grant(pool.is_small, block.size, block.requested)
        if block.size >= self.settings.max_split_size:
            self._statistics.add(count.OVERSIZE_ALLOCATIONS, False, 1)
        allocation.address, allocation.size, death = block.address, block.size, allocation._death
        self._held[block] = None
        self._undo.append((setattr, death, "block", None))
        death.block = block
        if self._journal is not None:
            self._write("granted", block, self._statistics.current(count.ALLOCATED_BYTES), self.reserved)
        if self.history is not None:
            self._trace("alloc", block.address, block.requested, block.stream)
        return None

    def _best_fit(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Removes the smallest free block that is large enough from its pool; None if no block is."""
        settings, blocks = self.settings, pool.blocks
        if settings.garbage_collection_threshold and self.allowed is not None:
            pool.searches += 1
        at = bisect_left(blocks, (stream, size))
        if at < len(blocks) and blocks[at][-1].segment is not None:
            at = self._least_expandable(blocks, at, stream)
        if at == len(blocks) or blocks[at][0] != stream:
            return None
        block = blocks[at][-1]
        if size < settings.max_split_size <= block.size:
            return None
        if size >= settings.max_split_size and block.size >= size + settings.max_non_split_rounding:
            return None
        self._remove(blocks, at)
        return block

    def _least_expandable(self, blocks: list[tuple[int, int, int, Block]], at: int, stream: int) -> int:
        """Returns the index of the block to use; a block that can grow counts with the size it could reach."""
        while at + 1 < len(blocks) and blocks[at + 1][0] == stream and blocks[at][-1].segment is not None:
            if self.settings.expandable_segments and _room(blocks[at + 1][-1]) >= _room(blocks[at][-1]):
                break
            at += 1
        is_refused = blocks[at][-1].segment is not None and not self.settings.expandable_segments
        return len(blocks) if is_refused else at

    def _take_more(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Requests memory from the card, and again after releasing the cache; None if that fails as well."""
        if self.settings.garbage_collection_threshold and self.allowed is not None:
            self._collect_garbage()
        block = self._new_segment(pool, size, stream)
        is_limited = self.settings.max_split_size != AllocatorSettings().max_split_size
        if block is None and is_limited and self._release_oversize(pool, size, stream):
            block = self._new_segment(pool, size, stream)
        if block is None:
            self._synchronize_and_release()
            self._statistics.values[count.RETRIES] += 1
            block = self._new_segment(pool, size, stream)
        return block

    def _split(self, block: Block, size: int) -> Block:
        """Returns a part of `size` bytes and frees the rest; returns the whole block if the rest would be small."""
        is_split = block.is_split
        if not self._is_worth_splitting(block, size):
            self._keep(block)
            if is_split:
                self._count_split(block, -1, -block.size)
            return block
        piece = Block(block.pool, block.stream, block.address, size, block.segment)
        self._link(block.prev, piece, block)
        block.address += size
        block.size -= size
        self._add_free(block)
        if is_split:
            self._count_split(block, 0, -size)
        else:
            self._count_split(block, 1, block.size)
        return piece

    def _is_worth_splitting(self, block: Block, size: int) -> bool:
        remainder = block.size - size
        if block.pool.is_small or self.settings.expandable_segments:
            return remainder >= MIN_BLOCK
        return size < self.settings.max_split_size and remainder > SMALL

    def pieces_by_host(self) -> dict[int, Piece]:
        """Returns the pieces in use by their address in host memory; searches all Python objects for them."""
        living = [each for each in gc.get_objects() if type(each) is Allocation and each.host]
        hosts = {each._death.block: each.host for each in living}
        with self._lock:
            self._do_frees()
            located = self._located([block for block in self._blocks_in_use() if block in hosts])
            return {
                hosts[block]: Piece(region.number, block.address - region.address, block.size, block.requested)
                for region, block in located
            }

    def _figures(self, tried: int) -> MemoryFigures:
        return MemoryFigures(
            tried=tried,
            device=self.device,
            total=self.total,
            free=self.free_bytes,
            in_process=self.mapped_by_others + self.reserved,
            allowed=self.allowed,
            allocated=self._statistics.current(count.ALLOCATED_BYTES),
            reserved=self.reserved,
        )

    # Freeing

    def _do_frees(self) -> None:
        """Performs the pending frees in the order in which they arrived."""
        if self._pending:
            self._after_frees()

    def _after_frees(self, change: Callable[..., Any] | None = None, *arguments: Any) -> Any:
        """Performs the pending frees in the order in which they arrived, and then a change; both or neither."""
        pending = self._pending
        deaths = [pending[at] for at in range(len(pending))]  # an iterator would not allow other threads to add to it
        result = self._all_or_none(self._end_all_and, deaths, change, arguments)
        while pending and getattr(pending[0], "block", None) is None:
            del pending[0]
        return result

    def _end_all_and(self, deaths: list[Death], change: Callable[..., Any] | None, arguments: Any) -> Any:
        for death in deaths:
            block = getattr(death, "block", None)  # the block is missing after an interrupt
            if block is not None:
                self._end_use(death, block)
        return None if change is None else change(*arguments)

    def _end_use(self, death: Death, block: Block) -> None:
        """Removes a block from its allocation. It becomes free now, or once other streams no longer use it."""
        self._keep(block)
        self._undo.append((setattr, death, "block", block))
        death.block = None
        self._undo.append((self._held.__setitem__, block, None))
        del self._held[block]
        self._statistics.end_use(block.pool.is_small, block.size)
        if block.size >= self.settings.max_split_size:
            self._statistics.add(count.OVERSIZE_ALLOCATIONS, False, -1)
        if self._journal is not None:
            self._write("freed", block, self._statistics.current(count.ALLOCATED_BYTES), self.reserved)
        if self.history is not None:
            self._trace("free_requested", block.address, block.requested, block.stream)
        block.allocated, block.label = False, None
        if block.streams:
            self._keep_list(self._waiting)
            self._waiting.append(block)
        else:
            self._free_block(block)

    def _free_used_elsewhere(self) -> None:
        """Frees blocks that other streams have used; on a simulated card, their work is done."""
        if self._waiting:
            self._keep_list(self._waiting)
            for block in self._waiting:
                self._keep(block)
                block.streams = ()
                self._free_block(block)
            self._waiting.clear()

    def _free_block(self, block: Block) -> None:
        """Frees a block and merges it with free neighbours."""
        is_small, size = block.pool.is_small, block.size
        if self.history is not None:
            self._trace("free_completed", block.address, block.requested, block.stream)
        merged_low, merged_high = self._merge(block, block.prev), self._merge(block, block.next)
        self._add_free(block)
        self._statistics.end_activity(is_small, size, block.requested)
        neighbours = (merged_low > 0) + (merged_high > 0)
        if block.is_split:
            self._count_split(block, 1 - neighbours, size)
        else:
            self._count_split(block, -neighbours, -merged_low - merged_high)

    def _synchronize_and_release(self) -> None:
        self._statistics.values[count.SYNCHRONIZED] += 1
        self._free_used_elsewhere()
        self._release_idle()

    # Counting

    def _count_split(self, block: Block, blocks: int, nbytes: int) -> None:
        """Counts free pieces that cannot be released alone; pages of expandable segments can, so they do not count."""
        if block.segment is None:
            if blocks:
                self._statistics.add(count.INACTIVE_SPLIT, block.pool.is_small, blocks)
            if nbytes:
                self._statistics.add(count.INACTIVE_SPLIT_BYTES, block.pool.is_small, nbytes)


def _room(block: Block) -> int:
    """Returns the size that a free block could reach by mapping the block after it."""
    following = block.next
    return block.size + (following.size if following is not None and not following.mapped else 0)
