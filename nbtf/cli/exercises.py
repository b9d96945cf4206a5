"""Where are the exercises of a notebook, and what are their solutions? Said by the metadata of the cells.

An exercise is three cells with the metadata `{"nbtf": {"exercise": NAME}}`, `{"nbtf": {"check": NAME}}` and
`{"nbtf": {"solution": NAME}}`. The exercise runs as it stands, the check (in our lessons the line `%check NAME`) says
"Not yet: ..." or "Right: ...", and the solution is a text cell whose first block of Python code solves it when it
stands in the exercise cell. `"wrong"`, a list beside the exercise's name, has likely answers that are not right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from nbtf.cli.command_error import CommandError

_CODE = re.compile(r"^```python\n((?:(?!```).*\n)*+)```$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise of a notebook: the indices of its three cells, its solution, and answers that are wrong."""

    name: str
    cell: int
    check: int
    solution_cell: int
    solution: str
    wrong: tuple[str, ...]


def exercises(notebook: Any) -> list[Exercise]:
    """Returns the exercises of a notebook, in order.

    Raises:
      CommandError: a name stands on another number of cells, or a solution has no code.
    """
    marked = {role: _marked(notebook, role) for role in ("exercise", "check", "solution")}
    for role in ("check", "solution"):
        if marked[role].keys() != marked["exercise"].keys():
            odd = sorted(marked[role].keys() ^ marked["exercise"].keys())
            names = ", ".join(odd)
            raise CommandError(f"an exercise needs an exercise, a check and a solution cell; not every {role}: {names}")
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
        raise CommandError(f"the solution of {name!r} is no text cell with a block of Python code")
    return code[1].removesuffix("\n")
