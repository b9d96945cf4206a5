"""What does PyTorch's allocator do with the history of a card? Replays requests, frees and uses by other streams."""

from __future__ import annotations

from typing import NamedTuple

from nbtf._devices.caching.blocks import Allocation, Block
from nbtf._devices.caching.replayed import ReplayAllocator
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._runtime.what_ifs import RefusedRequest
from nbtf._snapshots import snapshot
from nbtf._snapshots.charges import Flags
from nbtf._snapshots.history import History, is_prompt_free, program_releases
from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    FREE_REQUESTED,
    OOM,
)


class Outcome(NamedTuple):
    """The memory that a replay needed, in bytes; see `WhatIf`. Event numbers count from the first replayed."""

    events: int
    stopped: bool
    peak_allocated: int
    peak_reserved: int
    peak_event: int
    unallocated: int
    largest_free: int
    retries: int
    released: int
    refused: int
    refusal: RefusedRequest | None
    refused_stack: int
    granted_later: int
    """Requests that were refused when recorded, and fit now."""


class HistoryReplay:
    """Replays a history with other settings or on another card."""

    def __init__(
        self,
        history: History,
        settings: AllocatorSettings,
        total: int,
        *,
        stacks_left_out: Flags | None = None,
        keeps_layout: bool = False,
        addressable: int | None = None,
    ) -> None:
        """Places what was in memory before the first event.

        Args:
          history: what happened.
          settings: the allocator's settings.
          total: bytes of the card that the allocator may have.
          stacks_left_out: for each stack whether its allocations are left out, and for no stack.
          keeps_layout: whether memory from before the first event stays at its recorded place; otherwise it is
            requested again, by address.
          addressable: bytes of the card for which expandable segments reserve addresses; None for `total`.
        """
        self.history, self.allocator = history, ReplayAllocator(total, settings, addressable)
        self._live: dict[int, Allocation | None] = {}
        self._elsewhere: dict[int, Block] = {}
        self._left_out = stacks_left_out
        self._peak = (-1, -1, -1, 0)
        """The most memory reserved and the most then in use, after which event that was, and the largest free block."""
        self._refusal: RefusedRequest | None = None
        self._refused_stack = -1
        self._refused = self._granted_later = 0
        self.stopped = not (self._keep_layout() if keeps_layout else self._request_beginning())
        self.allocator.reset_accumulated_stats()
        self.allocator.reset_peak_stats()
        self._note_peak(-1)

    def _keep_layout(self) -> bool:
        """Places the beginning as it was recorded; returns whether it fits on the card."""
        allocator, beginning = self.allocator, self.history.beginning
        self._live.update(allocator.lay_out(beginning))
        for segment in beginning:
            for block in segment.blocks:
                self._mark(block)
        allowed = min(allocator.total, allocator.allowed or allocator.total)
        if allocator.reserved > allowed:
            allocator.empty_cache()
        if allocator.reserved > allowed:
            self._refuse(-1, allocator.reserved - allowed, -1)
        return allocator.reserved <= allowed

    def _request_beginning(self) -> bool:
        """Requests the memory of the beginning again; returns whether it fits on the card."""
        for segment in self.history.beginning:
            for block in segment.blocks:
                if block.state == "inactive" or self._is_left_out(block.stack):
                    continue
                allocation = self._request(-1, block.requested or block.size, segment.stream, block.stack)
                if self._refusal is not None:
                    return False
                self._live[block.address] = allocation
                self._mark(block)
        return True

    def _mark(self, block: snapshot.Block) -> None:
        """Removes a block of the beginning that is left out, and notes one that only another stream uses."""
        allocation = self._live.get(block.address)
        if allocation is not None and self._is_left_out(block.stack):
            self.allocator.free(self._live.pop(block.address))
        elif allocation is not None and block.state not in ("active_allocated", "inactive"):
            self._free_later(block.address)

    def _is_left_out(self, stack: int) -> bool:
        return self._left_out is not None and bool(self._left_out[stack])

    # Events

    def run(self) -> Outcome:
        """Replays all events, or those before a refused request that was granted when recorded."""
        trace, events = self.history.trace, 0
        if not self.stopped:
            events = len(trace)
            is_prompt, releases = is_prompt_free(trace), program_releases(self.history)
            columns = (trace.action, trace.address, trace.size, trace.stream, is_prompt, releases)
            for event, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
                if not self._do(event, *row):
                    self.stopped, events = True, event
                    break
        self._finish()
        return self._outcome(events)

    def _do(
        self, event: int, action: int, address: int, size: int, stream: int, is_prompt: bool, is_release: bool
    ) -> bool:
        """Repeats an event; returns whether the program goes on."""
        if action == ALLOC:
            if self._left_out is not None and self._is_left_out(int(self.history.trace.stack[event])):
                self._live.pop(address, None)
                return True
            self._live[address] = allocation = self._request(event, size, stream, -2)
            return allocation is not None or size <= 0
        if action == FREE_COMPLETED:
            block = self._elsewhere.pop(address, None)
            if block is not None:
                self.allocator.end_other_use(block)
            else:
                self.allocator.free(self._live.pop(address, None))
        elif action == FREE_REQUESTED:
            if not is_prompt:
                self._free_later(address)
        elif action == OOM:
            self._repeat_refused(event, size, stream)
        elif is_release:
            self.allocator.empty_cache()
        return True

    def _free_later(self, address: int) -> None:
        """Frees memory that another stream still uses."""
        allocation = self._live.pop(address, None)
        block = None if allocation is None else self.allocator.free_after_other_use(allocation)
        if block is not None:
            self._elsewhere[address] = block

    def _repeat_refused(self, event: int, size: int, stream: int) -> None:
        """Repeats a request that was refused when recorded; if it fits now, it is freed at once."""
        stack = int(self.history.trace.stack[event])
        if not self._is_left_out(stack) and self._request(event, size, stream, stack) is not None:
            self._granted_later += 1

    def _request(self, event: int, size: int, stream: int, stack: int) -> Allocation | None:
        """Returns new memory; None if it does not fit, or if the size is 0."""
        allocator = self.allocator
        try:
            allocation = allocator.allocate(size, stream)
        except OutOfDeviceMemory:
            self._refuse(event, size, int(self.history.trace.stack[event]) if stack == -2 else stack)
            return None
        self._note_peak(event)
        return allocation

    def _note_peak(self, event: int) -> None:
        allocator = self.allocator
        level = allocator.reserved, allocator.active
        if level > self._peak[:2]:
            self._peak = *level, event, allocator.largest_free

    def _refuse(self, event: int, size: int, stack: int) -> None:
        self._refused += 1
        if self._refusal is not None:
            return
        allocator = self.allocator
        free = allocator.free_bytes
        if allocator.allowed is not None:
            free = max(0, min(free, allocator.allowed - allocator.reserved))
        unallocated = allocator.reserved - allocator.active
        cause = "fragmentation" if size <= free + unallocated else "full"
        self._refusal = RefusedRequest(event, size, "", cause, free, unallocated, allocator.largest_free)
        self._refused_stack = stack

    def _finish(self) -> None:
        """Is called after the last event."""

    def _outcome(self, events: int) -> Outcome:
        figures, (reserved, active, event, largest_free) = self.allocator.figures, self._peak
        return Outcome(
            events,
            self.stopped,
            figures["peak_allocated"],
            max(reserved, figures["peak_reserved"]),
            event,
            reserved - active,
            largest_free,
            figures["retries"],
            figures["releases"],
            self._refused,
            self._refusal,
            self._refused_stack,
            self._granted_later,
        )
