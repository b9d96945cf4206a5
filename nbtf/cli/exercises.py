"""The exercises of a notebook, as its cells' metadata define them, and the copies for students and teachers.

An exercise is three cells with the metadata `{"nbtf": {"exercise": NAME}}`, `{"nbtf": {"check": NAME}}` and
`{"nbtf": {"solution": NAME}}`. The exercise runs unchanged; the check (in our lessons the line `%check NAME`) answers
"Not yet: ..." or "Right: ...". The solution is a text cell whose first block of Python code solves the exercise when
put into the exercise cell. `"wrong"`, a list beside the exercise's name, contains likely wrong answers.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

from nbtf.cli.command_error import CommandError

_CODE = re.compile(r"^```python\n((?:(?!```).*\n)*+)```$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise of a notebook: the indices of its three cells, its solution, and wrong answers."""

    name: str
    cell: int
    check: int
    solution_cell: int
    solution: str
    wrong: tuple[str, ...]


def exercises(notebook: Any) -> list[Exercise]:
    """Returns the exercises of a notebook, in order.

    Raises:
      CommandError: if a name does not mark exactly three cells, or a solution has no code.
    """
    marked = {role: _marked(notebook, role) for role in ("exercise", "check", "solution")}
    for role in ("check", "solution"):
        if marked[role].keys() != marked["exercise"].keys():
            odd = sorted(marked[role].keys() ^ marked["exercise"].keys())
            names = ", ".join(odd)
            raise CommandError(f"exercise cells and {role} cells do not match: {names}. Every exercise needs both.")
    return [
        Exercise(
            name,
            index,
            marked["check"][name],
            marked["solution"][name],
            _solution(name, notebook.cells[marked["solution"][name]]),
            tuple(notebook.cells[index].metadata["nbtf"].get("wrong", ())),
        )
        for name, index in marked["exercise"].items()
    ]


def _marked(notebook: Any, role: str) -> dict[str, int]:
    indices: dict[str, int] = {}
    for index, cell in enumerate(notebook.cells):
        name = cell.metadata.get("nbtf", {}).get(role)
        if name in indices:
            raise CommandError(f"two cells are marked as the {role} of {name!r}")
        if name is not None:
            indices[name] = index
    return indices


def _solution(name: str, cell: Any) -> str:
    code = _CODE.search(cell.source)
    if cell.cell_type != "markdown" or code is None:
        raise CommandError(f"the solution of {name!r} is not a text cell with a block of Python code")
    return code[1].removesuffix("\n")


def student_copy(notebook: Any) -> Any:
    """Returns a notebook without solutions and outputs, so that no answer is revealed."""
    copied = _without_outputs(notebook)
    hidden = {exercise.solution_cell for exercise in exercises(copied)}
    copied.cells = [cell for index, cell in enumerate(copied.cells) if index not in hidden]
    for cell in copied.cells:
        cell.metadata.get("nbtf", {}).pop("wrong", None)
    return copied


def teacher_copy(notebook: Any) -> Any:
    """Returns a notebook without outputs whose exercise cells hold the solutions."""
    copied = _without_outputs(notebook)
    for exercise in exercises(copied):
        copied.cells[exercise.cell].source = exercise.solution
    return copied


def _without_outputs(notebook: Any) -> Any:
    copied = copy.deepcopy(notebook)
    copied.metadata.pop("widgets", None)
    for cell in copied.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    return copied
