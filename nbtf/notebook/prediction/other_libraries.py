"""The work that a prediction leaves out: nbtf's own ops, and libraries other than PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from nbtf import runtime
from nbtf._frameworks import FRAMEWORKS
from nbtf._own_name import own_name
from nbtf.notebook.stills.schedule import CONSTANT

_SHOWN = 3


class LeftOut:
    """Records what runs besides PyTorch."""

    def __init__(self) -> None:
        """Starts without anything recorded."""
        self._ops: Counter[str] = Counter()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Records what runs in a block."""
        stop = runtime.observe(self._see)
        try:
            yield
        finally:
            stop()

    def _see(self, event: runtime.Event) -> None:
        if not isinstance(event, runtime.OpPlaced) or event.op == CONSTANT:
            return
        if "::" not in event.op:  # PyTorch's ops have `::`, and the program has already recorded them
            self._ops[event.op] += 1

    @property
    def has_ops(self) -> bool:
        """Whether ops of nbtf's own ran."""
        return bool(self._ops)

    def sentences(self, card: str) -> Iterator[str]:
        """Yields sentences about what is not predicted, and how to measure it.

        Args:
          card: name of the card in the catalogue.
        """
        if self._ops:
            names = [f"{count:,} {op}" for op, count in self._ops.most_common(_SHOWN)]
            further = len(self._ops) - _SHOWN
            if further > 0:
                names.append(f"{further} more")
            yield (
                f"Not predicted: nbtf's own ops ({', '.join(names)}). To measure them, run them on a simulated GPU: "
                f'{own_name()}.runtime.simulate_gpus(1, model="{card}") and %%gpu_memory.'
            )
        for framework in FRAMEWORKS:
            if framework.module_name != "torch" and framework.imported() is not None:
                yield f"Not predicted: the memory of {framework.name}, which is imported."
