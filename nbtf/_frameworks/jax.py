"""JAX's cards, memory, arrays and work."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Pool, cautious, describe, piece
from nbtf._runtime.holding import Holding

_CARDS = ("gpu", "cuda", "rocm")


class Jax(Framework):
    """JAX, to the extent that this process has imported it."""

    name: ClassVar[str] = "JAX"
    module_name: ClassVar[str] = "jax"

    @property
    def started(self) -> bool:
        """Whether JAX has started to use devices; True if a release does not expose it."""
        backends = sys.modules.get("jax._src.xla_bridge")
        ask = getattr(backends, "backends_are_initialized", None)
        return True if ask is None else bool(ask())

    def _devices(self) -> list[Any]:
        devices: list[Any] = self._module.local_devices() if self.started else []
        return [device for device in devices if device.platform in _CARDS]

    @cautious(list[Card])
    def cards(self) -> list[Card]:
        """Returns the cards that JAX has started to use."""
        return [Card(_ordinal(device), str(device.device_kind), None, None) for device in self._devices()]

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns the pool of each card that reports its memory."""
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
        """Returns the description of its arrays, each part on its card."""
        concrete = getattr(sys.modules.get("jaxlib._jax"), "ArrayImpl", None) or self._module.Array
        return Arrays(self.name, concrete, _holding, describe, shards=_further_shards)

    def activity(self) -> Activity:
        """Returns an observer that knows only whether JAX has started."""
        return _Activity(self)

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns JAX's first card for an error about exhausted memory, otherwise None."""
        errors = self._module.errors.JaxRuntimeError
        full = isinstance(error, errors) and str(error).startswith("RESOURCE_EXHAUSTED")
        cards = self.cards()
        return f"cuda:{cards[0].number}" if full and cards else None


def _ordinal(device: Any) -> int:
    return int(getattr(device, "local_hardware_id", None) or device.id)


@cautious(lambda: None)  # the array may be deleted or donated
def _holding(array: Any) -> Holding | None:
    return _piece(array.addressable_shards[0])


@cautious(list[Holding])
def _further_shards(array: Any) -> list[Holding]:
    return [holding for shard in array.addressable_shards[1:] if (holding := _piece(shard)) is not None]


def _piece(shard: Any) -> Holding | None:
    """Returns the memory of a part of an array; parts of a replicated array are copies."""
    if shard.device.platform not in _CARDS:
        return None
    return piece(_ordinal(shard.device), shard.data.unsafe_buffer_pointer(), shard.data.nbytes)


class _Activity(Activity):
    """Knows only whether JAX has started to use devices, because JAX does not expose its compiled functions."""

    def __init__(self, library: Jax) -> None:
        self._library = library

    def start(self) -> None:
        """Does nothing, because there is nothing to observe."""

    def stop(self) -> None:
        """Does nothing."""

    def work(self) -> str | None:
        """Returns a sentence if JAX may have worked."""
        return "JAX may have run functions that were not recorded" if self._library.started else None

    def unmeasured(self) -> str | None:
        """Returns a sentence if JAX's devices report no memory."""
        if self.work() is None or self._library.pools():
            return None
        return f"{self.work()}, on devices that report no memory"
