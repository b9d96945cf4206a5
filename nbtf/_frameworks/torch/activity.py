"""The work of PyTorch in a block, and the part of it that was not recorded."""

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
    is_heard,
)
from nbtf._frameworks.torch.thread_observer import hearing_of_thread
from nbtf._own_name import own_name

if TYPE_CHECKING:
    from nbtf._frameworks.torch.library import PyTorch
from functools import cache

_HOST_TYPES = frozenset({"cpu", "meta"})


class TorchActivity(Activity):
    """Counts ops with modes of the PyTorch dispatcher, on each thread and in the backward passes that it starts.

    For a thread that began before the block, only allocations on a card are noticed.
    """

    def __init__(self, library: PyTorch, torch: Any) -> None:
        """Stores the library and its module."""
        self._library, self._torch = library, torch
        self._own: Hearing | None = None
        self._before: dict[Hearing, tuple[int, int]] = {}
        """The observers of the block's threads, each with its earlier counts of ops and of unrecorded ops."""
        self._allocations = 0
        self._at_end: tuple[int, int, int, int, int] | None = None
        self._workers = 0, 0

    def start(self) -> None:
        """Starts observing this thread, and resets PyTorch's peaks."""
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
        """Observes this thread until it ends."""
        hearing = hear_whole_thread(self._torch)
        self._before.setdefault(hearing, (hearing.heard, hearing.unrecorded))

    @cautious(lambda: None)
    def _reset_peaks(self) -> None:
        for number in self._library._ordinals():
            self._torch.cuda.reset_peak_memory_stats(number)

    def stop(self) -> None:
        """Stops; threads that continue no longer count for this block."""
        self._at_end = self._counts()
        if self._own is not None:
            self.complete &= not self._is_lost(self._own)
            self._end(self._own)

    @cautious(lambda: False)
    def _is_lost(self, hearing: Hearing) -> bool:
        """Returns whether an interrupt has removed the observer of this thread."""
        return hearing is hearing_of_thread(self._torch) and not is_heard(self._torch, hearing)

    @cautious(lambda: None)
    def _end(self, hearing: Hearing) -> None:
        end_hearing(self._torch, hearing)

    def _counts(self) -> tuple[int, int, int, int, int]:
        """Returns the numbers of ops, unrecorded ops, and requests for memory of a card.

        The last two numbers are the worker processes started by data loaders, and the batches that workers sent.
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
        """The expression that records PyTorch's ops in a program."""
        return f'{own_name()}.runtime.watch("torch")' if can_note(self._torch) else ""

    def work(self) -> str | None:
        """Returns a sentence about the ops that were not recorded."""
        op_count, unrecorded, allocations, workers, batches = self._counts()
        if unrecorded:
            hint = " (%placement_log watch torch records them)" if can_note(self._torch) else ""
            return f"PyTorch ran {counted(unrecorded, 'op')}, not recorded{hint}"
        if workers:
            started = counted(workers, "worker")
            return f"PyTorch's DataLoader started {started}, whose ops are not recorded (num_workers=0)"
        if batches:
            took = "a batch" if batches == 1 else f"{batches:,} batches"
            return f"PyTorch's DataLoader took {took} from earlier workers, whose ops are not recorded (num_workers=0)"
        is_sure = self._own is not None and self.complete and (op_count or not allocations)
        return None if is_sure else "PyTorch may have run ops that were not recorded"

    def unmeasured(self) -> str | None:
        """Returns a sentence about its devices that report no memory."""
        op_count = self._counts()[0]
        types = set[str]().union(
            *[hearing.device_types_since(earlier) for hearing, (earlier, _) in tuple(self._before.items())]
        )
        devices = sorted(types - _HOST_TYPES - {"cuda"})
        if devices:
            return f"PyTorch's memory on {', '.join(devices)} is unknown"
        work = self.work() or (f"PyTorch ran {counted(op_count, 'op')}" if op_count else None)
        return None if self._library.has_cards or work is None else f"{work}, on no GPU that reports its memory"


@cautious(lambda: (0, 0))
def _workers(torch: Any) -> tuple[int, int]:
    """Returns the number of worker processes that data loaders have started, and of batches that workers have sent."""
    workers = workers_of(torch)
    return workers.count, workers.batches


@cautious(lambda: 0)  # older releases do not count requests
def _allocations(library: PyTorch, torch: Any) -> int:
    """Returns how often any thread has requested memory of a card."""
    statistics = torch.cuda.memory_stats
    return sum([int(statistics(number).get("allocation.all.allocated", 0)) for number in library._ordinals()])


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
