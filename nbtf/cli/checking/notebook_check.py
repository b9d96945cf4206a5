"""Are a notebook's outputs as recorded? One kernel runs its cells once; then each cell is compared."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbtf.cli import redirect
from nbtf.cli.checking import budgets
from nbtf.cli.checking.outputs import Comparison
from nbtf.cli.checking.progress import CellEnded
from nbtf.cli.checking.sanitizing import Rule
from nbtf.cli.checking.time_limit import TooSlowError, comparing_within
from nbtf.cli.checking.verdicts import CellVerdict, NotebookVerdict, State
from nbtf.cli.command_error import CommandError
from nbtf.cli.comparison import difference, is_recorded, may_raise, what_is_missing
from nbtf.cli.execution import (
    START_SECONDS,
    CellError,
    CellRun,
    Conditions,
    KernelDiedError,
    code_cells,
    run_cells,
)
from nbtf.cli.generation import name_of_tensorflow_1
from nbtf.cli.languages import differs, original_of
from nbtf.cli.libraries import STARTUP, is_simulated_for_torch, simulate_for
from nbtf.cli.limits import STRICT, Limits, read_limits
from nbtf.cli.marks import Marks, marks
from nbtf.cli.needs import missing_modules
from nbtf.cli.notebook_file import OtherLanguageError, read

NOTEBOOK = "notebook"
"""The name of the watch over all cells."""

SKIPS = ("SkipTest", "Skipped")
"""Errors with which a cell asks to be skipped: those of `unittest` and of `pytest.skip`."""

LINES_OF_ERROR, LONGEST_ERROR = 8, 20_000
"""Lines and characters of an error that are shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How notebooks are checked: the options of the command and the settings for all of them.

    `redirected` runs them as `nbtf run` does: TensorFlow's names mean nbtf, and only printed output is compared.
    `kernel` is the name of an installed kernel; None runs this Python. `is_strict` compares values that usually vary.
    `tell_cell` is called after each cell.
    """

    environment: Mapping[str, str]
    seconds: int | None = None
    rules: Sequence[Rule] = ()
    limits: Limits = STRICT
    limits_of: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict[Path, Mapping[str, Any]])
    redirected: bool = False
    lax: bool = False
    is_strict: bool = False
    kernel: str | None = None
    startup_seconds: int = START_SECONDS
    tell_cell: CellEnded | None = None


class NotebookSkippedError(Exception):
    """A cell raised SkipTest, or called `pytest.skip`: neither it nor the cells after it are checked."""


async def check(path: Path, plan: Plan) -> NotebookVerdict:
    """Checks a notebook; every problem is part of the verdict, and only the end of the program is raised.

    Args:
      path: the notebook's file.
      plan: how it is checked.
    """
    verdict, started = NotebookVerdict(path), time.perf_counter()
    try:
        notebook = read(path)
        original = original_of(path, notebook)
        if original is not None:
            verdict.translated = True
            verdict.problems += not_as_its_original(original, notebook)
        else:
            await _Check(notebook, plan, verdict).run()
    except OtherLanguageError as error:
        verdict.skipped = f"needs {error.language}"
    except CommandError as error:
        verdict.unusable, verdict.problems = True, [str(error)]
    verdict.seconds = time.perf_counter() - started
    return verdict


def not_as_its_original(original: Path, notebook: Any) -> list[str]:
    """Returns the problems of a translation; it does not run, but must have its original's code and outputs."""
    if not original.exists():
        return [f"its original {original} does not exist"]
    if differs(read(original), notebook):
        return [f"its code or outputs differ from {original}; build it again with `nbtf notebooks translate`"]
    return []


