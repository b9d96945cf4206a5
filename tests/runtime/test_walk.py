"""How many files does a reader have to follow from a recorded `a @ b` to its kernel and back?"""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.walks import recorded_product_in_new_process


@pytest.mark.parametrize(
    ("gpus", "first_files", "later_files", "later_changes"),
    [(0, 16, 8, 10), (1, 18, 9, 13)],
    ids=["CPU", "simulated GPU"],
)
def test_a_recorded_op_can_be_followed(gpus: int, first_files: int, later_files: int, later_changes: int) -> None:
    first, later = recorded_product_in_new_process(gpus)

    assert len(first.files) <= first_files, first.files
    assert len(later.files) <= later_files, later.files
    assert later.changes <= later_changes, later.calls


def test_the_walk_is_the_one_that_is_described() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## How an op runs")[2].partition("\n## ")[0]
    _, later = recorded_product_in_new_process(1)

    assert [] == [file for file in later.files if f"| `{file}` |" not in section]
