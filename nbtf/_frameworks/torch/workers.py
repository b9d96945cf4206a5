"""How much have worker processes of data loaders done? Their ops cannot be observed."""

from __future__ import annotations

from functools import cache
from typing import Any


class Workers:
    """The worker processes of `torch.utils.data.DataLoader` started since counting began, and their batches.

    Earlier processes, such as those of `persistent_workers=True`, are noticed by the batches that they send.
    """

    def __init__(self, torch: Any) -> None:
        """Counts from now on, until this process ends."""
        self.count = self.batches = 0
        iterator_class: Any = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
        begin, next_data = iterator_class.__init__, iterator_class._next_data

        def begin_and_count(iterator: Any, loader: Any) -> None:
            self.count += loader.num_workers
            begin(iterator, loader)

        def next_and_count(iterator: Any) -> Any:
            batch = next_data(iterator)
            self.batches += 1
            return batch

        iterator_class.__init__, iterator_class._next_data = begin_and_count, next_and_count


@cache
def workers_of(torch: Any) -> Workers:
    """Returns the counter; the first call starts it."""
    return Workers(torch)
