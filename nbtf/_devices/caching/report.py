"""PyTorch's memory reports: the snapshot of its segments, and the text of its out-of-memory error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nbtf._devices.caching.blocks import Block

_EXBIBYTE = 1 << 60


class MemoryFigures(NamedTuple):
    """The state when a request failed, in bytes. `allowed` is None if no fraction was set."""

    tried: int
    device: int
    total: int
    free: int
    in_process: int
    allowed: int | None
    allocated: int
    reserved: int


class OutOfDeviceMemory(Exception):  # noqa: N818  # named like PyTorch's OutOfMemoryError, which is made from it
    """A request that does not fit on the card. Its text is that of `torch.OutOfMemoryError`."""

    def __init__(self, figures: MemoryFigures) -> None:
        """Stores the figures and formats them as the error's text."""
        super().__init__(out_of_memory(figures))
        self.figures = figures


def out_of_memory(figures: MemoryFigures) -> str:
    """Returns PyTorch's error text for figures.

    Source: DeviceCachingAllocator::malloc, c10/cuda/CUDACachingAllocator.cpp. The versions before and after PyTorch
    2.13 both contain `PYTORCH_CUDA_ALLOC_CONF` and this address.
    """
    if figures.tried > _EXBIBYTE:
        return "CUDA out of memory. Tried to allocate more than 1EB memory."
    allowed = "" if figures.allowed is None else f"{format_size(figures.allowed)} allowed; "
    return (
        f"CUDA out of memory. Tried to allocate {format_size(figures.tried)}. GPU {figures.device} has a total "
        f"capacity of {format_size(figures.total)} of which {format_size(figures.free)} is free. Including "
        f"non-PyTorch memory, this process has {format_size(figures.in_process)} memory in use. {allowed}Of the "
        f"allocated memory {format_size(figures.allocated)} is allocated by PyTorch, and "
        f"{format_size(figures.reserved - figures.allocated)} is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
        "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
    )


def format_size(nbytes: int) -> str:
    """Returns a size as PyTorch's allocator writes it.

    >>> format_size(1024), format_size(1536), format_size(20 << 20), format_size(2 << 30)
    ('1024 bytes', '1.50 KiB', '20.00 MiB', '2.00 GiB')

    Source: format_size, c10/core/CachingDeviceAllocator.cpp and earlier CUDACachingAllocator.cpp.
    """
    if nbytes <= 1 << 10:
        return f"{nbytes} bytes"
    if nbytes <= 1 << 20:
        return f"{nbytes / (1 << 10):.2f} KiB"
    if nbytes <= 1 << 30:
        return f"{nbytes / (1 << 20):.2f} MiB"
    return f"{nbytes / (1 << 30):.2f} GiB"


ReadFrames = Callable[[int], list[dict[str, Any]]]
"""Returns the call stack of the allocation at an address."""


def segments_of(blocks: Sequence[Block], device: int, read_frames: ReadFrames | None = None) -> list[dict[str, Any]]:
    """Returns the segments that contain these blocks, in the format of `torch.cuda.memory_snapshot()`, by address."""
    heads: dict[int, Block] = {}
    for block in blocks:
        while block.prev is not None and block.prev.mapped:
            block = block.prev
        heads[block.address] = block
    return [_segment(heads[address], device, read_frames) for address in sorted(heads)]


def _segment(head: Block, device: int, read_frames: ReadFrames | None) -> dict[str, Any]:
    blocks: list[Block] = []
    block: Block | None = head
    while block is not None and block.mapped:
        blocks.append(block)
        block = block.next
    active = [block for block in blocks if block.is_active]
    return {
        "device": device,
        "address": head.address,
        "total_size": sum(block.size for block in blocks),
        "allocated_size": sum(block.size for block in blocks if block.allocated),
        "active_size": sum(block.size for block in active),
        "requested_size": sum(block.requested for block in active),
        "stream": head.stream,
        "segment_type": "small" if head.pool.is_small else "large",
        "segment_pool_id": (0, 0),
        "is_expandable": head.segment is not None,
        "frames": [],
        "blocks": [_block(block, read_frames) for block in blocks],
    }


def _block(block: Block, read_frames: ReadFrames | None) -> dict[str, Any]:
    state = "active_allocated" if block.allocated else "active_pending_free" if block.is_active else "inactive"
    return {
        "address": block.address,
        "size": block.size,
        "requested_size": block.requested,
        "state": state,
        "frames": read_frames(block.address) if read_frames is not None and block.allocated else [],
    }
