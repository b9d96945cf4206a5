"""What do students and teachers get? Copies of notebooks without solutions, or with the solutions in their places."""

from __future__ import annotations

import copy
from typing import Any

from nbtf.cli.exercises import exercises


def student_copy(notebook: Any) -> Any:
    """Returns a notebook without solutions and outputs, so that nothing is given away."""
    made = _without_outputs(notebook)
    hidden = {exercise.told for exercise in exercises(made)}
    made.cells = [cell for index, cell in enumerate(made.cells) if index not in hidden]
    for cell in made.cells:
        cell.metadata.get("nbtf", {}).pop("wrong", None)
    return made


def teacher_copy(notebook: Any) -> Any:
    """Returns a notebook without outputs whose exercise cells hold the solutions."""
    made = _without_outputs(notebook)
    for exercise in exercises(made):
        made.cells[exercise.cell].source = exercise.solution
    return made


def _without_outputs(notebook: Any) -> Any:
    made = copy.deepcopy(notebook)
    made.metadata.pop("widgets", None)
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    return made
