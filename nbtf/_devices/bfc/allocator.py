"""Where on the card is a tensor stored? TensorFlow's BFC allocator (best fit with coalescing), without the card."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices.bfc.chunks import Block, Chunk, Hole, bin_of
from nbtf._devices.bfc.pool import Driver as Driver
from nbtf._devices.bfc.pool import Pool
from nbtf._devices.bfc.report import RegionView, dump, picture, views
from nbtf._devices.journal import Box, Journal, JournalKeeper

# Source of every rule, constant and text in this file: bfc_allocator.h and .cc of TensorFlow 2.21.
_DEFAULT_SPLIT = 128 << 20
_COLLECTED = (
    "Garbage collection: deallocate free memory regions (i.e., allocations) so that we can re-allocate a larger "
    "region to avoid OOM due to memory fragmentation. If you see this message frequently, you are running near the "
    "threshold of the available device memory and re-allocation may incur great performance overhead. You may try "
    "smaller batch sizes to observe the performance impact. Set TF_ENABLE_GPU_GARBAGE_COLLECTION=false if you'd like "
    "to disable this feature."
)


class AllocatorStats(NamedTuple):
    """TensorFlow's allocator statistics in bytes, and two of ours: bytes requested and largest free chunk."""

    num_allocs: int
    bytes_in_use: int
    peak_bytes_in_use: int
    largest_alloc_size: int
    bytes_limit: int
    pool_bytes: int
    peak_pool_bytes: int
    requested_bytes: int
    largest_free_chunk: int


