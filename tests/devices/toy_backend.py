"""A new kind of GPU, in one file: NumPy computes, and a counter says how much memory is taken."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import finalize

import numpy as np

from nbtf._devices.backends import MemoryRequest
from nbtf._devices.base import GPU, Buffer, Device, Label, MemoryStats, Piece, Runnable, Spec, arrays_of, buffer_of
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._devices.exhausted import Request, in_tensorflows_words
from nbtf._devices.names import full_name
from nbtf._devices.sites import CallSite, Site
from nbtf.errors import ResourceExhaustedError


class Allocation:
    """What a buffer holds as long as it lives."""


class Counter:
    """The memory of a toy: bytes in multiples of 256, and no map of them."""

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._in_use = self._peak = self._allocations = 0

    def take(self, nbytes: int) -> Allocation:
        charged = -(-nbytes // 256) * 256
        with self._lock:
            if self._in_use + charged > self._limit:
                raise MemoryError
            self._in_use += charged
            self._peak, self._allocations = max(self._peak, self._in_use), self._allocations + 1
        allocation = Allocation()
        finalize(allocation, self._give_back, charged).atexit = False
        return allocation

    def _give_back(self, charged: int) -> None:
        with self._lock:
            self._in_use -= charged

    def stats(self) -> MemoryStats:
        taken, limit = self._in_use, self._limit
        return MemoryStats(taken, self._peak, taken, limit, limit, self._allocations, 0, limit - taken)

    def level(self) -> tuple[int, int]:
        return self._in_use, self._limit

    def reset_peak(self) -> None:
        self._peak = self._in_use

    def map(self) -> None:
        return None

    def piece(self, allocation: object) -> Piece | None:
        return None

    def trim(self) -> int:
        return 0


class ToyGPU(GPU):
    """Computes where it stands, and remembers who asked."""

    xp = np

    def __init__(self, index: int, card: PhysicalGPU, memory: Counter) -> None:
        self.index, self.card, self.name, self.constants = index, card, full_name("GPU", index), {}
        self.memory = self._counter = memory

    @property
    def started(self) -> bool:
        return True

    def use(self, memory: Counter) -> None:
        self.memory = self._counter = memory

    def start(self) -> None:
        pass

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        return self._charged(array.copy(), copied=True)

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        return buffer._array.copy()

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        return self._charged(source.get(buffer), copied=True)

    def run(
        self,
        op: Runnable,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        arrays = arrays_of(buffers)
        with np.errstate(all="ignore"):
            results = op.kernel(np, *arrays, **attrs)
        shown = next((buffer._allocation for buffer in buffers if not isinstance(buffer, list)), None)
        arrays = [np.asarray(array) for array in (results if isinstance(results, list | tuple) else [results])]
        return [buffer_of(array, shown) if op.shares_memory else self._charged(array) for array in arrays]

    def _charged(self, array: np.ndarray[Any, Any], copied: bool = False) -> Buffer:
        try:
            return buffer_of(array, self._counter.take(array.nbytes) if array.nbytes else None)
        except MemoryError:
            request = Request(array.nbytes, array.shape, "float", self.name, copied)
            raise ResourceExhaustedError(None, None, in_tensorflows_words(request, "counter")) from None

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        pass


def find_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    cards = gpus(simulated_machine(2, "Tesla K20m"), {})
    return tuple(card._replace(simulated=False, backend="toy") for card in cards)


def open_card(card: PhysicalGPU) -> None:
    """Nothing is shared on a card."""


def plan_memory(card: PhysicalGPU, shared: None, request: MemoryRequest) -> Counter:
    mib = request.limit_mib
    return Counter(card.memory_bytes if mib is None else int(mib * 2**20))


def build_gpu(index: int, card: PhysicalGPU, memory: Counter, alone: bool) -> GPU:
    return ToyGPU(index, card, memory)
