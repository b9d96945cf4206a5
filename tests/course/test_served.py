"""Does each way to open a lesson produce its recorded outputs? The full test is `python -m tests.course.served`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason='needs the extra "lab"')

from nbtf.cli.lab import Lesson
from tests.course.served import DOORS, differences, lessons

NUMBER_OF_AN_OUTPUT = re.compile(r"(?<![\w.])(?:Out\[\d+\]|_\d+|_i\d+|In\[\d+\])(?!\w)")
SHARE = [("site", "ja/06_out_of_memory.ipynb")]


def lesson(relative_path: str) -> Lesson:
    return next(each for each in lessons() if each.relative_path == relative_path)


@pytest.mark.parametrize(("door", "relative_path"), SHARE)
def test_lesson_is_as_recorded_where_fewer_cells_are_served(door: str, relative_path: str) -> None:
    assert differences(door, lesson(relative_path)) == []


def test_no_lesson_names_an_output_by_a_number_that_a_door_may_change() -> None:
    sources = [
        (each.relative_path, "".join(cell["source"]))
        for each in lessons()
        for cell in json.loads(each.original.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]

    assert [(path, source) for path, source in sources if NUMBER_OF_AN_OUTPUT.search(source)] == []


def test_every_door_serves_every_lesson_with_its_names_of_cells(tmp_path: Path) -> None:
    for door, serve in DOORS.items():
        for each in lessons(""):
            served = json.loads(serve(each, tmp_path / door).read_text(encoding="utf-8"))["cells"]
            stored = json.loads(each.original.read_text(encoding="utf-8"))["cells"]
            assert {cell["id"] for cell in served} <= {cell["id"] for cell in stored}
