"""How much does a simulated GPU charge to its card, and when? Which error does it raise when memory runs out?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, cast

from nbtf._devices import exhausted
from nbtf._devices.base import GPU, Label
from nbtf._devices.bfc.allocator import BFCAllocator, Driver
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.memory import BFCMemory
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.exhausted import Request
from nbtf._devices.freed_memory import give_freed_memory_back
from nbtf._devices.host_memory import available_bytes, is_too_much
from nbtf._devices.journal import Box, Journal
from nbtf._devices.names import full_name
from nbtf._locks import new_lock
from nbtf._types import as_dtype
from nbtf.errors import ResourceExhaustedError

# TensorFlow's own buffer, allocated just before the first op. Source: BaseGPUDevice::InitScratchBuffers, gpu_device.cc.
_SCRATCH = Label("scratch", "uint8", (1028,))
# Reading the computer's free memory takes 0.1 ms, too much for small requests. After a reading, a part of the free
# memory may be allocated for a while without another one.
WORTH_A_LOOK = 1 << 20
_LOOK_PART = 1 / 16
_LOOK_SECONDS = 0.1
_SURELY_FITS = 1 << 20
"""A card and a limit of this size have room for the scratch buffer, whatever is requested later."""


class MemoryPlan(NamedTuple):
    """The rules of an allocator that has not been needed yet; see `BFCAllocator`."""

    limit: int
    growth: bool = False
    garbage_collection: bool = True
    fragmentation_fraction: float = 0.0
    driver: Driver | None = None
    name: str = "GPU_0_bfc"

    def allocator(self) -> BFCAllocator:
        """Returns an allocator that has not reserved any memory yet."""
        return BFCAllocator(
            self.limit,
            growth=self.growth,
            garbage_collection=self.garbage_collection,
            fragmentation_fraction=self.fragmentation_fraction,
            driver=self.driver,
            name=self.name,
        )


class ChargedGPU(GPU):
    """One logical GPU on a simulated card: the part that accounts for memory.

    The first op makes all GPUs map memory, but few programs read the memory of a thousand GPUs. If no journal is kept
    and the GPU is alone on its card, the allocator is created by the first read, in the state it would have had.
    """

    _opening = new_lock()

    def __init__(self, index: int, card: PhysicalGPU, plan: MemoryPlan, alone: bool = False) -> None:
        """Creates `GPU:index`.

        Args:
          index: number of the logical device.
          card: physical GPU of which it uses all or a part.
          plan: how it reserves its part of the card's memory.
          alone: whether nothing else uses the card's memory.
        """
        self.index = index
        self.name = full_name("GPU", index, card.task)
        self.task = card.task
        self.constants = {}
        self.card = card
        self._plan, self._alone = plan, alone
        self._allocator: BFCAllocator | None = None
        self._memory: BFCMemory | None = None
        self._scratch: Chunk | None = None
        self._is_late = False
        """Whether the first read must map memory, as if it had been mapped earlier."""
        self._journal: Journal | None = None
        self._unlooked = 0
        self._look_again = 0.0

    @property
    def allocator(self) -> BFCAllocator:
        """The allocator of its part of the card's memory."""
        return self._allocator or self._open()

    @property
    def memory(self) -> BFCMemory:  # pyright: ignore[reportIncompatibleVariableOverride]  # created by the first read
        """The account of the allocator."""
        if self._memory is None:
            self._open()
        return cast("BFCMemory", self._memory)

    def _open(self) -> BFCAllocator:
        """Creates the allocator unless another thread has; delayed mapping is done before the journal starts."""
        with self._opening:
            allocator = self._allocator
            if allocator is None:
                allocator = self._plan.allocator()
                memory, scratch = BFCMemory(allocator), self._scratch
                if self._is_late:
                    scratch = allocator.allocate(_SCRATCH.shape[0], _SCRATCH)
                allocator.keep_journal(self._journal)
                # Without calls, so that an interrupt leaves all or none set.
                self._allocator, self._memory, self._scratch = allocator, memory, scratch
        return allocator

    def keep_journal(self, journal: Journal | None) -> None:
        """Starts recording changes to the pieces of its memory, or stops if `journal` is None."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            if self._allocator is not None:
                self._allocator.keep_journal(journal)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the entries recorded since the last call into boxes."""
        if self._allocator is not None:
            self._allocator.hand_over(boxes)

    @property
    def started(self) -> bool:
        """Whether it has mapped memory; the first op maps it at the latest."""
        return self._is_late or self._scratch is not None

    def use(self, memory: MemoryPlan) -> None:
        """Replaces the memory plan; must be called before the GPU starts."""
        self._plan, self._allocator, self._memory = memory, None, None

    def fresh_allocator(self, limit: int | None) -> BFCAllocator:
        """Returns an unused allocator with this GPU's rules and another limit."""
        return self.allocator.fresh(limit)

    def start(self) -> None:
        """Maps the first memory as TensorFlow does; later, if the delay cannot be noticed."""
        fits = min(self._plan.limit, self.card.memory_bytes) >= _SURELY_FITS
        if self._alone and fits and self._journal is None and self._allocator is None:
            self._is_late = True
        else:
            self._map_first()

    def _map_first(self) -> None:
        """Maps the first memory, with TensorFlow's own buffer at its start."""
        allocator = self.allocator
        with self._opening:
            if self._scratch is None:
                self._scratch = allocator.allocate(_SCRATCH.shape[0], _SCRATCH)

    def _charge(self, nbytes: int, label: Label, copied: bool = False) -> Chunk | None:
        """Allocates memory on the card; an empty tensor needs none."""
        if self._scratch is None:
            self._map_first()
        chunk = self.allocator.allocate(nbytes, label)
        if chunk is None and nbytes:
            raise self._card_is_full(nbytes, label, copied)
        return chunk

    def _card_is_full(self, nbytes: int, label: Label, copied: bool = False) -> ResourceExhaustedError:
        device_text = f"simulated {self.short_name} ({self.card.card.name})"
        request, card = self._request(nbytes, label, copied), self.card.memory_bytes
        return ResourceExhaustedError(exhausted.card_is_full(request, device_text, self.allocator, card))

    def _give_back(self, allocations: Sequence[Chunk | None]) -> None:
        for chunk in allocations:
            if chunk is not None:
                self.allocator.free(chunk)

    def _request(self, nbytes: int, label: Label, copied: bool) -> Request:
        return Request(nbytes, label.shape, as_dtype(label.dtype).c_name, self.name, copied)

    def _look_at_computer(self, nbytes: int) -> None:
        """Raises `MemoryError` if this computer has too little memory, before it is full and programs are killed."""
        if nbytes < WORTH_A_LOOK:
            return
        now = time.monotonic()
        self._unlooked -= nbytes
        if self._unlooked < 0 or now > self._look_again:
            available = available_bytes()
            if is_too_much(nbytes, available):
                give_freed_memory_back()
                available = available_bytes()
                if is_too_much(nbytes, available):
                    raise _NoRoomError(available)
            self._unlooked, self._look_again = int(available * _LOOK_PART), now + _LOOK_SECONDS

    def _computer_is_too_small(
        self, nbytes: int, label: Label, error: MemoryError, copied: bool = False
    ) -> ResourceExhaustedError:
        self.allocator.refuse(nbytes, label)
        stats = self.allocator.stats()
        text = exhausted.computer_is_too_small(
            self._request(nbytes, label, copied),
            f"simulated {self.short_name}",
            stats.bytes_limit - stats.bytes_in_use,
            error.available if isinstance(error, _NoRoomError) else None,
            self.allocator.name,
        )
        return ResourceExhaustedError(text)


class _NoRoomError(MemoryError):
    """This computer has too little memory left."""

    def __init__(self, available: int) -> None:
        """Stores the available bytes."""
        super().__init__()
        self.available = available