class _Check:
    """One notebook being checked: the settings of its cells, and their results so far."""

    def __init__(self, notebook: Any, plan: Plan, verdict: NotebookVerdict) -> None:
        """Reads the settings of the cells, and rejects invalid ones."""
        self._recorded, self._plan, self._verdict = notebook, plan, verdict
        self._cells = code_cells(notebook)
        numbered = enumerate(self._cells, start=1)
        self._marks = {index: marks(cell, f"cell {number}") for number, (index, cell) in numbered}
        verdict.missing = missing_modules(notebook.metadata)
        for cell_marks in self._marks.values():
            cell_marks.skipped |= bool(verdict.missing)
        in_metadata = read_limits(notebook.metadata.get("nbtf", {}).get("limits", {}), "the notebook's metadata")
        self._limits = replace(plan.limits, **{**plan.limits_of.get(verdict.path, {}), **in_metadata})
        self._runs: dict[int, CellRun] = {}

    async def run(self) -> None:
        """Runs the cells, then judges each."""
        executed = self._verdict.executed = copy.deepcopy(self._recorded)
        for index, _ in self._cells:
            if not self._marks[index].skipped:
                cell_now = executed.cells[index]
                cell_now.update(outputs=[], execution_count=None)  # a cell that is not reached has no output
        try:
            if not self._verdict.missing:
                executed.metadata.update(await run_cells(self._recorded, self._conditions(), self._keep))
        except (KernelDiedError, NotebookSkippedError):
            pass  # `_keep` has already stored why no cell follows
        for count, (index, run) in enumerate(self._runs.items(), start=1):
            executed.cells[index].update(outputs=run.outputs, execution_count=count)
        self._verdict.cells += [self._judge(number, *cell) for number, cell in enumerate(self._cells, start=1)]

    def _keep(self, run: CellRun) -> None:
        error = run.error
        if self._plan.tell_cell is not None:
            self._plan.tell_cell(self._verdict.path, run.number, len(self._cells))
        if error is not None and error.name in SKIPS and not self._marks[run.index].may_raise:
            self._verdict.skipped = f"cell {run.number} raised {error.name}: {error.text}".rstrip(": ")
            raise NotebookSkippedError
        self._runs[run.index] = run

    def _conditions(self) -> Conditions:
        plan = self._plan
        code_before, code_after = self._watches()
        startup: list[str] = []
        if plan.redirected:
            old = name_of_tensorflow_1(cell.source for _, cell in self._cells)
            startup.append(redirect.startup(bool(old)))
        sources = [cell.source for index, cell in self._cells if not self._marks[index].skipped]
        environment = {**plan.environment, **simulate_for(sources, plan.environment)}
        if is_simulated_for_torch(environment):
            startup.append(STARTUP)
        if code_before:
            startup.append(budgets.startup())
        return Conditions(
            self._verdict.path.resolve().parent,
            environment,
            plan.seconds,
            "\n".join(startup),
            code_before,
            code_after,
            [index for index, marks in self._marks.items() if marks.skipped],
            joined_streams=not plan.redirected,
            kernel=plan.kernel,
            startup_seconds=plan.startup_seconds,
        )

    def _watches(self) -> tuple[dict[int, str], dict[int, str]]:
        """Returns the code before and after the cells whose use of devices is checked."""
        code_before: dict[int, str] = {}
        code_after: dict[int, str] = {}
        indices = [index for index, marks in self._marks.items() if not marks.skipped]
        numbers = [number for number, (index, _) in enumerate(self._cells, start=1) if index in indices]
        for index in indices:
            limits = replace(Limits(), **self._marks[index].limits)
            if limits.of_devices:
                code_before[index] = budgets.beginning(budgets.CELL)
                code_after[index] = budgets.ending(budgets.CELL, limits, numbers)
        if self._limits.of_devices and indices:
            first, last = indices[0], indices[-1]
            code_before[first] = "\n".join([budgets.beginning(NOTEBOOK), code_before.get(first, "")])
            ending = budgets.ending(NOTEBOOK, self._limits, numbers)
            code_after[last] = "\n".join([code_after.get(last, ""), ending])
        return code_before, code_after

    def _judge(self, number: int, index: int, cell: Any) -> CellVerdict:
        name, recorded = str(cell.get("id", "")), list(cell.get("outputs", []))
        verdict = CellVerdict(number, index, cell.source, State.SKIPPED, recorded=recorded, name=name)
        marks, run = self._marks[index], self._runs.get(index)
        if marks.skipped:
            verdict.missing = [] if self._verdict.missing else missing_modules(cell.metadata)
            verdict.state = State.NOT_RUN if verdict.missing else State.SKIPPED
            return verdict
        if run is None and self._verdict.skipped:
            return verdict
        if run is None:
            verdict.state, verdict.lines = State.NOT_REACHED, ["not reached: the kernel had ended"]
            return verdict
        verdict.printed, verdict.seconds = run.outputs, run.seconds
        verdict.notes = [f"left out: {line}" for line in run.left_out]
        if run.error is not None and not self._may_raise(cell, marks, run.error):
            verdict.state, verdict.lines = State.FAILED, _raised(run.error, self._plan.redirected)
        elif self._is_compared(cell, marks):
            verdict.lines, notes = self._compare(cell, marks, run)
            verdict.notes += notes
            verdict.state = State.DIFFERS if verdict.lines else State.SAME
        else:
            verdict.state = State.RAN
        self._add_broken(run.broken, verdict)
        return verdict

    def _add_broken(self, lines: list[str], verdict: CellVerdict) -> None:
        """Adds the findings about devices, unless the cell failed for another reason."""
        of_cell = [line for line in lines if not line.startswith(budgets.OF_NOTEBOOK)]
        of_all = [line.removeprefix(budgets.OF_NOTEBOOK) for line in lines if line not in of_cell]
        if of_all:
            self._verdict.problems.append(budgets.OF_NOTEBOOK + "\n".join(of_all))
        if of_cell and verdict.state is not State.FAILED:
            verdict.lines += of_cell
            verdict.state = State.FAILED

    def _may_raise(self, cell: Any, marks: Marks, error: CellError) -> bool:
        return marks.may_raise or (self._plan.redirected and may_raise(cell, error))

    def _is_compared(self, cell: Any, marks: Marks) -> bool:
        compared = not self._plan.lax if marks.compared is None else marks.compared
        return compared and is_recorded(cell)

    def _compare(self, cell: Any, marks: Marks, run: CellRun) -> tuple[list[str], list[str]]:
        if self._plan.redirected:
            return difference(cell, run), []
        limits = self._limits.for_outputs_of(marks.limits)
        try:
            with comparing_within(self._plan.seconds):
                comparison = Comparison(self._plan.rules, limits, self._plan.is_strict)
                return comparison.differences(cell.get("outputs", []), run.outputs)
        except TooSlowError as error:
            rule = f"; the time was spent in the rule {error.rule!r:.200}" if error.rule else ""
            return [f"not compared: comparing took longer than {self._plan.seconds} s (--timeout){rule}"], []


def _raised(error: CellError, redirected: bool) -> list[str]:
    """Returns the error as lines."""
    if redirected:
        return [what_is_missing(error)]
    lines = f"{error.name}: {error.text[:LONGEST_ERROR]}".rstrip().splitlines() or [error.name]
    is_cut = len(lines) > LINES_OF_ERROR or len(error.text) > LONGEST_ERROR
    return [*lines[:LINES_OF_ERROR], "…"] if is_cut else lines
