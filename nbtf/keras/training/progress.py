"""Progress of training: a bar that is updated in place in terminals and notebooks, and plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_BAR = "━"


class Progbar:
    """A line of text that shows the progress of a task with many steps.

    In terminals and notebooks the line is updated in place, at most 20 times a second; only terminals get colour.
    In files one line is written when the task is done. Times differ between runs: if nbval checks a notebook, use
    `verbose=0` or sanitize numbers before `s` and `ms/step`.

    Args:
      target: number of steps; None if unknown.
      width: width of the bar in characters; 20 by default.
      verbose: 1, the default, for the bar; 2 for a plain line at the end; 0 for no output.
      interval: shortest time between two updates, in seconds; 0.05 by default.
      stateful_metrics: names of values that are already means; all others are averaged over updates.
      unit_name: name of a step; `step` by default.

    >>> bar = tf.keras.utils.Progbar(4, verbose=0)
    >>> bar.update(2, [("loss", 0.5)])
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target: int | None = target
        self.width: int = width
        self.verbose: int = verbose
        self.interval: float = interval
        self.unit_name = unit_name
        self._stateful = set(stateful_metrics or ())
        self._sums: dict[str, list[float]] = {}
        self._seen = 0
        self._start = time.time()
        self._last_update = 0.0
        self._after_first: float | None = None
        self._length = 0
        self._stream: Any = sys.stdout
        self._colour = verbose == 1 and bool(getattr(self._stream, "isatty", bool)())
        self._rewrites = verbose == 1 and (self._colour or _is_notebook(self._stream))

    @property
    def due(self) -> bool:
        """Whether the next update is due."""
        return self._rewrites and time.time() - self._last_update >= self.interval

    def update(
        self, current: int, values: Sequence[tuple[str, Any]] | Mapping[str, Any] | None = None, finalize: Any = None
    ) -> None:
        """Updates the progress.

        Args:
          current: number of completed steps.
          values: pairs of name and value.
          finalize: whether this is the last update; by default if `current` is the target.
        """
        last = bool(self.target is not None and current >= self.target) if finalize is None else bool(finalize)
        self.note_step()
        self._gather(current, values.items() if isinstance(values, Mapping) else values or ())
        self._seen = current
        now = time.time()
        if self.verbose == 2 and last:
            self._write(f"{self._count(current)} - {now - self._start:.0f}s -{self._status(current, now)}\n")
        elif self.verbose == 1 and (last or (self._rewrites and now - self._last_update >= self.interval)):
            self._draw(current, now, last)

    def add(self, n: int, values: Any = None) -> None:
        """Advances the progress by some steps."""
        self.update(self._seen + n, values)

    def note_step(self) -> None:
        """Records the time of the first step, which takes longer than the others and is excluded from their mean."""
        if self._after_first is None:
            self._after_first = time.time()

    def show(self, current: int, logs: Mapping[str, float], last: bool) -> None:
        """Updates the progress with values that are already means."""
        self._stateful.update(logs)
        self.update(current, logs, last)

    def _gather(self, current: int, values: Iterable[tuple[str, Any]]) -> None:
        for name, value in values:
            if name in self._stateful:
                self._sums[name] = [float(value), 1.0]
                continue
            # As in Keras, a value counts for all steps since the previous update.
            steps = float(max(current - self._seen, 1))
            sum_and_count = self._sums.setdefault(name, [0.0, 0.0])
            sum_and_count[0] += float(value) * steps
            sum_and_count[1] += steps

    def _draw(self, current: int, now: float, last: bool) -> None:
        count = self._count(current)
        line = f"{self._bold(count)} {self._bar(current)}" if self.target is not None else count
        spent = now - self._start
        if self.target is not None and current < self.target:
            spent = self._per_step(current, now) * (self.target - current)
        line += f" {self._bold(_duration(spent))}{self._status(current, now)}"
        length = len(line)
        text = ("\r" if self._rewrites else "") + line + " " * max(0, self._length - length) + ("\n" if last else "")
        self._length, self._last_update = length, now
        self._write(text)

    def _count(self, current: int) -> str:
        if self.target is None:
            return f"{current:>7}/Unknown"
        digits = int(math.log10(self.target)) + 1 if self.target else 1
        return f"{current:>{digits}}/{self.target}"

    def _bar(self, current: int) -> str:
        full = int(self.width * current / self.target) if self.target else self.width
        filled, open_ = _BAR * full, _BAR * (self.width - full)
        return f"\33[32m{filled}\33[0m\33[37m{open_}\33[0m" if self._colour else filled + (open_ and " " * len(open_))

    def _bold(self, text: str) -> str:
        return f"\33[1m{text}\33[0m" if self._colour else text

    def _status(self, current: int, now: float) -> str:
        text = _time_of_one(self._per_step(current, now), self.unit_name)
        for name, (total, count) in self._sums.items():
            mean = total / max(count, 1.0)
            text += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return text

    def _per_step(self, current: int, now: float) -> float:
        if not current:
            return 0.0
        if self._after_first is not None and current > 1:
            return (now - self._after_first) / (current - 1)
        return (now - self._start) / current

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self._stream.write(text.replace(_BAR, "="))
        self._stream.flush()


def _is_notebook(stream: Any) -> bool:
    """Returns whether a stream writes to a notebook, which handles carriage returns."""
    return type(stream).__module__.partition(".")[0] in ("ipykernel", "pyodide_kernel", "piplite")


def _duration(seconds: float) -> str:
    whole_seconds = int(seconds)
    if whole_seconds > 3600:
        return f"{whole_seconds // 3600}:{whole_seconds % 3600 // 60:02d}:{whole_seconds % 60:02d}"
    if whole_seconds > 60:
        return f"{whole_seconds // 60}:{whole_seconds % 60:02d}"
    return f"{seconds:.0f}s"


def _time_of_one(seconds: float, unit: str) -> str:
    if seconds >= 1 or seconds == 0:
        return f" {seconds:.0f}s/{unit}"
    return f" {seconds * 1e3:.0f}ms/{unit}" if seconds >= 1e-3 else f" {seconds * 1e6:.0f}us/{unit}"
