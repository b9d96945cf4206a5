"""How many processes have loaders of data begun? What runs there nobody hears."""

from __future__ import annotations

from functools import cache
from typing import Any


class Workers:
    """The processes that `torch.utils.data.DataLoader` has begun since somebody first asked."""

    def __init__(self, torch: Any) -> None:
        """Counts from now on, as long as this process lives."""
        self.count = 0
        iterator_class: Any = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
        begin = iterator_class.__init__

        def begin_and_count(iterator: Any, loader: Any) -> None:
            self.count += loader.num_workers
            begin(iterator, loader)

        iterator_class.__init__ = begin_and_count


@cache
def workers_of(torch: Any) -> Workers:
    """Returns what counts them; it begins with the first call."""
    return Workers(torch)
