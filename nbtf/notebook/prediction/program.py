"""The program to predict, and how to run it once."""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from traceback import walk_tb
from types import FrameType, MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import patch

from IPython.core.interactiveshell import InteractiveShell

from nbtf import runtime
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.capacities import reported_bytes
from nbtf._frameworks.torch.prediction.callers import Callers, PredictedPiece
from nbtf._frameworks.torch.prediction.files import Files
from nbtf._frameworks.torch.prediction.host import Host
from nbtf._frameworks.torch.prediction.ledger import Ledger, Peak, WatchedAllocator
from nbtf.notebook.code_lines import LONGEST
from nbtf.notebook.prediction.time_limit import TimeLimit, TimeUp

_CODE_NAME = "<predicted cell {}>"
_CODE_FILE = re.compile(r"<predicted cell (\d+)>")
_OWN_MAGICS = "check|cluster|device|devices|gpu_memory|needs|placement|placement_log|(?:load|unload|reload)_ext nbtf"
_LEFT_OUT = re.compile(rf"^[^\S\n]*(?:!|%pip|%conda|%%?(?:{_OWN_MAGICS})(?![\w.])).*$", re.MULTILINE)
"""Lines that are not run again: they install something, inspect this computer, or are the prediction itself."""

_MACHINE_CALLS = ("restart", "simulate_cluster", "simulate_gpus")
"""Functions of `tf.runtime` that do nothing here: the program already has the predicted cards."""

_STEPS = 3
"""Number of optimizer steps without a new peak after which a long loop is ended."""

UNLIMITED = 1 << 50
"""Memory of a card on which everything fits, used to measure programs that do not fit."""


class Cell(NamedTuple):
    """A cell: its number in the notebook, its source, and whether its memory is to be predicted."""

    number: int
    source: str
    is_predicted: bool


class PredictedDevice(NamedTuple):
    """The peak of a device, and the allocations at it."""

    peak: Peak
    pieces: tuple[PredictedPiece, ...]


class Outcome(NamedTuple):
    """The outcome of a run: the fullest device, and further observations.

    `error` is the error that ended a predicted cell, `stopped` the place at which time ran out, and `unprepared` the
    errors of earlier cells. `devices` are all that were used, if the callers of allocations were recorded. `examples`
    is the size of the largest data set that was loaded, by the batch size of its loader.
    """

    peak: Peak | None
    error: str
    stopped: str
    unprepared: tuple[str, ...]
    is_cut: bool
    steps: int
    reads: dict[str, int]
    notes: tuple[str, ...]
    devices: tuple[PredictedDevice, ...] = ()
    examples: Mapping[int, int] = MappingProxyType({})

    @property
    def is_whole(self) -> bool:
        """Whether the program ran to its end."""
        return not self.error and not self.stopped

    @property
    def fits(self) -> bool:
        """Whether the card had enough memory for every request."""
        return self.peak is not None and not self.peak.ooms


class Enough(BaseException):
    """Ends a cell whose memory no longer changes; the program's `except Exception` does not catch it."""


