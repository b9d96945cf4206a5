"""The driver functions behind `torch.cuda.memory._record_memory_history()`, for simulated devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.caching.history import History
from nbtf._frameworks.torch.simulation.machine import Machine


class MemoryHistory:
    """Starts and stops the histories of all devices."""

    def __init__(self, machine: Machine) -> None:
        """Stores the machine with the devices."""
        self._machine = machine

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions for `torch._C`, by their names there without `_cuda_`."""
        return {
            "record_memory_history": self.record,
            "record_memory_history_legacy": self.record_legacy,
            "isHistoryEnabled": self.is_recording,
        }

    def record(
        self,
        enabled: str | None,
        context: str | None = "all",
        _stacks: str = "all",
        limit: int = sys.maxsize,
        clears: bool = False,
        _compile_context: bool = False,
        _annotations: bool = False,
        skipped: Sequence[str] = (),
    ) -> None:
        """Starts recording (`state`: living allocations; `all`: also a history of events), or stops it (None).

        Call stacks contain Python frames only.

        Raises:
          RuntimeError: if an argument has an unknown value.
        """
        if enabled not in (None, "state", "all"):
            raise RuntimeError(f"expected state to be 'state', 'all', or None, got {enabled!r}")
        if context not in (None, "state", "alloc", "all"):
            raise RuntimeError(f"expected context to be 'state', 'alloc', 'all', or None, got {context!r}")
        for allocator in self._machine.allocators:
            if enabled is not None:
                previous = None if clears else allocator.history
                allocator.record_history(History(context, enabled == "all", limit, skipped, previous))
            else:
                allocator.record_history(None)

    def record_legacy(
        self,
        enabled: bool,
        records_context: bool = True,
        limit: int = 1,
        records_context_of_events: bool = False,
        *_unused: Any,
    ) -> None:
        """Starts or stops recording, with the arguments of earlier releases."""
        context = ("all" if records_context_of_events else "state") if records_context else None
        self.record("all" if enabled else None, context, limit=limit)

    def is_recording(self) -> bool:
        """Returns whether a history is being recorded."""
        return any([each.history is not None and each.history.is_recording for each in self._machine.allocators])
