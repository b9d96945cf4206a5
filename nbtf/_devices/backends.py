"""Who makes the GPUs? A row for each kind: the file that opens a card, plans its memory and builds devices on it.

A new kind is such a file and its row; its cards carry the row's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from nbtf._devices.base import GPU
from nbtf._devices.cards import PhysicalGPU


class Row(NamedTuple):
    """The file of a kind, loaded when a card of its own is used, and the one with `find_cards`, loaded to list them."""

    file: str
    finder: str | None = None
    """None for cards that somebody asks for."""


BACKENDS = {
    "simulated": Row("nbtf._devices.simulated"),
    "cuda": Row("nbtf._devices.cuda.device", "nbtf._devices.cuda.probe"),
}
"""The rows, by what `PhysicalGPU.backend` says."""


class MemoryOptions(NamedTuple):
    """How GPUs take memory: a part of the whole, growing or at once, the computer's too, and when blocks are split."""

    fraction: float | None = None
    growth: bool | None = None
    unified: bool = False
    fragmentation: float = 0.0


class MemoryRequest(NamedTuple):
    """What is asked of the memory of `GPU:number`; `limit_mib` is what a logical device may take, None without one."""

    number: int
    options: MemoryOptions
    limit_mib: float | None
    environ: Mapping[str, str]


class Backend(Protocol):
    """What the file of a row has."""

    def open_card(self, card: PhysicalGPU) -> Any:
        """Returns what the logical GPUs on one card share; called once for each card."""
        ...

    def plan_memory(self, card: PhysicalGPU, shared: Any, request: MemoryRequest) -> Any:
        """Returns what looks after the memory of one GPU; nothing is taken yet.

        Raises:
          ValueError: an environment variable makes no sense.
        """
        ...

    def build_gpu(self, index: int, card: PhysicalGPU, memory: Any, alone: bool) -> GPU:
        """Returns `GPU:index`, which takes memory as planned; `alone` where no other is on its card."""
        ...


def backend_of(card: PhysicalGPU) -> Backend:
    """Returns who makes the GPUs on a card.

    Raises:
      KeyError: its row is missing.
    """
    return _loaded(BACKENDS[card.backend].file)


def load(name: str) -> None:
    """Loads the file of a row before the first op has to wait for it."""
    _loaded(BACKENDS[name].file)


@cache  # a card of a thousand asks as well
def _loaded(file: str) -> Any:
    return import_module(file)


def find_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns this computer's own cards, row after row, as each kind numbers them for this process."""
    finders: list[Any] = [import_module(row.finder) for row in BACKENDS.values() if row.finder is not None]
    return tuple([card for finder in finders for card in finder.find_cards(environ)])
