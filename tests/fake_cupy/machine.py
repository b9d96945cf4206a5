"""Which cards the fake machine has, what was asked of them, and what goes wrong.

Numbers in brackets, as [1.2], name the section of the notes on CuPy whose fact is mirrored.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

GIB = 1 << 30


@dataclass
class FakeCard:
    """One card."""

    name: str = "Fake GPU"
    memory: int = GIB
    capability: tuple[int, int] = (7, 0)
    bus_id: str = "0000:05:00.0"
    uuid: bytes = b"fakefakefakefake"
    taken: int = 0


@dataclass
class FakeMachine:
    """All cards, and a diary of what the program did to them."""

    cards: list[FakeCard] = field(default_factory=list)
    peers: bool = True
    available: bool = True
    contexts: set[int] = field(default_factory=set)
    """Cards on which a context was made."""
    diary: list[tuple[Any, ...]] = field(default_factory=list)
    faults: list[tuple[str, BaseException]] = field(default_factory=list)
    """What to raise, and at which kind of call: `sync`, `kernel`, `memcpy`, `malloc` or any."""
    broken: BaseException | None = None
    """An error after which each call of the process fails."""
    host_reads: int = 0
    local: Any = field(default_factory=threading.local)

    @property
    def device(self) -> int:
        """The current device of this thread; a new thread starts on device 0 [1.2]."""
        return getattr(self.local, "device", 0)

    def use(self, device: int) -> None:
        """Makes a device current, which makes its context [1.1]."""
        from tests.fake_cupy.runtime import CUDARuntimeError

        if not 0 <= device < len(self.cards):
            raise CUDARuntimeError(101)
        self.local.device = device
        self.contexts.add(device)

    def touch(self) -> int:
        """Returns the current device, whose context is made by whatever needs one."""
        self.need()
        self.contexts.add(self.device)
        return self.device

    def need(self) -> None:
        """Raises what CuPy raises without a driver [1.1], and after an error that stays [1.8]."""
        from tests.fake_cupy.runtime import CUDARuntimeError

        if self.broken is not None:
            raise self.broken
        if not self.available:
            raise CUDARuntimeError(35)

    def did(self, what: str, *more: Any) -> None:
        """Notes a step, and lets happen what was planned to go wrong there."""
        self.diary.append((what, *more))
        for number, (where, error) in enumerate(self.faults):
            if where in (what, "any"):
                if getattr(error, "status", None) in (700, 710, 719):
                    self.broken = error
                del self.faults[number]
                raise error


MACHINE = FakeMachine()


def reset(cards: int = 1, memory: int = GIB, peers: bool = True, available: bool = True) -> FakeMachine:
    """Empties the diary and puts in new cards."""
    made = [
        FakeCard("Fake GPU", memory, (7, 0), f"0000:{5 + number:02x}:00.0", bytes([number] * 16))
        for number in range(cards)
    ]
    MACHINE.__dict__.update(FakeMachine(made, peers, available).__dict__)
    return MACHINE
