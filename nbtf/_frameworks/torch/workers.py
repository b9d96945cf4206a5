"""What have processes of loaders of data done? What runs there nobody hears."""

from __future__ import annotations

from functools import cache
from typing import Any


class Workers:
    """The processes that `torch.utils.data.DataLoader` has begun since somebody first asked, and what they have sent.

    Processes that were begun before that, such as those of `persistent_workers=True`, show by the batches they send.
    """

    def __init__(self, torch: Any) -> None:
        """Counts from now on, as long as this process lives."""
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
    """Returns what counts them; it begins with the first call."""
    return Workers(torch)
