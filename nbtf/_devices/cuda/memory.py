"""How much of a real card's memory may a device use, how does it reserve it, and what holds it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from nbtf._devices.base import Label, MemoryStats, Piece
from nbtf._devices.cuda.external import Externals
from nbtf._devices.limits import garbage_collection, memory_limit, resolve_growth
from nbtf._types import as_dtype

PREALLOCATE = "NBTF_GPU_PREALLOCATE"
ALLOCATOR = "NBTF_GPU_ALLOCATOR"
UNIT = 512
"""CuPy's pool rounds up to this size. Source: `_allocation_unit_size`, memory.pyx of CuPy 14."""
_TRUE = frozenset({"1", "true", "on", "yes"})


class Plan(NamedTuple):
    """The memory configuration of one logical device on a real card.

    `limit_mib` is its `memory_limit`; `fraction` is relative to the whole card. `preallocate` reserves all of its
    memory at first use.
    """

    limit_mib: float | None
    fraction: float | None
    preallocate: bool
    bfc: bool
    collects: bool
    environ: Mapping[str, str]

    def limit(self, total: int, free: int, capability: tuple[int, int]) -> int:
        """Returns the maximum number of bytes that the device may use, by TensorFlow's rules."""
        byte_limit = memory_limit(
            total=total,
            free=free,
            compute_capability=capability,
            fraction=self.fraction,
            logical_limit_mib=self.limit_mib,
            environ=self.environ,
        )
        return byte_limit // UNIT * UNIT


def plan_for(limit_mib: float | None, fraction: float | None, growth: bool | None, environ: Mapping[str, str]) -> Plan:
    """Returns the plan for the given settings and environment.

    On real cards, memory grows with use by default. `NBTF_GPU_PREALLOCATE=1`, a fraction, a `memory_limit`, or growth
    set to False select TensorFlow's behaviour instead.

    Raises:
      ValueError: if `NBTF_GPU_ALLOCATOR` names no allocator.
    """
    preallocated = environ.get(PREALLOCATE, "").strip().lower() in _TRUE
    if growth is None:
        growth = not (preallocated or fraction or limit_mib is not None)
    allocator_name = environ.get(ALLOCATOR, "").strip().lower()
    if allocator_name not in ("", "pool", "bfc"):
        raise ValueError(f"{ALLOCATOR} is {allocator_name!r}; expected pool (the default) or bfc.")
    preallocate = not resolve_growth(growth, environ)
    return Plan(limit_mib, fraction, preallocate, allocator_name == "bfc", garbage_collection(environ), environ)


class MemoryManager(Protocol):
    """Manages the memory of a device."""

    name: str

    def allocate(self, nbytes: int) -> Any:
        """Serves as CuPy's allocator function: returns a pointer."""
        ...

    def charge(self, array: Any, purpose: Purpose) -> Any:
        """Returns the hold that keeps an array charged and locates its memory."""
        ...

    def stats(self) -> MemoryStats:
        """Returns the memory statistics."""
        ...

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes reserved on the card."""
        ...

    def reset_peak(self) -> None:
        """Sets the peak to the current use."""
        ...

    def map(self) -> Any:
        """Returns regions and chunks; None if the allocator does not know them."""
        ...

    def piece(self, allocation: object) -> Piece | None:
        """Returns the piece of memory that belongs to a hold."""
        ...

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns the pieces in use with their labels."""
        ...

    def trim(self) -> int:
        """Releases cached memory; returns the number of bytes."""
        ...

    def close(self) -> None:
        """Releases all memory that is not in use."""
        ...


class Purpose(NamedTuple):
    """The purpose of an array; its label is built only on request."""

    op: str
    site: Any = None

    def label(self, dtype: Any, shape: tuple[int, ...]) -> Label:
        """Returns the label for memory maps and tables."""
        return Label(self.op, as_dtype(dtype).name, tuple(shape), self.site)


class CudaMemory:
    """The memory account of one logical GPU; before its first op, nothing is in use."""

    def __init__(self, plan: Plan, limit: int) -> None:
        """Starts without a memory manager; `limit` is the expected limit of the device."""
        self.plan, self.manager = plan, None
        self.external = Externals()
        self._planned = limit

    manager: MemoryManager | None

    def use(self, manager: MemoryManager) -> None:
        """Sets the memory manager."""
        self.manager = manager

    def stats(self) -> MemoryStats:
        """Returns the current statistics."""
        stats = MemoryStats(0, 0, 0, 0, self._planned, 0, 0, 0) if self.manager is None else self.manager.stats()
        return stats._replace(external=self.external.nbytes())

    def level(self) -> tuple[int, int]:
        """Returns bytes in use, and bytes reserved on the card."""
        return (0, 0) if self.manager is None else self.manager.level()

    def reset_peak(self) -> None:
        """Sets the peak to the current use, and resets the number of allocations."""
        if self.manager is not None:
            self.manager.reset_peak()

    def map(self) -> Any:
        """Returns regions and chunks with `NBTF_GPU_ALLOCATOR=bfc`; None with CuPy's pool, which hides its blocks."""
        return None if self.manager is None else self.manager.map()

    def piece(self, allocation: object) -> Piece | None:
        """Returns where the memory of a hold is; None if it has been freed."""
        return None if self.manager is None else self.manager.piece(allocation)

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns the pieces in use, each with its label."""
        return [] if self.manager is None else self.manager.pieces()

    def trim(self) -> int:
        """Releases cached memory to the card; returns the number of bytes."""
        return 0 if self.manager is None else self.manager.trim()
