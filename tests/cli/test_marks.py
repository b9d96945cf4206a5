"""What do tags, comments and metadata of a cell ask of a check, and what is refused?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf.cli.command_error import CommandError
from nbtf.cli.limits import read_limits
from nbtf.cli.marks import Marks, marks


def cell(source: str = "", *tags: str, **limits: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(tags)} | ({"nbtf": {"limits": limits}} if limits else {})
    return {"source": source, "metadata": metadata}


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        (cell(), Marks()),
        (cell("# NBVAL_IGNORE_OUTPUT"), Marks(compared=False)),
        (cell("x = 1\n   ## NBVAL_IGNORE_OUTPUT\n"), Marks(compared=False)),
        (cell("# PYTEST_VALIDATE_IGNORE_OUTPUT"), Marks(compared=False)),
        (cell("", "pytest-validate-ignore-output"), Marks(compared=False)),
        (cell("# NBVAL_CHECK_OUTPUT"), Marks(compared=True)),
        (cell("# NBVAL_CHECK_OUTPUT", "nbval-ignore-output"), Marks(compared=True)),
        (cell("# NBVAL_CHECK_OUTPUT\n# NBVAL_IGNORE_OUTPUT"), Marks(compared=False)),
        (cell("", "nbval-skip"), Marks(skipped=True)),
        (cell("", "skip-execution"), Marks(skipped=True)),
        (cell("# NBVAL_RAISES_EXCEPTION"), Marks(may_raise=True)),
        (cell("", "raises-exception", "hide-input"), Marks(may_raise=True)),
        (cell("'# NBVAL_SKIP'"), Marks()),
        (cell("# NBVAL_SKIP this"), Marks()),
        (cell("# nbval_skip"), Marks()),
        (cell("# NBTF_TOLERANCE=1e-6"), Marks(limits={"tolerance": 1e-6})),
        (cell("", "nbtf-at-most=2GiB", "nbtf-kept=0"), Marks(limits={"at_most": "2GiB", "kept_memory": "0"})),
        (cell("", "nbtf-no-copies"), Marks(limits={"no_copies": True})),
        (
            cell("", "nbtf-placement=A=CPU:0", "nbtf-placement=B=GPU:1"),
            Marks(limits={"placement": ("A=CPU:0", "B=GPU:1")}),
        ),
        (cell("# NBTF_TOLERANCE=0.5", tolerance=0.1, pictures=1), Marks(limits={"tolerance": 0.5, "pictures": 1.0})),
        (cell("# NBTF_SIMULATED_GPUS=4"), Marks()),
        (cell("# NBTF_ is what our variables begin with"), Marks()),
    ],
)
def test_marks_are_read(marked: dict[str, Any], expected: Marks) -> None:
    assert expected == marks(marked)


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        (cell("", "nbtf-tolerence=1"), "unknown mark nbtf-tolerence. Marks: nbtf-tolerance, "),
        (cell("# NBTF_TOLERENCE=1"), "unknown mark nbtf-tolerence"),
        (cell("# NBTF_TOLERANCE=much"), "cell 3: tolerance: "),
        (cell("", "nbtf-tolerance=-1"), "expected a number, 0 or more, got '-1'"),
        (cell("", "nbtf-at-most=much"), "Invalid size"),
        (cell("", "nbtf-placement=MatMul"), "Invalid rule"),
        (cell("", "nbtf-no-copies=perhaps"), "expected true or false"),
        (cell(copies=0), "unknown limit 'copies'. Limits: tolerance, pictures, "),
        (cell(tolerance=True), "expected a number"),
    ],
)
def test_a_mark_that_cannot_be_understood_is_refused(marked: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandError) as refused:
        marks(marked, "cell 3")

    assert str(refused.value).startswith("cell 3: ")
    assert words in str(refused.value)


@pytest.mark.parametrize("table", [[], "2GiB", 3])
def test_limits_are_a_table(table: object) -> None:
    with pytest.raises(CommandError, match="limits must be a table, got"):
        read_limits(table, "cell 1")
