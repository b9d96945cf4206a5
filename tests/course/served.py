"""Does a lesson print its recorded outputs, however it is opened? Run it with `python -m tests.course.served`.

There are three doors to a lesson. `nbtf lab` copies the lessons without the hidden cell that installs nbtf. The page of
`nbtf site` turns some cells into text. Binder opens the repository. The door itself makes the copy. Its cells then run
in a kernel from the top, each once, as with Shift+Enter, including those that the checker leaves out.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nbtf.cli import lab, site
from nbtf.cli.checking.outputs import Comparison
from nbtf.cli.checking.sanitizing import BUILT_IN, Rule, read_rules
from nbtf.cli.execution import CellRun, Conditions, code_cells, run_to_end
from nbtf.cli.lab import Lesson
from nbtf.cli.limits import Limits
from nbtf.cli.marks import marks
from nbtf.cli.needs import missing_modules
from nbtf.cli.notebook_file import read

SECONDS = 600

NO_PIP = "get_ipython().register_magic_function(lambda line: None, magic_name='pip')"
"""The static page installs nbtf into its own Python; this test's kernel already has it."""

CELL_NUMBERS = Rule(re.compile(r"\bcell \d+\b"), "cell N")
"""Doors that serve fewer cells also have different cell numbers."""


def from_lab(lesson: Lesson, folder: Path) -> Path:
    lab.copy_tutorials([lesson], folder)
    return folder / lesson.relative_path


def from_site(lesson: Lesson, folder: Path) -> Path:
    site.copy_notebooks([lesson], folder)
    return folder / lesson.relative_path


def from_binder(lesson: Lesson, folder: Path) -> Path:
    return lesson.original


DOORS = {"lab": from_lab, "site": from_site, "binder": from_binder}


def lessons(language: str | None = None) -> list[Lesson]:
    """Returns the lessons in a language, such as `ja`; an empty string means English, and None all languages."""
    return [lesson for lesson in lab.lessons() if language in (None, lesson.language)]


def differences(door: str, lesson: Lesson) -> list[str] | None:
    """Returns the differences between a lesson's outputs and the recording; None if a required module is missing.

    Args:
      door: name of the door.
      lesson: lesson to open.
    """
    stored = read(lesson.original)
    if missing_modules(stored.metadata):
        return None
    with tempfile.TemporaryDirectory() as scratch:
        path = DOORS[door](lesson, Path(scratch))
        runs = _runs(read(path), path.parent, {**os.environ, lab.VARIABLE: lesson.language})
    return differences_of_runs(stored, runs)


def differences_of_runs(stored: Any, runs: Mapping[str, CellRun]) -> list[str]:
    """Returns the differences between the recorded outputs of a notebook and those of its cells' runs, by cell name."""
    recorded = {cell.id: cell for cell in stored.cells}
    return [line for name, run in runs.items() for line in _differences(recorded[name], run)]


def _runs(notebook: Any, folder: Path, environment: Mapping[str, str]) -> dict[str, CellRun]:
    """Runs the cells of a notebook; returns their outcomes by cell name."""
    names = {index: cell.id for index, cell in code_cells(notebook)}
    missing = [index for index, cell in code_cells(notebook) if missing_modules(cell.metadata)]
    runs: dict[str, CellRun] = {}
    conditions = Conditions(folder, environment, SECONDS, NO_PIP, skipped=missing, joined_streams=True)
    run_to_end(notebook, conditions, lambda run: runs.__setitem__(names[run.index], run))
    return runs


def _differences(recorded: Any, run: CellRun) -> Iterator[str]:
    wanted = marks(recorded)
    first_line = run.source.strip().partition("\n")[0]
    if run.error is not None and not wanted.may_raise:
        yield f"{recorded.id} ({first_line}) raised {run.error.name}: {run.error.text}"
    elif wanted.compared is not False:
        rules, limits = [*read_rules([BUILT_IN]), CELL_NUMBERS], Limits(**wanted.limits)
        lines, _ = Comparison(rules, limits).differences(recorded.outputs, run.outputs)
        if lines:
            yield "\n".join([f"{recorded.id} ({first_line}) differs", *lines])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.course.served", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--door", choices=DOORS, action="append", help="test only this door; repeat for several")
    parser.add_argument("--language", choices=["en", "ja", "zh_CN"], action="append", help="test only this language")
    parser.add_argument("--only", default="", metavar="TEXT", help="only lessons whose names contain this")
    chosen = parser.parse_args()
    languages = {"" if language == "en" else language for language in chosen.language or ["en", "ja", "zh_CN"]}
    different = 0
    for lesson in lessons():
        for door in chosen.door or DOORS:
            if lesson.language in languages and chosen.only in lesson.relative_path:
                started = time.perf_counter()
                lines = differences(door, lesson)
                different += bool(lines)
                verdict = "not run: a module is missing" if lines is None else "differs" if lines else "as recorded"
                seconds = time.perf_counter() - started
                print(
                    f"{door:<6} {lesson.relative_path}: {verdict} ({seconds:.0f} s)",
                    *lines or [],
                    sep="\n  ",
                    flush=True,
                )
    print(f"{different} runs differ from their recordings")
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
