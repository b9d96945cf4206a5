"""What does JAX tell of its cards, its memory, its arrays and its work?"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Pool, cautious, describe, piece
from nbtf._runtime.holding import Holding

_CARDS = ("gpu", "cuda", "rocm")


class Jax(Framework):
    """JAX, as far as this process has imported it."""

    name: ClassVar[str] = "JAX"
    module_name: ClassVar[str] = "jax"

    @property
    def started(self) -> bool:
        """Whether it has begun to use devices; where a release does not tell, it has."""
        backends = sys.modules.get("jax._src.xla_bridge")
        ask = getattr(backends, "backends_are_initialized", None)
        return True if ask is None else bool(ask())

    def _devices(self) -> list[Any]:
        devices: list[Any] = self._module.local_devices() if self.started else []
        return [device for device in devices if device.platform in _CARDS]

    @cautious(list[Card])
    def cards(self) -> list[Card]:
        """Returns the cards that it has begun to use."""
        return [Card(_ordinal(device), str(device.device_kind), None, None) for device in self._devices()]

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns what its allocator has on each card that tells."""
        statistics = [(_ordinal(device), device.memory_stats()) for device in self._devices()]
        return [
            Pool(
                f"cuda:{number}",
                int(figures.get("pool_bytes", figures["bytes_in_use"])),
                int(figures["bytes_in_use"]),
                figures.get("peak_bytes_in_use"),
                None,
            )
            for number, figures in statistics
            if figures
        ]

    @cautious(lambda: None)
    def arrays(self) -> Arrays | None:
        """Returns what its arrays are, each part on its card."""
        concrete = getattr(sys.modules.get("jaxlib._jax"), "ArrayImpl", None) or self._module.Array
        return Arrays(self.name, concrete, _holding, describe, shards=_further_shards)

    def activity(self) -> Activity:
        """Returns what knows whether it has begun to work."""
        return _Activity(self)

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns its first card for an error that says that memory was exhausted."""
        errors = self._module.errors.JaxRuntimeError
        full = isinstance(error, errors) and str(error).startswith("RESOURCE_EXHAUSTED")
        cards = self.cards()
        return f"cuda:{cards[0].number}" if full and cards else None


def _ordinal(device: Any) -> int:
    return int(getattr(device, "local_hardware_id", None) or device.id)


@cautious(lambda: None)  # a deleted or donated array
def _holding(array: Any) -> Holding | None:
    return _piece(array.addressable_shards[0])


@cautious(list[Holding])
def _further_shards(array: Any) -> list[Holding]:
    return [holding for shard in array.addressable_shards[1:] if (holding := _piece(shard)) is not None]


def _piece(shard: Any) -> Holding | None:
    """Returns the memory of a part of an array, which is a copy where the array is replicated."""
    if shard.device.platform not in _CARDS:
        return None
    return piece(_ordinal(shard.device), shard.data.unsafe_buffer_pointer(), shard.data.nbytes)


class _Activity(Activity):
    """Knows no more than whether JAX has begun to use devices: of compiled functions that run it tells nobody."""

    def __init__(self, library: Jax) -> None:
        self._library = library

    def start(self) -> None:
        """Does nothing: there is nothing to listen to."""

    def stop(self) -> None:
        """Does nothing."""

    def work(self) -> str | None:
        """Says whether it may have worked."""
        return "JAX may have run functions that were not recorded" if self._library.started else None

    def unmeasured(self) -> str | None:
        """Says that its devices tell no memory, where that is so."""
        if self.work() is None or self._library.pools():
            return None
        return f"{self.work()}, on devices that tell no memory"
