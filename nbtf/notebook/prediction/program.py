"""Which program is predicted, and how is it run once?"""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, NamedTuple

from IPython.core.interactiveshell import InteractiveShell

from nbtf._frameworks.torch.prediction.files import Files
from nbtf._frameworks.torch.prediction.host import Host
from nbtf._frameworks.torch.prediction.ledger import Ledger, Peak, WatchedAllocator
from nbtf.notebook.code_lines import LONGEST

_CODE_NAME = "<predicted cell {}>"
_LEFT_OUT = re.compile(r"^\s*(?:!|%pip|%conda|%%gpu_memory\s.*--predict).*$", re.MULTILINE)
"""Lines that are not run again: they install, or are the question itself."""

_STEPS = 3
"""Steps of an optimizer without a new peak, after which a loop that takes long is ended."""

UNLIMITED = 1 << 50
"""Memory of a card that holds everything, for how much a program needs that does not fit."""


class Cell(NamedTuple):
    """A cell: its number in the notebook, its text, and whether it is the one whose memory is of interest."""

    number: int
    source: str
    is_predicted: bool


class Outcome(NamedTuple):
    """What came of a run: the fullest device, and what was seen on the way."""

    peak: Peak | None
    error: str
    is_cut: bool
    steps: int
    reads: dict[str, int]
    notes: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether the card had everything that was asked of it."""
        return self.peak is not None and not self.peak.ooms


class Enough(BaseException):
    """Ends a cell whose memory no longer changes; `except Exception` of the program does not stop it."""


class Program:
    """Cells that are run as often as there are questions."""

    def __init__(self, torch: Any, machine: Any, cells: Sequence[Cell], seconds: float) -> None:
        """Takes PyTorch with its simulated devices, the cells, and how long a loop may take."""
        self._torch, self._machine, self.cells, self._seconds = torch, machine, cells, seconds
        self._shell: Any = InteractiveShell.instance()
        self._shell.compile.get_code_name = self._code_name
        self._number = 0
        self._until = 0.0

    def run(
        self,
        cells: Sequence[Cell] | None = None,
        total: int | None = None,
        change: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> Outcome:
        """Runs the cells in a fresh namespace on empty devices.

        Args:
          cells: other ones than the program's own.
          total: the memory of each card, if not its own.
          change: what holds while they run.
        """
        ledger = Ledger(self._torch, self._line, lambda: self._end_if_settled(ledger))
        allocators = self._fresh_allocators(ledger, total)
        notes: list[str] = []
        host = Host(self._torch, self._machine, ledger)
        self._torch.manual_seed(0)
        with ExitStack() as stack:
            for handle in ledger.listen():
                stack.callback(handle.remove)
            stack.enter_context(change())
            if not self._machine.tensors.has_values:
                stack.enter_context(Files(self._torch, ledger, host, notes).held_in_memory())
                stack.enter_context(host.without_values())
            error, is_cut = self._run_cells(self.cells if cells is None else cells, allocators, ledger)
        ledger.finish()
        peaks = [allocator.peak() for allocator in allocators]
        used = [peak for peak in peaks if peak.allocated or peak.ooms]
        self._shell.reset(new_session=True)
        self._shell.last_execution_result = None
        gc.collect()
        gc.freeze()  # what libraries have loaded by now stays, and is looked at no more
        fullest = max(used, key=lambda peak: (peak.ooms, peak.allocated), default=None)
        return Outcome(fullest, error, is_cut, ledger.steps, dict(host.reads), tuple(notes))

    def _fresh_allocators(self, ledger: Ledger, total: int | None) -> list[WatchedAllocator]:
        allocators: list[WatchedAllocator] = []
        for number, card in enumerate(self._machine.cards):
            settings = self._machine.allocators[number].settings
            allocator = WatchedAllocator(card.memory_bytes if total is None else total, settings, device=number)
            allocator.watch(ledger)
            allocators.append(allocator)
        self._machine.allocators[:] = allocators
        return allocators

    def _run_cells(
        self, cells: Sequence[Cell], allocators: Sequence[WatchedAllocator], ledger: Ledger
    ) -> tuple[str, bool]:
        """Runs cells to the end; returns the first error of one that is predicted, and whether a loop was ended."""
        is_cut = False
        self._predicted = cells
        has_begun = False
        for cell in cells:
            if cell.is_predicted and not has_begun:
                has_begun = True
                for allocator in allocators:
                    allocator.begin()
            self._number, self._until = cell.number, time.monotonic() + self._seconds
            ledger.begin_cell()
            result = self._shell.run_cell(_LEFT_OUT.sub("", cell.source), store_history=False)
            error = result.error_before_exec or result.error_in_exec
            if isinstance(error, Enough):
                is_cut = True
            elif error is not None and cell.is_predicted:
                return f"cell {cell.number}: {type(error).__name__}: {_reason(error)}", is_cut
        return "", is_cut

    def _end_if_settled(self, ledger: Ledger) -> None:
        """Ends a cell that has taken its time, when its memory has not grown for some steps."""
        if time.monotonic() > self._until and ledger.steps_without_peak >= _STEPS:
            self._until = float("inf")
            raise Enough

    def _code_name(self, *_: Any, **__: Any) -> str:
        """Returns the name of the running cell's code, for IPython."""
        return _CODE_NAME.format(self._number)

    def _line(self) -> str:
        """Returns the innermost line of a cell that runs, in words."""
        frame: Any = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith("<predicted cell "):
            frame = frame.f_back
        if frame is None:
            return ""
        number = int(frame.f_code.co_filename.removeprefix("<predicted cell ").removesuffix(">"))
        source: str = next((cell.source for cell in self._predicted if cell.number == number), "")
        lines: list[str] = source.splitlines()
        # IPython leaves out blank lines in front.
        line: int = frame.f_lineno + next((index for index, each in enumerate(lines) if each.strip()), 0)
        text = lines[line - 1].strip() if line <= len(lines) else ""
        return f"cell {number}, line {line}: {text[:LONGEST]}"


def _reason(error: BaseException) -> str:
    """Returns what an error says; of an op without outlines, that its results depend on values."""
    op = re.match(
        r"(?:Could not run 'aten::|The register_meta function for torch\.|aten::(?=\w+: attempted to run))(\w+)",
        str(error),
    )
    if op is None:
        return str(error)
    return f"aten::{op[1]} cannot be predicted: what it returns depends on values, and a prediction has none."
