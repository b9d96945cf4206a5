"""Do the lessons' exercises accept their solutions and nothing else? Each notebook runs once, in one kernel.

As a reader would, the test tries each exercise's likely wrong answers first, then its solution, and runs the check
after each of them.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
nbclient = pytest.importorskip("nbclient", reason='needs the extra "lab"')

from nbtf.cli.execution import kernel  # noqa: E402
from nbtf.cli.exercises import Exercise, exercises  # noqa: E402
from nbtf.cli.needs import missing_modules  # noqa: E402
from nbtf.notebook.magics.check import exercise_names  # noqa: E402
from tests.rings import with_nightly  # noqa: E402

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = [path for path in sorted(FOLDER.glob("*.ipynb")) if exercises(nbformat.read(path, as_version=4))]
SHARE = ("00_", "06_", "10_", "17_")
"""How the names of the lessons of the usual run begin."""


def said(cell: Any) -> str:
    """Returns the last line of a check's output; an earlier line may name the machine that it was tried on."""
    printed = "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")
    return printed.strip().rpartition("\n")[2]


def told(client: Any, notebook: Any, exercise: Exercise, answer: str) -> str:
    """Puts an answer into the cell of its exercise; returns the check's message."""
    cell, check = copy.deepcopy(notebook.cells[exercise.cell]), copy.deepcopy(notebook.cells[exercise.check])
    cell.source = answer
    client.execute_cell(cell, exercise.cell)
    client.execute_cell(check, exercise.check)
    return said(check)


def answers(path: Path) -> list[tuple[Exercise, str, str]]:
    """Runs a notebook up to its last exercise; returns each tried answer with its exercise and the check's message."""
    notebook = nbformat.read(path, as_version=4)
    known = {exercise.cell: exercise for exercise in exercises(notebook)}
    client = nbclient.NotebookClient(notebook, km=kernel(), timeout=600, coalesce_streams=True)
    tried: list[tuple[Exercise, str, str]] = []
    with client.setup_kernel(cwd=str(FOLDER), cleanup_kc=True):
        for index, cell in enumerate(notebook.cells[: max(known) + 1]):
            if missing_modules(cell.metadata):
                continue
            client.execute_cell(cell, index)
            if index in known:
                exercise = known[index]
                for answer in (*exercise.wrong, exercise.solution):
                    tried.append((exercise, answer, told(client, notebook, exercise, answer)))
    return tried


@pytest.mark.parametrize(
    "path",
    with_nightly(
        [path for path in LESSONS if path.name.startswith(SHARE)],
        [path for path in LESSONS if not path.name.startswith(SHARE)],
    ),
    ids=lambda path: path.stem,
)
def test_a_check_says_right_to_the_solution_and_to_nothing_else(path: Path) -> None:
    missing = missing_modules(nbformat.read(path, as_version=4).metadata)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}; one step of .ci/run has it")
    for exercise, answer, verdict in answers(path):
        wanted = "Right: " if answer == exercise.solution else "Not yet: "

        assert verdict.startswith(wanted), f"{exercise.name}: the check said {verdict!r} to\n{answer}"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_check_was_recorded_before_the_exercise_was_solved(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)

    recorded = {exercise.name: said(notebook.cells[exercise.check]) for exercise in exercises(notebook)}

    assert [name for name, verdict in recorded.items() if not verdict.startswith("Not yet: ")] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_each_exercise_has_a_likely_wrong_answer(path: Path) -> None:
    assert [exercise.name for exercise in exercises(nbformat.read(path, as_version=4)) if not exercise.wrong] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_check_is_a_line(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)

    checks = {exercise.name: notebook.cells[exercise.check].source for exercise in exercises(notebook)}

    assert checks == {name: f"%check {name}" for name in checks}


def test_each_check_belongs_to_an_exercise_of_a_lesson() -> None:
    names = [exercise.name for path in LESSONS for exercise in exercises(nbformat.read(path, as_version=4))]

    assert sorted(names) == sorted(exercise_names())
