"""`nbtf run`: does a TensorFlow notebook run on nbtf unchanged? Reports cell by cell and changes no file."""

from __future__ import annotations

import argparse
import copy
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtf._counts import counted
from nbtf.cli import execution, redirect
from nbtf.cli.arguments import add_parser, whole_number
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.comparison import MISSING, difference, is_recorded, may_raise, what_is_missing
from nbtf.cli.execution import CellRun, Conditions, KernelDiedError, code_cells
from nbtf.cli.generation import name_of_tensorflow_1
from nbtf.cli.libraries import imports_torch, is_simulated_for_torch, simulate_for
from nbtf.cli.notebook_file import read, write
from nbtf.cli.printable import first_line, printable
from nbtf.runtime import version

VARIABLE = "NBTF_SIMULATED_GPUS"
SAME, DIFFERS, UNRECORDED, FAILED = "ran, same as recorded", "ran, output differs", "ran, nothing recorded", "failed"
SOURCE_SHOWN = 50
LONGEST = 600
"""Time limit of a cell in seconds: more than any cell of a guide needs, less than a night in CI."""


def add_command(commands: Any) -> None:
    """Adds `run` to the command line."""
    timeout = {"type": whole_number("seconds"), "default": LONGEST}
    tf1 = {"action": argparse.BooleanOptionalAction}
    add_parser(commands, "run", run, gpus=whole_number("GPUs"), tf1=tf1, timeout=timeout)


def run(chosen: argparse.Namespace) -> int:
    """Runs the notebook, prints the report and returns the exit status."""
    require(["nbclient", "nbformat", "ipykernel"], "nbtf run")
    notebook = read(chosen.notebook)
    _check_output(chosen.output, chosen.notebook)
    report = Report(notebook)
    old = name_of_tensorflow_1(cell.source for _, cell in code_cells(notebook)) if chosen.tf1 is None else None
    tensorflow_1, folder = bool(chosen.tf1 or old), chosen.notebook.resolve().parent
    sources = [cell.source for _, cell in code_cells(notebook)]
    environ = environment(chosen.gpus)
    environ = {**environ, **simulate_for(sources, environ)}
    conditions = Conditions(folder, environ, chosen.timeout or None, startup=redirect.startup(tensorflow_1))
    print(printable(heading(chosen.notebook, chosen.gpus, tensorflow_1, old)), flush=True)
    if imports_torch(sources):
        is_simulated = is_simulated_for_torch(environ)
        sentence = "PyTorch uses the simulated GPUs." if is_simulated else "PyTorch runs without simulated GPUs."
        print(sentence, flush=True)
    try:
        execution.run_to_end(notebook, conditions, report.add)
    except KernelDiedError:
        pass  # the report includes this cell, and counts the cells after it
    try:
        if chosen.output is not None:
            write(chosen.output, report.executed)
            print(f"Wrote {chosen.output}")
    finally:
        print(report.summary())
    return 1 if report.counts[FAILED] else 0


class Report:
    """Prints and counts the cells as they finish, and keeps the notebook with its new outputs."""

    def __init__(self, notebook: Any) -> None:
        """Starts with no cell reported.

        Args:
          notebook: as it was recorded.
        """
        self.executed: Any = copy.deepcopy(notebook)
        for _, cell in code_cells(self.executed):
            cell.update(outputs=[], execution_count=None)  # a cell that is not reached has no output
        self.counts: Counter[str] = Counter()
        self._missing: list[str] = []
        self._cells = len(code_cells(notebook))
        self._recorded = notebook

    def add(self, run: CellRun) -> None:
        """Adds a cell: prints its line, then what differs, is missing or was left out."""
        cell = self._recorded.cells[run.index]
        verdict, details = judge(cell, run)
        self.counts[verdict] += 1
        self.executed.cells[run.index].update(outputs=run.outputs, execution_count=run.number)
        self._missing += [
            line.removesuffix(MISSING) for line in details if verdict == FAILED and line.endswith(MISSING)
        ]
        details += [f"left out: {line}" for line in run.left_out]
        print(printable(f"[{run.number:2}] {verdict:22} {first_line(run.source, SOURCE_SHOWN)}".rstrip()))
        print(printable("".join(f"       {line}\n" for line in details)), end="", flush=True)

    def summary(self) -> str:
        """The last lines: what nbtf lacks, how many cells ran and failed, and how many printed as recorded."""
        failed, reached = self.counts[FAILED], self.counts.total()
        phrases = [f"{counted(self._cells, 'cell')}: {reached - failed} ran, {failed} failed"]
        if reached < self._cells:
            phrases.append(f"{self._cells - reached} not reached")
        printed = (
            (SAME, "same as recorded"),
            (DIFFERS, "with different output"),
            (UNRECORDED, "with nothing recorded"),
        )
        phrases.append(", ".join(f"{self.counts[verdict]} {words}" for verdict, words in printed))
        lacking = ", ".join(sorted(set(self._missing)))
        return printable((f"Not in nbtf yet: {lacking}\n" if lacking else "") + "; ".join(phrases))


def judge(cell: Any, run: CellRun) -> tuple[str, list[str]]:
    """Returns the verdict on a cell, and the lines below it."""
    if run.error is not None and not may_raise(cell, run.error):
        return FAILED, [what_is_missing(run.error)]
    if not is_recorded(cell):
        return UNRECORDED, []
    changed = difference(cell, run)
    return (DIFFERS, changed) if changed else (SAME, [])


def heading(notebook: Path, gpus: int | None, tensorflow_1: bool = False, old: str | None = None) -> str:
    """Returns the heading: the notebook, its GPUs, and whether it runs as TensorFlow 1.

    Args:
      notebook: its file.
      gpus: number of GPUs requested; None leaves it to the environment.
      tensorflow_1: whether `import tensorflow` means TensorFlow 1.
      old: the name in the notebook that decided it; None if an option did.
    """
    simulated_gpus = os.environ.get(VARIABLE, "") if gpus is None else str(gpus)
    machine = f"; simulated GPUs: {simulated_gpus}" if simulated_gpus not in ("", "0") else ""
    reason = f", because it uses {old} (--no-tf1: TensorFlow 2)" if old else ""
    generation = f", as TensorFlow 1{reason}" if tensorflow_1 else ""
    return f"{notebook.name}: tensorflow means nbtf {version}{generation}{machine}"


def environment(gpus: int | None) -> Mapping[str, str]:
    """Returns the kernel's environment variables: this process's, and the requested GPUs."""
    return {**os.environ, **({} if gpus is None else {VARIABLE: str(gpus)})}


def _check_output(output: Path | None, notebook: Path) -> None:
    """Rejects, before anything runs, an output path that is the notebook itself or has no folder."""
    if output is None:
        return
    if output.exists() and output.samefile(notebook):
        raise CommandError(f"{output} is the notebook itself, which is never changed. Choose another file for -o.")
    if not output.resolve().parent.is_dir():
        raise CommandError(f"cannot write {output}: the folder {output.resolve().parent} does not exist")
