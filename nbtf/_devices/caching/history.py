"""PyTorch's allocator history, which `torch.cuda.memory._record_memory_history()` records."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

Frames = tuple[tuple[str, int, str], ...]
"""A call stack, innermost first: file, line and function."""

_OWN_FILES = f"{Path(__file__).parents[2]}"
_SLACK = 1024
"""This many entries more than allowed may be kept before the oldest are dropped, so that dropping is rare."""


class History:
    """The events of one allocator, oldest first, and the call stack of each living allocation.

    Source of names and sizes: record_trace in CUDACachingAllocator.cpp, and torch/csrc/cuda/memory_snapshot.cpp.
    """

    def __init__(
        self,
        context: str | None,
        keeps_events: bool,
        limit: int,
        skipped: Collection[str] = (),
        previous: History | None = None,
    ) -> None:
        """Starts empty, or with what an earlier history has recorded.

        Args:
          context: which call stacks to record: None, `state` or `alloc` (those of allocations), or `all`.
          keeps_events: whether to keep events besides the stacks of living allocations.
          limit: number of events to keep.
          skipped: actions that are not recorded.
          previous: the earlier history.
        """
        self._context, self._most, self._skipped = context, limit if keeps_events else 0, frozenset(skipped)
        self.is_recording = True
        self.events: list[tuple[str, int, int, int, int, Frames]] = [] if previous is None else [*previous.events]
        """Action, address (for `oom`, the free bytes), size, stream, time in microseconds, and call stack."""
        self._frames: dict[int, Frames] = {} if previous is None else {**previous._frames}
        """The call stack of each living allocation, by its address."""

    def write(self, action: str, address: int, size: int, stream: int) -> None:
        """Adds an event."""
        frames: Frames = ()
        if self._context == "all" or (self._context is not None and action == "alloc"):
            frames = _stack()
        if action == "alloc":
            self._frames[address] = frames
        elif action == "free_completed":
            self._frames.pop(address, None)
        if self._most and action not in self._skipped:
            self.events.append((action, address, size, stream, time.time_ns() // 1000, frames))
            if len(self.events) > self._most + _SLACK:
                del self.events[: -self._most]

    def trace(self) -> list[dict[str, Any]]:
        """Returns the events in the format of `device_traces` in a snapshot."""
        return [
            {
                "action": action,
                "device_free" if action == "oom" else "addr": address,
                "size": size,
                "stream": stream,
                "time_us": moment,
                **({"frames": as_dicts(frames)} if self._context is not None else {}),
            }
            for action, address, size, stream, moment, frames in self.events[-self._most or len(self.events) :]
        ]

    def frames_at(self, address: int) -> list[dict[str, Any]]:
        """Returns the call stack of the allocation at an address; empty if it was not recorded."""
        return as_dicts(self._frames.get(address, ()))


def as_dicts(frames: Sequence[tuple[str, int, str]]) -> list[dict[str, Any]]:
    """Returns a call stack as snapshots contain it."""
    return [{"filename": file, "line": line, "name": name} for file, line, name in frames]


def _stack() -> Frames:
    """Returns the caller's stack without the frames of nbtf."""
    frames: list[tuple[str, int, str]] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OWN_FILES):
            frames.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return tuple(frames)