class BFCAllocator(JournalKeeper, Pool):
    """The memory of one logical GPU.

    The free blocks of all bins are in one list, sorted by size and then by address. TensorFlow searches bin after bin,
    in this order within each bin, and so finds the first block of this list that is large enough.

    A chunk may die at any moment, even while this thread is inside `allocate`. Its death therefore only appends to a
    deque. The frees are done in order before any other operation, so every figure includes them.

    An interrupt may come at any instruction. Changes of lists and links are therefore prepared first, and then made in
    a block that can run again from its start. An interrupted block runs again, and then the interrupt is raised. If a
    finalizer, run by the garbage collector, uses the allocator in between, `_changes` reveals it.
    """

    def __init__(
        self,
        limit: int,
        *,
        growth: bool = False,
        garbage_collection: bool = True,
        fragmentation_fraction: float = 0.0,
        driver: Driver | None = None,
        name: str = "GPU_0_bfc",
    ) -> None:
        """Creates an allocator that has mapped nothing yet.

        Args:
          limit: maximum number of bytes that it may map.
          growth: map memory as it is needed, instead of the whole limit at the first allocation.
          garbage_collection: release idle regions when a larger one is needed.
          fragmentation_fraction: split a block if this fraction of the limit would be wasted; 0 means 128 MiB.
          driver: card whose memory it maps; by default, memory is unlimited.
          name: name in error messages and in the dump.
        """
        super().__init__(limit, growth, driver)
        self.name = name
        self._garbage_collection = garbage_collection
        self._warns = True
        self._split_at = int(fragmentation_fraction * limit) if fragmentation_fraction > 0 else _DEFAULT_SPLIT
        self._pending: deque[Block] = deque()
        self._at_death = self._pending.append
        self._num_allocs = self._largest_alloc = 0
        self._in_use = self._peak = self._requested = 0
        self._journal: Journal | None = None
        self._entries: list[Any] = []

    def allocate(self, nbytes: int, label: object = None) -> Chunk | None:
        """Allocates memory.

        Args:
          nbytes: number of bytes. A multiple of 256 is charged, sometimes more (less than twice, or 128 MiB).
          label: description of the memory for `snapshot`.

        Returns:
          The chunk. None if it does not fit or `nbytes` is 0; then nothing is counted.
        """
        if nbytes <= 0:
            return None
        need = (nbytes + 255) & -256
        while True:
            with self._lock:
                if self._pending:
                    chunk = self._reuse(need, nbytes, label)
                    if chunk is not None:
                        return chunk
                    self._do_frees()
                at = bisect_left(self._free, (need,))
                if at < len(self._free):
                    chunk = self._take(at, need, nbytes, label)
                    if chunk is None:
                        continue
                    return chunk
            if not self._make_room(need):
                self.refuse(nbytes, label)
                return None

    def free(self, chunk: Chunk) -> None:
        """Frees a chunk. Any thread may call it at any time; freeing twice has no effect."""
        self._pending.append(chunk._block)

    def stats(self) -> AllocatorStats:
        """Returns the current statistics."""
        with self._lock:
            self._do_frees()
            return AllocatorStats(
                num_allocs=self._num_allocs,
                bytes_in_use=self._in_use,
                peak_bytes_in_use=self._peak,
                largest_alloc_size=self._largest_alloc,
                bytes_limit=self.limit,
                pool_bytes=self._pool,
                peak_pool_bytes=self._peak_pool,
                requested_bytes=self._requested,
                largest_free_chunk=self._free[-1][0] if self._free else 0,
            )

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes mapped, as `stats` does, ten times faster."""
        if self._pending:
            with self._lock:
                self._do_frees()
        return self._in_use, self._pool

    def clear_stats(self) -> None:
        """Resets the number of allocations and sets the peak to the current use; the pool's peak remains."""
        with self._lock:
            self._do_frees()
            self._num_allocs = self._largest_alloc = 0
            self._peak = self._in_use

    def fragmentation(self) -> float | None:
        """Returns the fraction of free memory outside the largest free block; None if nothing is free."""
        with self._lock:
            self._do_frees()
            free = self._pool - self._in_use
            return (free - self._free[-1][0]) / free if free else None

    def bins(self) -> dict[int, tuple[int, ...]]:
        """Returns the sizes of the free chunks in each non-empty bin, in search order."""
        with self._lock:
            self._do_frees()
            sizes = [size for size, _, _ in self._free]
        bins: dict[int, tuple[int, ...]] = {}
        for size in sizes:
            bins[bin_of(size)] = (*bins.get(bin_of(size), ()), size)
        return bins

    def snapshot(self) -> tuple[RegionView, ...]:
        """Returns all regions with all their chunks, by address."""
        with self._lock:
            self._do_frees()
            return views(self._regions)

    def occupancy(self) -> str:
        """Returns TensorFlow's picture: 100 characters, `*` requested, `x` wasted by rounding, `_` free."""
        with self._lock:
            self._do_frees()
            return picture(self._regions)

    def report(self, nbytes: int, op: str = "") -> str:
        """Returns what TensorFlow 2.21 writes on stderr when an allocation of this size fails.

        Args:
          nbytes: size of the failed request.
          op: name of the requesting op.
        """
        with self._lock:
            self._do_frees()
            return dump(self, nbytes, op)

    def trim(self) -> int:
        """Releases idle regions to the card; returns the number of bytes."""
        with self._lock:
            self._do_frees()
            return self._drop([region for region in self._regions if region.is_idle()])

    def close(self) -> None:
        """Releases all memory to the card; chunks that are still held become invalid."""
        with self._lock:
            self._do_frees()
            entries, in_use, journal = [*self._entries], self._in_use, self._journal
            for block in [piece for region in self._regions for piece in region.blocks() if piece.in_use]:
                block.in_use = False
                in_use -= block.size
                if journal is not None:
                    number = journal.next_number()
                    piece = block.region, block.address, block.size, block.requested, block.label
                    entries += (journal.freed, number, in_use, 0, *piece)
            self._become(_regions=[], _free=[], _in_use=0, _requested=0, _pool=0, _entries=entries)

    def fresh(self, limit: int | None = None, growth: bool | None = None) -> BFCAllocator:
        """Returns an unused allocator with the same rules, on its own card; `limit` and `growth` may be others.

        It is for replays, so it logs nothing.
        """
        allocator = BFCAllocator(
            self.limit if limit is None else limit,
            growth=self.growth if growth is None else growth,
            garbage_collection=self._garbage_collection,
            name=self.name,
        )
        allocator._split_at, allocator._warns = self._split_at, False
        return allocator

    # The journal

    def keep_journal(self, journal: Journal | None) -> None:
        """Starts recording events, or stops if `journal` is None."""
        with self._lock:
            self._do_frees()
            self._become(_changes=self._changes + 1, _journal=journal, _entries=[])

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the entries recorded since the last call into boxes, if there are any."""
        if self._entries or self._pending:
            super().hand_over(boxes)

    def refuse(self, nbytes: int, label: object) -> None:
        """Records that a request has failed."""
        with self._lock:
            if self._journal is not None:
                number, largest = self._journal.next_number(), self._free[-1][0] if self._free else 0
                figures = self._in_use, self._pool, None, largest, self.limit, nbytes, label
                self._entries += (self._journal.refused, number, *figures)

    def _take(self, at: int, need: int, nbytes: int, label: object) -> Chunk | None:  # noqa: C901, PLR0915  # each call costs
        """Grants a part or all of the free block `at` as a new chunk; None if another thread was faster."""
        changes, free, count = self._changes, self._free, len(self._free)
        _, address, hole = free[at]
        previous, following, remainder = hole.prev, hole.next, hole.size - need
        chunk = Chunk()
        chunk._block = block = Block(chunk, self._at_death)
        block.in_use = False
        block.address, block.handle, block.region = address, hole.handle, hole.region
        block.requested, block.label = nbytes, label
        old, handles, first = self._old_handles, self._handles_made, at
        handle, written, entry, entries = 0, 0, None, None
        split = remainder >= need or remainder >= self._split_at
        if split:
            size, following, address = need, hole, address + need
            if old is None:
                handle, written, handles = handles, 0, handles + 1
            else:
                handle, written, old = old
            entry = (remainder, address, hole)
            # A smaller entry moves to the left, but usually not past its neighbour.
            if at and free[at - 1] > entry:
                first = bisect_left(free, entry, 0, at)
                entries = (entry, *free[first:at])
        else:
            size = hole.size
        block.size, block.prev, block.next = size, previous, following
        allocs, in_use, requested = self._num_allocs + 1, self._in_use + size, self._requested + nbytes
        journal, written_down, end, event = self._journal, self._entries, None, ()
        if journal is not None:
            end = slice(len(written_down), None)
            granted, _, _, next_number = journal
            event = granted, next_number(), in_use, self._pool, hole.region, block.address, size, nbytes, label
        interrupt = None
        if self._changes != changes:
            return None
        while True:
            try:  # can run again from its start: it adds nothing up, and no other code runs between its instructions
                self._changes = changes + 1
                if entry is None:
                    if len(free) == count:
                        del free[at]
                else:
                    hole.size, hole.address, hole.handle, hole.requested = remainder, address, handle, written
                    self._old_handles, self._handles_made = old, handles
                    if entries is None:
                        free[at] = entry
                    else:
                        free[first : at + 1] = entries
                previous.next = following.prev = block
                self._num_allocs, self._in_use, self._requested = allocs, in_use, requested
                if end is not None:
                    written_down[end] = event
                if in_use > self._peak:
                    self._peak = in_use
                if size > self._largest_alloc:
                    self._largest_alloc = size
                block.in_use = True
                if interrupt is None:
                    return chunk
                break
            except BaseException as error:
                if interrupt is not None:
                    raise
                interrupt = error
        try:
            raise interrupt
        finally:
            del interrupt, chunk  # the traceback keeps this frame alive

    def _reuse(self, need: int, nbytes: int, label: object) -> Chunk | None:  # noqa: C901, PLR0915  # each call costs
        """Frees the last pending block and grants its memory again, in less than half the time of both steps.

        Temporary results usually die just before an equally large one is requested. Returns None, and leaves the block
        pending, unless best fit would choose it and restore its neighbours.
        """
        pending, free = self._pending, self._free
        if len(pending) > 1:
            self._do_frees(1)
        try:
            changes, old = self._changes, pending[0]
            if not old.in_use or old.size != need or not old.prev.in_use or not self._split_at:
                return None
        except (AttributeError, IndexError):  # an interrupt came before the chunk was granted, or a finalizer freed it
            return None
        previous, following, address = old.prev, old.next, old.address
        at, merged = bisect_left(free, (need,)), (need, address)
        if not following.in_use:
            if at == len(free) or free[at][2] is not following:
                return None
            at, merged = at + 1, (need + following.size, address)
        if at < len(free) and free[at] < merged:
            return None
        chunk = Chunk()
        chunk._block = block = Block(chunk, self._at_death)
        block.in_use = False
        block.address, block.handle, block.region = address, old.handle, old.region
        block.requested, block.label = nbytes, label
        block.size, block.prev, block.next = need, previous, following
        allocs, requested = self._num_allocs + 1, self._requested + nbytes - old.requested
        journal, written_down, end, events = self._journal, self._entries, None, ()
        if journal is not None:
            end, in_use, pool, region = slice(len(written_down), None), self._in_use, self._pool, old.region
            granted, freed, _, next_number = journal
            events = freed, next_number(), in_use - need, pool, region, address, need, old.requested, old.label
            events = *events, granted, next_number(), in_use, pool, region, address, need, nbytes, label
        interrupt = None
        if self._changes != changes:
            return None
        while True:
            try:  # can run again from its start, as in `_take`
                self._changes = changes + 1
                previous.next = following.prev = block
                self._num_allocs, self._requested = allocs, requested
                if end is not None:
                    written_down[end] = events
                if need > self._largest_alloc:
                    self._largest_alloc = need
                old.in_use = False
                block.in_use = True
                if interrupt is None:
                    del pending[0]
                    return chunk
                break
            except BaseException as error:
                if interrupt is not None:
                    raise
                interrupt = error
        try:
            raise interrupt
        finally:
            del interrupt, chunk  # the traceback keeps this frame alive

    def _do_frees(self, left: int = 0) -> None:
        """Performs the pending frees in the order in which they arrived, except for the last `left`."""
        pending = self._pending
        while len(pending) > left:
            try:
                is_held = pending[0].in_use  # False if the chunk was freed before
            except AttributeError:
                is_held = False  # an interrupt came before the chunk was granted
            if not is_held or self._merge(pending[0]):
                del pending[0]

    def _merge(self, block: Block) -> bool:  # noqa: C901, PLR0915  # each call costs
        """Frees a block and merges it with free neighbours; returns False if another thread was faster."""
        changes, free, count = self._changes, self._free, len(self._free)
        previous, following = block.prev, block.next
        address, size = block.address, block.size
        handle, requested, old = block.handle, block.requested, self._old_handles
        low = high = -1
        if not following.in_use:
            low = bisect_left(free, (following.size, following.address))
            size += following.size
            old = (following.handle, following.requested, old)
            following = following.next
        if not previous.in_use:
            high = bisect_left(free, (previous.size, previous.address))
            if not 0 <= low < high:
                low, high = high, low  # `low` is the lower of two entries, or the only one
            size += previous.size
            old = (handle, requested, old)
            address, handle, requested = previous.address, previous.handle, previous.requested
            previous = previous.prev
        hole = Hole()
        hole.address, hole.size, hole.handle, hole.requested = address, size, handle, requested
        hole.prev, hole.next, hole.region, hole.in_use, hole.label = previous, following, block.region, False, None
        entry = (size, address, hole)
        at = bisect_left(free, entry)  # the new entry is larger than the two merged ones, so it comes after them
        entries = None
        if high > low:
            entries = (*free[low + 1 : high], *free[high + 1 : at], entry)
        elif low < 0:
            low, entries = at, (entry,)
        elif low + 1 < at:
            entries = (*free[low + 1 : at], entry)
        in_use, requests = self._in_use - block.size, self._requested - block.requested
        journal, written_down, end, event = self._journal, self._entries, None, ()
        if journal is not None:
            end = slice(len(written_down), None)
            _, freed, _, next_number = journal
            region, start, charged, requested_bytes = block.region, block.address, block.size, block.requested
            event = freed, next_number(), in_use, self._pool, region, start, charged, requested_bytes, block.label
        interrupt = None
        if self._changes != changes:
            return False
        while True:
            try:  # may run again from the start, as in `_take`
                self._changes = changes + 1
                previous.next = following.prev = hole
                if entries is None:
                    free[low] = entry
                elif len(free) == count:
                    free[low:at] = entries
                self._old_handles, self._in_use, self._requested = old, in_use, requests
                if end is not None:
                    written_down[end] = event
                block.in_use = False
                if interrupt is None:
                    return True  # it is freed
                break
            except BaseException as error:
                if interrupt is not None:
                    raise
                interrupt = error
        try:
            raise interrupt
        finally:
            del interrupt

    def _make_room(self, need: int) -> bool:
        """Maps a region with room for `need` bytes, after releasing idle ones if needed; returns whether it worked."""
        with self._lock:
            self._do_frees()
            if (self._free and self._free[-1][0] >= need) or self._extend(need):
                return True
            if not self._garbage_collection or not self._collect(need):
                return False
            extended = self._extend(need)
        if self._warns:
            import logging  # imported late: it takes 3 ms to load and is rarely needed

            logging.getLogger("tensorflow").warning(_COLLECTED)
        return extended
