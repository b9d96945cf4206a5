"""Do the lessons and the start page state how long reading takes?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course.minutes import minutes, rows, stated
from tests.course.scenarios import lessons

OFF = 1
"""Minutes that a figure may differ from the rounded one."""


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_states_its_minutes(path: Path) -> None:
    assert abs(stated(path) - round(minutes(path))) <= OFF, "python -m tests.course.minutes prints all of them"


@pytest.mark.parametrize("row", rows(), ids=lambda row: "_".join(path.stem[:2] for path in row[0]))
def test_a_row_of_the_start_page_states_the_minutes_of_its_lessons(row: tuple[list[Path], int]) -> None:
    paths, count = row

    assert abs(count - round(sum(map(minutes, paths)))) <= OFF * len(paths), (
        "python -m tests.course.minutes prints all of them"
    )


def test_the_start_page_has_rows() -> None:
    assert len(rows()) >= 5
