"""The work of TensorFlow in a block, and the part of it that was not recorded."""

from __future__ import annotations

from typing import Any

from nbtf._counts import counted
from nbtf._frameworks.base import Activity, cautious
from nbtf._frameworks.tensorflow import memory
from nbtf._frameworks.tensorflow.executions import Executions
from nbtf._frameworks.tensorflow.internals import can_watch
from nbtf._frameworks.tensorflow.watching import executions
from nbtf._own_name import own_name


class TensorFlowActivity(Activity):
    """Counts the ops of all threads."""

    def __init__(self, tensorflow: Any) -> None:
        """Stores TensorFlow's module."""
        self._tensorflow = tensorflow
        self._executions: Executions | None = None
        self._is_on = False
        self._before = 0, 0, 0
        self._at_end: tuple[int, int, int] | None = None

    def start(self) -> None:
        """Begins to count, if this release can be watched."""
        self._reset_peaks()
        if not can_watch():
            return
        self._executions = executions()
        self._before = self._now(self._executions)
        self._is_on = True
        self._executions.begin(is_wanted=False)

    @cautious(lambda: None)
    def _reset_peaks(self) -> None:
        memory.reset_peaks(self._tensorflow)

    @cautious(lambda: None)
    def peaks(self) -> dict[str, int] | None:
        """Returns the highest use on each card since the start, according to TensorFlow's allocators."""
        return memory.peaks(self._tensorflow)

    def stop(self) -> None:
        """Stops counting."""
        self._at_end = self._counts()
        if self._is_on and self._executions is not None:
            self._is_on = False
            self._executions.end(is_wanted=False)

    @staticmethod
    def _now(observed: Executions) -> tuple[int, int, int]:
        return observed.heard.value, observed.unrecorded.value, observed.notes.opaque_calls

    def _counts(self) -> tuple[int, int, int]:
        """Returns the numbers of ops, of unrecorded ops, and of calls of functions whose inside is unknown."""
        if self._at_end is not None or self._executions is None:
            return self._at_end or (0, 0, 0)
        op_count, unrecorded, opaque = self._now(self._executions)
        return op_count - self._before[0], unrecorded - self._before[1], opaque - self._before[2]

    @property
    def recorder(self) -> str:
        """The expression that records TensorFlow's ops in a program."""
        return f'{own_name()}.runtime.watch("tensorflow")' if self._executions is not None else ""

    def work(self) -> str | None:
        """Returns a sentence about the ops that were not recorded."""
        if self._executions is None:
            return "TensorFlow may have run ops that were not recorded"
        _, unrecorded, opaque = self._counts()
        if unrecorded:
            hint = "%placement_log watch tensorflow records them"
            return f"TensorFlow ran {counted(unrecorded, 'op')}, not recorded ({hint})"
        if opaque:
            function, reason = next(reversed(self._executions.notes.opaque.items()))
            return f"TensorFlow called {function}, whose ops are unknown. {reason.removesuffix('.')}"
        return None

    def unmeasured(self) -> str | None:
        """Returns a sentence about GPUs that report no memory, or about ops if it uses no GPU."""
        unreported = self._unreported()
        if unreported:
            return f"TensorFlow's memory on {', '.join(unreported)} is unknown"
        op_count = self._counts()[0]
        work = self.work() or (f"TensorFlow ran {counted(op_count, 'op')}" if op_count else None)
        return None if self._has_gpus() or work is None else f"{work}, on no GPU that reports its memory"

    @cautious(list[str])
    def _unreported(self) -> list[str]:
        return memory.unreported(self._tensorflow)

    @cautious(lambda: False)
    def _has_gpus(self) -> bool:
        return bool(memory.started_gpus(self._tensorflow))
