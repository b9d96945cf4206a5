"""TensorFlow's own allocator on a real card. With `NBTF_GPU_ALLOCATOR=bfc`, real GPUs have a memory map."""

from __future__ import annotations

import gc
import threading
from typing import Any

from nbtf._devices.base import Label, Piece, describe_label
from nbtf._devices.bfc.allocator import BFCAllocator, Driver
from nbtf._devices.bfc.chunks import Chunk, Region
from nbtf._devices.bfc.memory import BFCMemory
from nbtf._devices.cuda.errors import is_out_of_memory
from nbtf._devices.cuda.memory import Plan, Purpose


class RealDriver(Driver):
    """Memory of a real card, requested one region at a time with its device current."""

    def __init__(self, cupy: Any) -> None:
        """Requests memory from CuPy, which requests it from CUDA."""
        super().__init__(0)
        self._make = cupy.cuda.Memory
        self.granted: Any = None

    def request(self, nbytes: int) -> bool:
        """Reserves memory on the card and returns whether that worked; it is released with the last reference."""
        try:
            self.granted = self._make(nbytes)
        except Exception as error:
            if is_out_of_memory(error):
                return False
            raise
        return True


class RegionAllocator(BFCAllocator):
    """The allocator of simulated GPUs, with real addresses."""

    def __init__(self, limit: int, driver: RealDriver, plan: Plan, name: str) -> None:
        """Creates an allocator that has reserved nothing yet."""
        collects = plan.collects
        super().__init__(limit, growth=not plan.preallocate, garbage_collection=collects, driver=driver, name=name)
        self._real = driver
        self.memories: dict[int, Any] = {}

    def _map(self, size: int, next_region: int) -> None:
        """Adds a region at the address that the driver returned."""
        memory, self._real.granted = self._real.granted, None
        self._next_address = memory.ptr
        self.memories[self._regions_made] = memory
        super()._map(size, next_region)

    def _drop(self, idle: list[Region]) -> int:
        """Releases regions; arrays that are still inside a region keep it alive."""
        nbytes = super()._drop(idle)
        for region in idle:
            self.memories.pop(region.number, None)
        return nbytes


class RegionMemory(BFCMemory):
    """Gives CuPy pieces of its regions."""

    def __init__(self, cupy: Any, ordinal: int, limit: int, plan: Plan, name: str) -> None:
        """Creates an allocator for a device, which must be current."""
        self.allocator = RegionAllocator(limit, RealDriver(cupy), plan, name)
        super().__init__(self.allocator)
        self.name = name
        self._ordinal = ordinal
        self._pointer = cupy.cuda.MemoryPointer
        self._unowned: Any = cupy.cuda.UnownedMemory
        self._lies_in: type[Any] = type("MemoryOfChunk", (cupy.cuda.UnownedMemory,), {"chunk": None})
        self._error = cupy.cuda.memory.OutOfMemoryError
        self._for = threading.local()

    def allocate(self, nbytes: int) -> Any:
        """Returns a pointer whose memory returns to the allocator when the last array in it dies.

        Like CuPy's pool, it runs the garbage collector before it fails.
        """
        if nbytes <= 0:
            return self._pointer(self._unowned(0, 0, None, self._ordinal), 0)
        allocator = self.allocator
        chunk = allocator.allocate(nbytes)
        if chunk is None:
            gc.collect()
            chunk = allocator.allocate(nbytes)
        if chunk is None:
            raise self._error(nbytes, allocator.level()[1], allocator.limit)
        owner = chunk, allocator.memories[chunk.region]
        memory = self._lies_in(chunk._block.address, chunk.size, owner, self._ordinal)
        memory.chunk = chunk
        return self._pointer(memory, 0)

    def charge(self, array: Any, purpose: Purpose) -> Any:
        """Returns the chunk that contains an array, after labelling it with its purpose."""
        chunk = getattr(array.data.mem, "chunk", None) if array.nbytes else None
        if chunk is not None:
            chunk._block.label = purpose.label(array.dtype, array.shape)
        return chunk

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns the pieces in use with their labels; the label is None for a kernel's temporary memory."""
        held_pieces: list[tuple[Piece, Label | None]] = []
        for region in self.allocator.snapshot():
            for chunk in region.chunks:
                if chunk.in_use:
                    label: Any = describe_label(chunk.label)
                    held_pieces.append((Piece(region.region, chunk.offset, chunk.size, chunk.requested), label))
        return held_pieces

    def piece(self, allocation: object) -> Piece | None:
        """Returns where a chunk is; None if it has been freed."""
        return super().piece(allocation) if isinstance(allocation, Chunk) else None

    def close(self) -> None:
        """Releases idle regions; regions with arrays are released with the last array."""
        self.allocator.trim()
