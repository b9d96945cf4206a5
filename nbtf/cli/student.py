"""What do students and teachers get? Copies of notebooks without solutions, or with solutions in the exercise cells."""

from __future__ import annotations

import copy
from typing import Any

from nbtf.cli.exercises import exercises


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
