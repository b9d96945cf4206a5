"""PyTorch's cards, memory, tensors and work."""

from __future__ import annotations

from typing import Any, ClassVar

from nbtf._frameworks.base import Activity, Arrays, Blocks, Card, Framework, Listening, Pool, cautious

DEVICE_TYPES = ("cuda",)
"""Types of devices whose tensors use memory of a card."""


class PyTorch(Framework):
    """PyTorch, to the extent that this process has imported it."""

    name: ClassVar[str] = "PyTorch"
    module_name: ClassVar[str] = "torch"
    recorded: ClassVar[str] = "ops"
    tells_ops: ClassVar[bool] = True

    @cautious(list[Card])
    def cards(self) -> list[Card]:
        """Returns the cards that PyTorch has started to use."""
        return [self._card(number) for number in self._ordinals()]

    def _card(self, number: int) -> Card:
        properties = self._module.cuda.get_device_properties(number)
        uuid = getattr(properties, "uuid", None)  # older releases do not report a UUID
        total = getattr(properties, "total_memory", None)
        return Card(number, getattr(properties, "name", ""), None if uuid is None else f"GPU-{uuid}", total)

    def _ordinals(self) -> range:
        cuda = self._module.cuda
        return range(cuda.device_count()) if cuda.is_initialized() else range(0)

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns the caching allocator's pool on each card."""
        cuda = self._module.cuda
        return [
            Pool(
                f"cuda:{number}",
                int(cuda.memory_reserved(number)),
                int(cuda.memory_allocated(number)),
                _peak(cuda, number),
                "torch.cuda.empty_cache()",
            )
            for number in self._ordinals()
        ]

    def blocks(self, pool: Pool) -> Blocks:
        """Returns the blocks of a card's pool, from the allocator's snapshot."""
        return self._blocks(int(pool.device.removeprefix("cuda:"))) or super().blocks(pool)

    @cautious(lambda: None)
    def _blocks(self, number: int) -> Blocks | None:
        from nbtf._frameworks.torch.segments import blocks_of

        return blocks_of(self._module.cuda.memory_snapshot(), number)

    @cautious(lambda: None)
    def arrays(self) -> Arrays | None:
        """Returns the description of its tensors."""
        from nbtf._frameworks.torch.tensors import tensors_of  # imported late, like the others: few need it

        return tensors_of(self.name, self._module, DEVICE_TYPES)

    def activity(self) -> Activity:
        """Returns an observer that counts its ops."""
        from nbtf._frameworks.torch.activity import TorchActivity

        return TorchActivity(self, self._module)

    def listening(self) -> Listening:
        """Returns the object that records its ops."""
        from nbtf._frameworks.torch.watching import TorchListening

        return TorchListening(self._module)

    @property
    def has_cards(self) -> bool:
        """Whether it can use a card on this machine; the query starts none."""
        try:
            return self._module.cuda.is_initialized() or self._module.cuda.device_count() > 0
        except Exception:  # the import of PyTorch is unfinished
            return False

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card that a `torch.OutOfMemoryError` names."""
        if not isinstance(error, self._module.cuda.OutOfMemoryError):
            return None
        words = str(error).partition("GPU ")[2].split()
        number = words[0].strip(".") if words else ""
        return f"cuda:{number}" if number.isdigit() else f"cuda:{self._module.cuda.current_device()}"


def _peak(cuda: Any, number: int) -> int | None:
    look = getattr(cuda, "max_memory_allocated", None)
    return None if look is None else int(look(number))
