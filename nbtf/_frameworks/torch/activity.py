"""What did PyTorch do in a block, and what of it was not recorded?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtf._counts import counted
from nbtf._frameworks.base import Activity, cautious
from nbtf._frameworks.torch.dispatch import Hearing
from nbtf._frameworks.torch.hearing import (
    OF_THREADS,
    begin_hearing,
    can_note,
    end_hearing,
    hear_whole_thread,
    hearing_of_thread,
    is_heard,
)
from nbtf._frameworks.torch.workers import workers_of

if TYPE_CHECKING:
    from nbtf._frameworks.torch.library import PyTorch

_HOST_TYPES = frozenset({"cpu", "meta"})


class TorchActivity(Activity):
    """Counts ops by modes of PyTorch's dispatcher: of each thread, and of the backward passes that it starts.

    Of a thread that began earlier only what it allocates on a card is noticed.
    """

    def __init__(self, library: PyTorch, torch: Any) -> None:
        """Takes the library, and its module."""
        self._library, self._torch = library, torch
        self._own: Hearing | None = None
        self._before: dict[Hearing, tuple[int, int]] = {}
        """What hears the block, with how many ops it had heard, and not noted, before."""
        self._allocations = 0
        self._at_end: tuple[int, int, int, int, int] | None = None
        self._workers = 0, 0

    def start(self) -> None:
        """Begins to hear this thread; from now on PyTorch counts its peaks anew."""
        self._before = {hearing: (hearing.heard, hearing.unrecorded) for hearing in tuple(OF_THREADS)}
        self._own = self._begin()
        if self._own is not None:
            self._before[self._own] = self._own.heard, self._own.unrecorded
        self._allocations = _allocations(self._library, self._torch)
        self._workers = _workers(self._torch)
        self._reset_peaks()

    @cautious(lambda: None)
    def _begin(self) -> Hearing | None:
        return begin_hearing(self._torch)

    @cautious(lambda: None)
    def join(self) -> None:
        """Hears this thread until it ends."""
        hearing = hear_whole_thread(self._torch)
        self._before.setdefault(hearing, (hearing.heard, hearing.unrecorded))

    @cautious(lambda: None)
    def _reset_peaks(self) -> None:
        for number in self._library._ordinals():
            self._torch.cuda.reset_peak_memory_stats(number)

    def stop(self) -> None:
        """Ends; threads that go on count no more for this block."""
        self._at_end = self._counts()
        if self._own is not None:
            self.complete &= not self._is_lost(self._own)
            self._end(self._own)

    @cautious(lambda: False)
    def _is_lost(self, hearing: Hearing) -> bool:
        """Tells whether an interrupt has taken away what heard this thread."""
        return hearing is hearing_of_thread(self._torch) and not is_heard(self._torch, hearing)

    @cautious(lambda: None)
    def _end(self, hearing: Hearing) -> None:
        end_hearing(self._torch, hearing)

    def _counts(self) -> tuple[int, int, int, int, int]:
        """Returns how many ops ran, how many of them unrecorded, and how often memory of a card was asked for.

        And how many processes loaders of data have begun, and how many batches came from such.
        """
        starts = tuple(self._before.items())
        op_count = sum([hearing.heard - earlier for hearing, (earlier, _) in starts])
        unrecorded = sum([hearing.unrecorded - earlier for hearing, (_, earlier) in starts])
        allocations = _allocations(self._library, self._torch) - self._allocations
        workers, batches = [
            count - earlier for count, earlier in zip(_workers(self._torch), self._workers, strict=True)
        ]
        return self._at_end or (op_count, unrecorded, allocations, workers, batches)

    @property
    def recorder(self) -> str:
        """What has its ops recorded in a program."""
        return 'tf.runtime.watch("torch")' if can_note(self._torch) else ""

    def work(self) -> str | None:
        """Says how many ops ran that were not recorded."""
        op_count, unrecorded, allocations, workers, batches = self._counts()
        if unrecorded:
            hint = " (%placement_log watch torch records them)" if can_note(self._torch) else ""
            return f"PyTorch ran {counted(unrecorded, 'op')}, not recorded{hint}"
        if workers:
            return f"PyTorch's DataLoader began {counted(workers, 'worker')}, whose ops nobody records (num_workers=0)"
        if batches:
            took = "a batch" if batches == 1 else f"{batches:,} batches"
            return (
                f"PyTorch's DataLoader took {took} from workers begun earlier, whose ops nobody records (num_workers=0)"
            )
        is_sure = self._own is not None and self.complete and (op_count or not allocations)
        return None if is_sure else "PyTorch may have run ops that were not recorded"

    def unmeasured(self) -> str | None:
        """Says which of its devices tell no memory."""
        op_count = self._counts()[0]
        types = set[str]().union(
            *[hearing.device_types_since(earlier) for hearing, (earlier, _) in tuple(self._before.items())]
        )
        devices = sorted(types - _HOST_TYPES - {"cuda"})
        if devices:
            return f"the memory of PyTorch's {', '.join(devices)} was not asked for"
        work = self.work() or (f"PyTorch ran {counted(op_count, 'op')}" if op_count else None)
        return None if self._library.has_cards or work is None else f"{work}, on no GPU whose memory could be asked for"


@cautious(lambda: (0, 0))
def _workers(torch: Any) -> tuple[int, int]:
    """Returns how many processes loaders of data have begun until now, and how many batches came from such."""
    workers = workers_of(torch)
    return workers.count, workers.batches


@cautious(lambda: 0)  # older releases do not count
def _allocations(library: PyTorch, torch: Any) -> int:
    """Returns how often any thread has asked for memory of a card."""
    statistics = torch.cuda.memory_stats
    return sum([int(statistics(number).get("allocation.all.allocated", 0)) for number in library._ordinals()])
