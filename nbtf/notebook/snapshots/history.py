"""What happened to the memory of one device in a snapshot: its pieces, its segments, and the levels after each step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbtf._locks import computed_once
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.lifetimes import Integers, Lifetimes, lifetimes_of, segments_of, step_numbers
from nbtf._snapshots.snapshot import MemorySnapshot, Trace

MOST_STEPS = 200_000
"""Number of steps of which a page has every piece; a longer history has an overview and one window."""


OLDER = -2
"""In place of a stack: the piece is older than the history."""


class Window(NamedTuple):
    """Steps from `first` up to `end`."""

    first: int
    end: int


class DeviceHistory:
    """The history of one device in a snapshot."""

    def __init__(self, snapshot: MemorySnapshot, device: int) -> None:
        """Finds the device's trace, which is empty if the file has none, and its segments."""
        self.snapshot: MemorySnapshot = snapshot
        self.device: int = device
        self.account: DeviceAccount = DeviceAccount(snapshot, device)
        self.trace: Trace = self.account.trace

    @property
    def name(self) -> str:
        """The short name of the device."""
        return f"GPU:{self.device}"

    @computed_once
    def numbers(self) -> Integers:
        """The step of each event, and the number of steps."""
        return step_numbers(self.trace)

    @property
    def steps(self) -> int:
        """The number of steps; at least 1, because a file without a history contains one state."""
        return max(int(self.numbers[-1]), 1)

    @computed_once
    def pieces(self) -> Lifetimes:
        """The pieces of memory, by birth and address."""
        pieces = _in_one_step(lifetimes_of(self.account.pieces, self.trace), self.numbers)
        is_older = (pieces.stack < 0) & (pieces.event < 0)
        return pieces._replace(stack=np.where(is_older, OLDER, pieces.stack))

    @computed_once
    def ranges(self) -> Lifetimes:
        """The ranges of memory that the allocator had from the driver."""
        return _in_one_step(segments_of(self.trace, self.account.segments), self.numbers)

    @computed_once
    def in_use(self) -> Integers:
        """The bytes in use after each step."""
        return self.pieces.levels(self.steps)

    @computed_once
    def reserved(self) -> Integers:
        """The bytes that the allocator had from the driver after each step."""
        return self.ranges.levels(self.steps)

    @computed_once
    def peak(self) -> int:
        """The first step with the most memory in use."""
        return int(self.in_use.argmax())

    def step_of(self, event: int) -> int:
        """Returns the step of an event."""
        return min(int(self.numbers[min(event, len(self.trace))]), self.steps - 1)

    def step_after(self, state: int) -> int:
        """Returns the step that leads to a state of the account."""
        return max(int(self.numbers[state]) - 1, 0) if state else 0

    def alive(self, step: int) -> Lifetimes:
        """Returns the pieces in use after a step, by address."""
        pieces = self.pieces
        rows = np.flatnonzero((pieces.birth <= step) & (step < pieces.death))
        return pieces.at(rows[pieces.address[rows].argsort(kind="stable")])

    def window(self, around: int | None = None) -> Window:
        """Returns the steps of which a page shows every piece: all, or those around an event; None means the peak."""
        if self.steps <= MOST_STEPS:
            return Window(0, self.steps)
        middle = self.peak if around is None else self.step_of(around)
        first = min(max(middle - MOST_STEPS * 2 // 3, 0), self.steps - MOST_STEPS)
        return Window(first, first + MOST_STEPS)

    def window_between(self, first: int, last: int) -> Window:
        """Returns the steps from one event to another.

        Raises:
          ValueError: if these events do not exist, or are more than a page shows.
        """
        if not 0 <= first < last <= len(self.trace):
            raise ValueError(f"Events {first} to {last} do not exist. {self.name} has events 0 to {len(self.trace)}.")
        window = Window(self.step_of(first), self.step_of(last - 1) + 1)
        if window.end - window.first > MOST_STEPS:
            raise ValueError(
                f"Events {first} to {last} are {window.end - window.first:,} steps. "
                f"A page shows every piece of at most {MOST_STEPS:,} steps. Choose fewer events."
            )
        return window


def devices_of(snapshot: MemorySnapshot) -> list[int]:
    """Returns the numbers of the devices that a snapshot mentions, the one with the longest history first."""
    lengths = {segment.device: 0 for segment in snapshot.segments}
    lengths |= {trace.device: len(trace) for trace in snapshot.traces if len(trace) or trace.device in lengths}
    return sorted(lengths, key=lambda device: (-lengths[device], device))


def _in_one_step(ranges: Lifetimes, numbers: Integers) -> Lifetimes:
    """Returns the same ranges; without any step, they exist in the only one that is shown."""
    return ranges if numbers[-1] else ranges._replace(death=np.ones_like(ranges.death))
