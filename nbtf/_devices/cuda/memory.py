"""How much of a real card's memory a device has, how it takes it, and who holds it."""

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
"""CuPy's pool rounds up to it. Source: `_allocation_unit_size`, memory.pyx of CuPy 14."""
_TRUE = frozenset({"1", "true", "on", "yes"})


class Plan(NamedTuple):
    """What was asked for one logical device on a real card.

    `limit_mib` is its `memory_limit`, `fraction` of the whole card; `preallocate` takes all of it at first use.
    """

    limit_mib: float | None
    fraction: float | None
    preallocate: bool
    bfc: bool
    collects: bool
    environ: Mapping[str, str]

    def limit(self, total: int, free: int, capability: tuple[int, int]) -> int:
        """Returns the most bytes that the device may take, by TensorFlow's rules."""
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
    """Returns what settings and environment ask for.

    On real cards memory grows with use, unless the user asks for TensorFlow's way: by `NBTF_GPU_PREALLOCATE=1`, a
    fraction, a `memory_limit`, or by refusing growth.

    Raises:
      ValueError: `NBTF_GPU_ALLOCATOR` names no allocator.
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
    """One way to manage the memory of a device."""

    name: str

    def allocate(self, nbytes: int) -> Any:
        """Is CuPy's allocator: returns a pointer."""
        ...

    def charge(self, array: Any, purpose: Purpose) -> Any:
        """Returns what keeps an array's memory charged, and can be asked where it is."""
        ...

    def stats(self) -> MemoryStats:
        """Returns the account."""
        ...

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes taken from the card."""
        ...

    def reset_peak(self) -> None:
        """Sets the peak to what is in use."""
        ...

    def map(self) -> Any:
        """Returns regions and chunks, None where nobody knows them."""
        ...

    def piece(self, allocation: object) -> Piece | None:
        """Returns where a hold is."""
        ...

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns what is in use, with what it is for."""
        ...

    def trim(self) -> int:
        """Gives cached memory back; returns the bytes."""
        ...

    def close(self) -> None:
        """Gives everything back that is not in use."""
        ...


class Purpose(NamedTuple):
    """What an array was made for; the text of it is put together when somebody asks."""

    op: str
    site: Any = None

    def label(self, dtype: Any, shape: tuple[int, ...]) -> Label:
        """Returns it as memory maps and tables want it."""
        return Label(self.op, as_dtype(dtype).name, tuple(shape), self.site)


class CudaMemory:
    """The account of one logical GPU; nothing is in use before its first op."""

    def __init__(self, plan: Plan, limit: int) -> None:
        """Waits to be opened; `limit` is what the device will have, as far as anybody can know."""
        self.plan, self.manager = plan, None
        self.external = Externals()
        self._planned = limit

    manager: MemoryManager | None

    def use(self, manager: MemoryManager) -> None:
        """Manages memory from now on."""
        self.manager = manager

    def stats(self) -> MemoryStats:
        """Returns the account of this moment."""
        stats = MemoryStats(0, 0, 0, 0, self._planned, 0, 0, 0) if self.manager is None else self.manager.stats()
        return stats._replace(external=self.external.nbytes())

    def level(self) -> tuple[int, int]:
        """Returns bytes in use, and bytes taken from the card."""
        return (0, 0) if self.manager is None else self.manager.level()

    def reset_peak(self) -> None:
        """Sets the peak to what is in use now, and counts allocations anew."""
        if self.manager is not None:
            self.manager.reset_peak()

    def map(self) -> Any:
        """Returns regions and chunks with `NBTF_GPU_ALLOCATOR=bfc`; None with CuPy's pool, which does not tell."""
        return None if self.manager is None else self.manager.map()

    def piece(self, allocation: object) -> Piece | None:
        """Returns where the memory of a hold is; None when it has been given back."""
        return None if self.manager is None else self.manager.piece(allocation)

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns what is in use, each piece with what it is for."""
        return [] if self.manager is None else self.manager.pieces()

    def trim(self) -> int:
        """Gives cached memory back to the card; returns the bytes."""
        return 0 if self.manager is None else self.manager.trim()