class Program:
    """Cells that can be run several times, with different questions."""

    def __init__(
        self, torch: Any, machine: Any, cells: Sequence[Cell], seconds: float, limit: TimeLimit | None = None
    ) -> None:
        """Stores PyTorch with its simulated devices, the cells, and the time limits of a loop and of all runs."""
        self._torch, self._machine, self._seconds = torch, machine, seconds
        self.cells: Sequence[Cell] = cells
        self.limit: TimeLimit = limit or TimeLimit(0)
        self._shell: Any = InteractiveShell.instance()
        self._shell.compile.get_code_name = self._code_name
        self._shell.showtraceback = _do_nothing  # tracebacks would be discarded, and take time
        self._number = 0
        self._until = 0.0  # in processor time: a busy computer must not end a loop earlier

    @property
    def settings(self) -> AllocatorSettings:
        """The settings of the allocators."""
        return self._machine.allocators[0].settings

    def run(
        self,
        cells: Sequence[Cell] | None = None,
        total: int | None = None,
        change: Callable[[], AbstractContextManager[Any]] = nullcontext,
        look: Callable[[int], object] | None = None,
        callers: Callers | None = None,
    ) -> Outcome:
        """Runs the cells in a fresh namespace on empty devices.

        Args:
          cells: replacements for the program's own cells.
          total: memory of each card, if not its own.
          change: a context in which the cells run.
          look: called before each allocation, with its number.
          callers: records the calls that lead to each allocation; None records none.
        """
        ledger = Ledger(self._torch, self._line, lambda: self._check(ledger, look), callers)
        allocators = self._fresh_allocators(ledger, total)
        notes: list[str] = []
        host = Host(self._torch, self._machine, ledger)
        self._torch.manual_seed(0)
        with ExitStack() as stack:
            for handle in ledger.listen():
                stack.callback(handle.remove)
            stack.enter_context(change())
            machine_calls: Any = dict.fromkeys(_MACHINE_CALLS, _do_nothing)
            stack.enter_context(patch.multiple(runtime, **machine_calls))
            examples: dict[int, int] = {}
            stack.enter_context(_examples_recorded(self._torch.utils.data.DataLoader, examples))
            if not self._machine.tensors.has_values:
                stack.enter_context(Files(self._torch, ledger, host, notes).held_in_memory())
                stack.enter_context(host.without_values())
            ends = self._run_cells(self.cells if cells is None else cells, allocators, ledger, notes)
        ledger.finish()
        peaks = [allocator.peak() for allocator in allocators]
        used = [peak for peak in peaks if peak.allocated or peak.ooms]
        self._shell.reset(new_session=True)
        self._shell.last_execution_result = None
        gc.collect()
        gc.freeze()  # what libraries have loaded stays, so the collector can skip it
        fullest = max(used, key=lambda peak: (peak.ooms, peak.allocated), default=None)
        devices = () if callers is None else _devices(used, allocators)
        return Outcome(fullest, *ends, ledger.steps, dict(host.reads), tuple(notes), devices, examples)

    def _fresh_allocators(self, ledger: Ledger, total: int | None) -> list[WatchedAllocator]:
        allocators: list[WatchedAllocator] = []
        for number, card in enumerate(self._machine.cards):
            settings = self._machine.allocators[number].settings
            allocator = WatchedAllocator(reported_bytes(card) if total is None else total, settings, device=number)
            allocator.watch(ledger)
            allocators.append(allocator)
        self._machine.allocators[:] = allocators
        return allocators

    def _run_cells(
        self, cells: Sequence[Cell], allocators: Sequence[WatchedAllocator], ledger: Ledger, notes: list[str]
    ) -> tuple[str, str, tuple[str, ...], bool]:
        """Runs cells up to the first error of a predicted cell, or until the time is up.

        Returns:
          How they ended: `error`, `stopped`, `unprepared` and `is_cut` of an outcome.
        """
        is_cut, unprepared = False, list[str]()
        self._predicted = cells
        has_begun = False
        for cell in cells:
            if cell.is_predicted and not has_begun:
                has_begun = True
                cached = sum([allocator.begin() for allocator in allocators])
                if cached:
                    notes.append(
                        f"The prediction starts with an empty cache: it does not count {runtime.exact(cached)} that "
                        "earlier cells reserved and no longer use."
                    )
            error = self._end_of(cell, ledger)
            if isinstance(error, TimeUp):
                return "", self._line_of(error) or f"cell {cell.number}", tuple(unprepared), is_cut
            if isinstance(error, Enough):
                is_cut = True
            elif error is not None:
                code_line = self._line_of(error) or f"cell {cell.number}"
                text = f"{code_line} raises {type(error).__name__}: {_reason(error)}"
                if cell.is_predicted:
                    return text, "", tuple(unprepared), is_cut
                unprepared.append(text)
        return "", "", tuple(unprepared), is_cut

    def _end_of(self, cell: Cell, ledger: Ledger) -> BaseException | None:
        """Runs a cell; returns the error that ended it, if any."""
        self._number, self._until = cell.number, time.process_time() + self._seconds
        ledger.begin_cell()
        try:
            with self.limit.interrupting():
                result = self._shell.run_cell(_LEFT_OUT.sub("", cell.source), store_history=False)
        except TimeUp as error:  # raised outside the cell's code
            return error
        return result.error_before_exec or result.error_in_exec

    def _check(self, ledger: Ledger, look: Callable[[int], object] | None) -> None:
        """Ends a cell when all time is up, or when its own is and its memory has not grown for some steps."""
        self.limit.check()
        if time.process_time() > self._until and ledger.steps_without_peak >= _STEPS:
            self._until = float("inf")
            raise Enough
        if look is not None:
            look(ledger.allocations + 1)

    def _code_name(self, *_: Any, **__: Any) -> str:
        """Returns the name of the running cell's code, for IPython."""
        return _CODE_NAME.format(self._number)

    def _line(self) -> str:
        """Returns the innermost running line of a cell, as text."""
        frame = next(frames_of_cells(sys._getframe(1)), None)
        return "" if frame is None else self._in_words(frame.f_code.co_filename, frame.f_lineno)

    def _line_of(self, error: BaseException) -> str:
        """Returns the innermost line of a cell in an error's traceback, as text."""
        lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        lines = [each for each in lines if number_of(each[0])]
        return self._in_words(*lines[-1]) if lines else ""

    def _in_words(self, file: str, line_of_code: int) -> str:
        return in_cell(self._predicted, number_of(file), line_of_code)


