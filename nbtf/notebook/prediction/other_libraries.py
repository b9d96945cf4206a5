"""What of a program does a prediction leave out? Ops of nbtf's own, and the work of other libraries than PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from nbtf import runtime
from nbtf._frameworks import FRAMEWORKS

_SHOWN = 3
_CONSTANT = "_EagerConst"


class LeftOut:
    """Takes down what runs beside PyTorch."""

    def __init__(self) -> None:
        """Has seen nothing yet."""
        self._ops: Counter[str] = Counter()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Takes down what runs in a block."""
        stop = runtime.observe(self._see)
        try:
            yield
        finally:
            stop()

    def _see(self, event: runtime.Event) -> None:
        if not isinstance(event, runtime.OpPlaced) or event.op == _CONSTANT:
            return
        if "::" not in event.op:  # else PyTorch's, which the program has watched
            self._ops[event.op] += 1

    @property
    def has_ops(self) -> bool:
        """Whether ops of nbtf's own ran."""
        return bool(self._ops)

    def sentences(self, card: str) -> Iterator[str]:
        """Yields what is not predicted, with what tells it.

        Args:
          card: its name in the catalog.
        """
        if self._ops:
            names = [f"{count:,} {op}" for op, count in self._ops.most_common(_SHOWN)]
            further = len(self._ops) - _SHOWN
            if further > 0:
                names.append(f"{further} more")
            yield (
                f"Not predicted: nbtf's own ops ({', '.join(names)}). They run on simulated GPUs with what they take "
                f'there: tf.runtime.simulate_gpus(1, model="{card}") and %%gpu_memory.'
            )
        for framework in FRAMEWORKS:
            if framework.module_name != "torch" and framework.imported() is not None:
                yield f"Not predicted: what {framework.name} takes, which is imported."
