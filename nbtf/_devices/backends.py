"""Which file builds the GPUs of a card? One row per kind: its file opens cards, plans memory and builds devices.

To add a kind, write such a file and add a row; its cards carry the name of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from nbtf._devices.base import GPU
from nbtf._devices.cards import PhysicalGPU


class Row(NamedTuple):
    """The file of a kind, loaded when one of its cards is used, and the file with `find_cards`, loaded to list them."""

    file: str
    finder: str | None = None
    """None for cards that exist only on request."""


BACKENDS = {
    "simulated": Row("nbtf._devices.simulated"),
    "cuda": Row("nbtf._devices.cuda.device", "nbtf._devices.cuda.probe"),
}
"""The rows, by the name in `PhysicalGPU.backend`."""


class MemoryOptions(NamedTuple):
    """Memory options of GPUs: fraction of the card, growth, use of the computer's memory, and when blocks are split."""

    fraction: float | None = None
    growth: bool | None = None
    unified: bool = False
    fragmentation: float = 0.0


class MemoryRequest(NamedTuple):
    """A memory request for `GPU:number`; `limit_mib` is the limit of a logical device, None without one."""

    number: int
    options: MemoryOptions
    limit_mib: float | None
    environ: Mapping[str, str]


class Backend(Protocol):
    """The functions in the file of a row."""

    def open_card(self, card: PhysicalGPU) -> Any:
        """Returns the state that a card's logical GPUs share; called once per card."""
        ...

    def plan_memory(self, card: PhysicalGPU, shared: Any, request: MemoryRequest) -> Any:
        """Returns the object that will manage the memory of one GPU; reserves nothing yet.

        Raises:
          ValueError: if an environment variable is invalid.
        """
        ...

    def build_gpu(self, index: int, card: PhysicalGPU, memory: Any, alone: bool) -> GPU:
        """Returns `GPU:index`, which reserves memory as planned; `alone` means that it is the only GPU on its card."""
        ...


def backend_of(card: PhysicalGPU) -> Backend:
    """Returns the module that builds the GPUs on a card.

    Raises:
      KeyError: if its row is missing.
    """
    return _loaded(BACKENDS[card.backend].file)


def load(name: str) -> None:
    """Loads the file of a row, so that the first op does not wait for it."""
    _loaded(BACKENDS[name].file)


@cache  # called for each of possibly a thousand cards
def _loaded(file: str) -> Any:
    return import_module(file)


def find_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns this computer's real cards, row by row, numbered as each kind numbers them for this process."""
    finders: list[Any] = [import_module(row.finder) for row in BACKENDS.values() if row.finder is not None]
    return tuple([card for finder in finders for card in finder.find_cards(environ)])
