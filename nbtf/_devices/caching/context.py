"""CUDA's context on a simulated card: memory that is used before the first tensor."""

from __future__ import annotations

from nbtf._devices.bfc.pool import Driver
from nbtf._devices.caching.fixed_parts import fixed_parts
from nbtf._devices.capacities import has_own_size
from nbtf._devices.cards import PhysicalGPU


class Context:
    """The memory of CUDA's context on one card.

    Its size is modelled: the middle of the range that `fixed_parts` gives for the card. It is counted from the start,
    because on a real card even `torch.cuda.mem_get_info()` creates the context. A card whose size the user has chosen
    has none: all of that memory is for tensors.
    """

    owner = "CUDA"

    def __init__(self, gpu: PhysicalGPU, card: Driver) -> None:
        """Uses memory of a card.

        Args:
          gpu: the simulated card.
          card: its memory.
        """
        self._card = card
        self.mapped = sum(fixed_parts(gpu.card).context) // 2 if has_own_size(gpu) else 0
        card.pools.add(self)

    def end(self) -> None:
        """Returns the memory to the card."""
        self._card.pools.discard(self)