def _examples_recorded(loader_class: Any, examples: dict[int, int]) -> AbstractContextManager[Any]:
    """Returns a context that records how many examples new data loaders have, by their batch size."""
    begin = loader_class.__init__

    def begin_and_record(loader: Any, *args: Any, **options: Any) -> None:
        begin(loader, *args, **options)
        with suppress(TypeError, NotImplementedError):  # the size of some data sets is unknown
            if loader.batch_size is not None:
                examples[loader.batch_size] = max(len(loader.dataset), examples.get(loader.batch_size, 0))

    return patch.object(loader_class, "__init__", begin_and_record)


def _devices(peaks: Sequence[Peak], allocators: Sequence[WatchedAllocator]) -> tuple[PredictedDevice, ...]:
    return tuple(PredictedDevice(peak, tuple(allocators[peak.device].pieces_at_peak())) for peak in peaks)


def _do_nothing(*_: Any, **__: Any) -> None:
    """Replaces the functions in `_MACHINE_CALLS`."""


def frames_of_cells(frame: FrameType | None) -> Iterator[FrameType]:
    """Yields the frames of cells among a frame and its callers, innermost first."""
    while frame is not None:
        if number_of(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def in_cell(cells: Sequence[Cell], number: int, line_of_code: int) -> str:
    """Returns a line of a cell as text, such as `cell 4, line 2: y = model(x)`.

    Args:
      cells: the cells.
      number: number of the cell.
      line_of_code: number of the line in the code that IPython runs, which does not begin with blank lines.
    """
    source = next((cell.source for cell in cells if cell.number == number), "")
    lines = source.splitlines()
    line = line_of_code + blank_lines(source)
    text = lines[line - 1].strip() if line <= len(lines) else ""
    return f"cell {number}, line {line}: {text[:LONGEST]}"


def number_of(file: str) -> int:
    """Returns the number of the cell whose code has this file name; 0 if the code is not from a cell."""
    match = _CODE_FILE.fullmatch(file)
    return int(match[1]) if match else 0


def blank_lines(source: str) -> int:
    """Returns how many leading lines of a cell IPython removes."""
    return next((index for index, line in enumerate(source.splitlines()) if line.strip()), 0)


def _reason(error: BaseException) -> str:
    """Returns an error's message; for ops without an outline, explains that their results depend on values."""
    op = re.match(
        r"(?:Could not run 'aten::|The register_meta function for torch\.|aten::(?=\w+: attempted to run))(\w+)",
        str(error),
    )
    if op is None:
        return str(error)
    return f"aten::{op[1]} cannot be predicted: what it returns depends on values, and a prediction has none."
