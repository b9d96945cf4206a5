"""`nbtf run`: does a TensorFlow notebook run on nbtf unchanged? Reports cell by cell and changes no file."""

from __future__ import annotations

import argparse
import copy
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbtf._counts import counted
from nbtf.cli import execution, placements, real_tensorflow, redirect
from nbtf.cli.arguments import add_parser, whole_number
from nbtf.cli.both_libraries import compare
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.comparison import MISSING, difference, is_recorded, may_raise, what_is_missing
from nbtf.cli.execution import CellRun, Conditions, KernelDiedError, code_cells
from nbtf.cli.generation import name_of_tensorflow_1
from nbtf.cli.libraries import imports_torch, is_simulated_for_torch, simulate_for
from nbtf.cli.notebook_file import read, write
from nbtf.cli.printable import first_line, printable
from nbtf.cli.program import ENDING, run_program
from nbtf.runtime import version

TENSORFLOW = "tensorflow"
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
    """Runs the notebook, prints the report and returns the exit status; a program (.py) runs in this process."""
    if chosen.notebook.suffix == ENDING:
        return run_program(chosen)
    require(["nbclient", "nbformat", "ipykernel"], "nbtf run")
    notebook = read(chosen.notebook)
    _check_output(chosen.output, chosen.notebook)
    _check_options(chosen)
    if chosen.compare:
        return compare(chosen.notebook.name, Plan(chosen, notebook, "nbtf"), Plan(chosen, notebook, TENSORFLOW), chosen)
    plan = Plan(chosen, notebook, chosen.library)
    report = Report(notebook, shows=not chosen.json)
    if not chosen.json:
        print(printable(f"{chosen.notebook.name}: {plan.heading}"), flush=True)
    plan.run(report.add)
    try:
        if chosen.output is not None:
            write(chosen.output, report.executed)
            if not chosen.json:
                print(f"Wrote {chosen.output}")
    finally:
        print(json.dumps(report.as_data(), indent=2) if chosen.json else report.summary())
    return 1 if report.counts[FAILED] else 0


class Plan:
    """How a notebook runs: on which library, in which environment, and its cells there."""

    def __init__(self, chosen: argparse.Namespace, notebook: Any, library: str | None) -> None:
        """Prepares a run on `nbtf` or `tensorflow`, with placements, or on nbtf without them if `library` is None.

        Raises:
          CommandError: if the notebook cannot run on TensorFlow.
        """
        sources = [cell.source for _, cell in code_cells(notebook)]
        if library == TENSORFLOW:
            self.heading: str = f"tensorflow means TensorFlow {real_tensorflow.version()}"
            self.notebook: Any = real_tensorflow.on_tensorflow(notebook)
            environ, startup = dict(os.environ), placements.startup(TENSORFLOW)
        else:
            old = name_of_tensorflow_1(sources) if chosen.tf1 is None else None
            tensorflow_1 = bool(chosen.tf1 or old)
            self.heading, self.notebook = heading(chosen.gpus, tensorflow_1, old), notebook
            environ = {**environment(chosen.gpus)}
            environ |= simulate_for(sources, environ)
            startup = redirect.startup(tensorflow_1) if library is None else placements.startup(library, tensorflow_1)
            if imports_torch(sources):
                simulated = "uses the" if is_simulated_for_torch(environ) else "runs without"
                self.heading += f"\nPyTorch {simulated} simulated GPUs."
        folder = chosen.notebook.resolve().parent
        self._conditions = Conditions(folder, environ, chosen.timeout or None, startup=startup)

    def run(self, tell: Callable[[CellRun], None]) -> None:
        """Runs the cells, and calls a function with each; after a cell that ends the kernel, no other runs."""
        try:
            execution.run_to_end(self.notebook, self._conditions, tell)
        except KernelDiedError:
            pass  # the function has received this cell


def _check_options(chosen: argparse.Namespace) -> None:
    """Rejects options that have no meaning for the chosen library."""
    if chosen.library == TENSORFLOW and chosen.gpus is not None:
        raise CommandError("--gpus simulates GPUs for nbtf; TensorFlow uses the real ones. Leave out --gpus.")
    if chosen.library == TENSORFLOW and chosen.tf1:
        raise CommandError("--tf1 replaces TensorFlow's names by those of nbtf. Leave it out with --with tensorflow.")
    if chosen.compare and chosen.output is not None:
        raise CommandError("--compare runs the notebook twice. To save outputs, use -o with --with.")


class Report:
    """Prints and counts the cells as they finish, and keeps the notebook with its new outputs."""

    def __init__(self, notebook: Any, shows: bool = True) -> None:
        """Starts with no cell reported.

        Args:
          notebook: as it was recorded.
          shows: whether to print each cell.
        """
        self._shows, self._data = shows, list[dict[str, Any]]()
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
        self._data.append(
            {"cell": run.number, "source": first_line(run.source, SOURCE_SHOWN), "verdict": verdict}
            | {"details": [*details], "placements": run.placements}
        )
        if not self._shows:
            return
        details += placements.in_lines(run.placements)
        print(printable(f"[{run.number:2}] {verdict:22} {first_line(run.source, SOURCE_SHOWN)}".rstrip()))
        print(printable("".join(f"       {line}\n" for line in details)), end="", flush=True)

    def as_data(self) -> dict[str, Any]:
        """Returns the report for programs: the cells, how many have each verdict, and what nbtf lacks."""
        return {
            "cells": self._data,
            "verdicts": dict(self.counts),
            "not_reached": self._cells - self.counts.total(),
            "missing": sorted(set(self._missing)),
        }

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


def heading(gpus: int | None, tensorflow_1: bool = False, old: str | None = None) -> str:
    """Returns how a notebook runs on nbtf: with which GPUs, and whether as TensorFlow 1.

    Args:
      gpus: number of GPUs requested; None leaves it to the environment.
      tensorflow_1: whether `import tensorflow` means TensorFlow 1.
      old: the name in the notebook that decided it; None if an option did.
    """
    simulated_gpus = os.environ.get(VARIABLE, "") if gpus is None else str(gpus)
    machine = f"; simulated GPUs: {simulated_gpus}" if simulated_gpus not in ("", "0") else ""
    reason = f", because it uses {old} (--no-tf1: TensorFlow 2)" if old else ""
    generation = f", as TensorFlow 1{reason}" if tensorflow_1 else ""
    return f"tensorflow means nbtf {version}{generation}{machine}"


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
