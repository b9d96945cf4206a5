"""Do the lessons and the start page state the right reading times?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course.minutes import START, listed, minutes, stated
from tests.course.scenarios import lessons

OFF = 1
"""Minutes by which a stated time may differ from the calculated one."""


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_states_its_minutes(path: Path) -> None:
    assert abs(stated(path) - round(minutes(path))) <= OFF, "run python -m tests.course.minutes to list them all"


def test_the_start_page_lists_the_same_minutes() -> None:
    assert {path.stem: stated(path) for path in lessons() if path != START} == listed()
