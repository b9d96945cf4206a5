"""The blocks in use of the allocator in PyTorch, and the memory that `torch.cuda.empty_cache()` frees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nbtf._devices.lent import LENT
from nbtf._frameworks.base import Blocks

_PAGES = {"small": 2 << 20, "large": 20 << 20}
"""Bytes that an expandable segment maps at once. Source: kSmallBuffer and kLargeBuffer, CUDACachingAllocator.cpp."""

_SHARED_POOL = (0, 0)
"""The id of the pool that `empty_cache` releases; CUDA graphs have pools of their own."""


def blocks_of(snapshot: Iterable[Mapping[str, Any]], number: int) -> Blocks:
    """Returns the blocks of a card.

    Args:
      snapshot: result of `torch.cuda.memory_snapshot()`.
      number: number of the card.
    """
    sizes, releasable = dict[int, int](), 0
    for segment in snapshot:
        if segment["device"] == number:
            releasable += _releasable(segment)
            sizes |= {address: block["size"] for address, block in _placed(segment) if _is_in_use(block)}
    lent = next((card for card in LENT if card.library == "PyTorch" and card.memory.device == number), None)
    if lent is not None:  # arrays of simulated cards report addresses in this computer's memory
        sizes = {address: piece.nbytes for address, piece in lent.memory.pieces_by_host().items()}
    return Blocks(sizes, releasable)


def _placed(segment: Mapping[str, Any]) -> Iterable[tuple[int, Mapping[str, Any]]]:
    """Yields the blocks of a segment with their addresses, which older releases leave out."""
    address = segment["address"]
    for block in segment["blocks"]:
        yield address, block
        address += block["size"]


def _is_in_use(block: Mapping[str, Any]) -> bool:
    return block["state"] == "active_allocated"


def _releasable(segment: Mapping[str, Any]) -> int:
    """Returns how much of a segment is released: all of it or nothing, or the unused pages if it is expandable."""
    if tuple(segment.get("segment_pool_id", _SHARED_POOL)) != _SHARED_POOL:
        return 0
    if not segment.get("is_expandable"):
        return 0 if any(map(_is_in_use, segment["blocks"])) else segment["total_size"]
    page, start, releasable = _PAGES[segment["segment_type"]], segment["address"], 0
    free_from: int | None = start
    for address, block in [*_placed(segment), (start + segment["total_size"], None)]:
        if block is None or _is_in_use(block):
            if free_from is not None:
                first, last = -(-(free_from - start) // page), (address - start) // page
                releasable += max(0, last - first) * page
            free_from = None if block is None else address + block["size"]
    return releasable
