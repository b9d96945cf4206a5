"""Are the *then -> now* tables in the lessons on sessions up to date, and are they true?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf1
from nbtf.errors import InvalidArgumentError
from tests.course.then_and_now import CALLS, OPTIONS, Row, table
from tests.machines import machine

FOLDER = Path(__file__).parents[2] / "notebooks"
ROWS = (*CALLS, *OPTIONS)
LESSONS = {"10_sessions_of_the_first_guides": CALLS, "11_session_memory_options": OPTIONS}
PLACED = ("MatMul", "AddN")

# The code of the guides that use sessions or set the environment; S53 to S57 are values of S52.
CODE = "S03 S04 S07 S09 S12 S13 S14 S15 S19 S20 S23 S25 S28 S29 S30 S32 S52 S58 S60 S61 S64 S65"


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_ends_with_the_table_made_from_the_rows(lesson: str) -> None:
    made = table(LESSONS[lesson])
    cells: list[dict[str, Any]] = json.loads((FOLDER / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]

    assert [made] == [_table_of(text) for text in texts if "| then | now |" in text], f"The table is now:\n\n{made}\n"


def _table_of(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def test_every_line_of_code_of_the_old_guides_has_a_row() -> None:
    assert set(CODE.split()) <= {scenario for row in ROWS for scenario in row.scenarios.split()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.scenarios.replace(" ", "_"))
def test_now_does_what_then_did(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    then = outcome(row, row.then, row.program_then(), capsys)
    now = outcome(row, row.now, row.program_now(), capsys)

    assert then == now
    assert then["failed"] != bool(then["ran"])


def outcome(row: Row, line: str, program: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Runs a program on a machine of its own; returns its observable effects."""
    tf1.reset_default_graph()
    failed = False
    with machine(row.gpus, "Tesla K20m", **row.environment(line)), nbtf.runtime.recording() as record:
        try:
            exec(program, {})
        except InvalidArgumentError:
            failed = True
        gpus = [gpu for gpu in nbtf.runtime.devices() if gpu.device_type == "GPU"]
    printed = "".join(capsys.readouterr())
    return {
        "ran": [(op, device) for op, device in record.ops if op in PLACED],
        "failed": failed,
        "logged": re.findall(r"MatMul\b.*/device:(\w+:\d+)$", printed, re.M),
        "cards": [gpu.bus_id for gpu in gpus],
        "limits": [gpu.memory_limit and gpu.memory_limit >> 20 for gpu in gpus],
        "pools": [gpu.pool and gpu.pool >> 20 for gpu in gpus],
    }
