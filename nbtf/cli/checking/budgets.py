"""Did a cell's ops run where expected, and did its memory stay within bounds? Runs in the notebook's kernel.

The checks are those of `%%placement --expect` and `%%gpu_memory --at-most`. Their findings become an output with a
type of our own, which the command removes.
"""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Sequence
from functools import partial
from typing import Any

from nbtf import runtime
from nbtf._frameworks.op_watch import OpWatch
from nbtf.cli.execution import BROKEN
from nbtf.cli.limits import Limits
from nbtf.notebook.code_lines import in_words

EVENTS = 100_000
"""Events kept of a cell: totals count everything, and an event gives the line of an op."""

CELL, OF_NOTEBOOK = "cell", "all cells: "
"""The name of the watch over a cell, and the heading of findings about the whole notebook."""

NOTHING = "gpu_memory: no GPU was used, so nothing was measured; --gpus simulates some"


class Watch:
    """A recording, including PyTorch's ops, that starts in one cell of the kernel and is checked in another."""

    def __init__(self) -> None:
        """Starts to record."""
        recorder = runtime.Recorder(EVENTS)
        self.record: runtime.Recording = runtime.Recording(recorder)
        self._stop = runtime.start_recorder(recorder)
        self.record.watch.start()
        self._op_watch = OpWatch.of_all()
        self._op_watch.start_if_possible()

    def finish(self) -> runtime.Recording:
        """Ends the recording and returns it."""
        self._op_watch.stop()
        self._stop()
        self.record.finish()
        return self.record


_WATCHES: dict[str, Watch] = {}
"""The active watches: over a cell, and over the whole notebook."""


def startup() -> str:
    """Returns the code that loads this module in a kernel."""
    return f"__import__({__name__!r})"


def beginning(name: str) -> str:
    """Returns the code that starts a watch in a kernel."""
    return f"__import__({__name__!r}, fromlist=['begin']).begin({name!r})"


def ending(name: str, limits: Limits, numbers: Sequence[int]) -> str:
    """Returns the code that ends a watch in the kernel and reports exceeded limits.

    Args:
      name: name of the watch.
      limits: the limits to check.
      numbers: the numbers of the notebook's code cells, in the order in which they run.
    """
    checked = limits.at_most, limits.kept_memory, limits.placement, limits.no_copies
    return f"__import__({__name__!r}, fromlist=['end']).end({name!r}, {tuple(numbers)!r}, {checked!r})"


def begin(name: str) -> None:
    """Starts a watch; runs in the kernel."""
    _WATCHES[name] = Watch()


def end(name: str, numbers: Sequence[int], checked: tuple[str | None, str | None, tuple[str, ...], bool]) -> None:
    """Ends a watch and publishes its findings; runs in the kernel."""
    publish: Any = importlib.import_module("IPython.display").publish_display_data
    undo = runtime.tell_code_lines(lambda site: in_words(site, partial(_cell_of, numbers)))
    at_most, kept_memory, placement, no_copies = checked
    limits = Limits(at_most=at_most, kept_memory=kept_memory, placement=placement, no_copies=no_copies)
    for line in broken(_WATCHES.pop(name).finish(), limits):
        publish({BROKEN: line if name == CELL else OF_NOTEBOOK + line})
    undo()


def _cell_of(numbers: Sequence[int], file: str) -> str:
    """Returns the name of the cell whose code was compiled under a file name; empty for a real file."""
    shell: Any = importlib.import_module("IPython").get_ipython()
    code = "".join(linecache.getlines(file)).strip()
    history: list[str] = shell.history_manager.input_hist_parsed[1:]
    return next((f"cell {number}" for number, text in zip(numbers, history, strict=False) if text.strip() == code), "")


def broken(record: runtime.Recording, limits: Limits) -> list[str]:
    """Returns the exceeded limits as lines of text.

    Args:
      record: a recording of the code that ran.
      limits: the limits to check.

    >>> with runtime.recording() as record:
    ...     pass
    >>> broken(record, Limits(placement=("MatMul=GPU:1",)))
    ['placement is not as expected (- expected, + seen)', '- MatMul on GPU:1', '+ no MatMul; the ops that ran: none']
    """
    lines: list[str] = []
    try:
        record.expect(*limits.placement, no_copies=limits.no_copies)
    except (runtime.ExpectationError, ValueError) as error:
        lines += str(error).splitlines()
    try:
        if limits.at_most is not None or limits.kept_memory is not None:
            record.expect_memory(limits.at_most, limits.kept_memory)
            lines += [] if record.memory else [NOTHING]
    except runtime.ExpectationError as error:
        lines += str(error).splitlines()
    return lines
