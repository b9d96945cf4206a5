"""Is a notebook that needs a module which is not here left alone, and does every report say so?"""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtf.cli.checking.junit import junit
from nbtf.cli.checking.notebook_check import Plan, check
from nbtf.cli.checking.text import last_line, lines_of, summary
from nbtf.cli.checking.verdicts import NotebookVerdict, State
from nbtf.cli.execution import wait_for
from tests.cli.checking.cells import cell, save, stream


def checked(folder: Path, needs: object) -> NotebookVerdict:
    path = save(folder / "lesson.ipynb", cell("print('a')", stream("b\n")), nbtf={"needs": needs})
    return wait_for(check(path, Plan({})))


def test_what_needs_a_missing_module_is_not_run_and_not_wrong(tmp_path: Path) -> None:
    verdict = checked(tmp_path, ["json", "no_such_module"])

    assert (False, False, [State.SKIPPED]) == (verdict.is_wrong, verdict.is_compared, [c.state for c in verdict.cells])
    assert [f"{tmp_path / 'lesson.ipynb'}: not run: no_such_module is not installed"] == lines_of(verdict)
    assert last_line([verdict]) == "1 notebook, 1 not run; cells: 1 skipped"
    assert b"no_such_module is not installed" in junit([verdict])


def test_what_needs_modules_that_are_here_is_compared(tmp_path: Path) -> None:
    verdict = checked(tmp_path, ["json"])

    assert [State.DIFFERS] == [cell.state for cell in verdict.cells]


@pytest.mark.parametrize("needs", ["torch", [3], ["torch==2"]], ids=["text", "number", "version"])
def test_needs_that_are_no_list_of_modules_are_refused(tmp_path: Path, needs: object) -> None:
    verdict = checked(tmp_path, needs)

    assert (summary(verdict), 2) == ("cannot be checked", verdict.status)
    assert '"needs" is a list of modules' in verdict.problems[0]


def test_a_cell_that_needs_a_missing_module_is_left_alone_and_the_others_run(tmp_path: Path) -> None:
    needing = cell("import no_such_module", stream("recorded elsewhere\n"))
    needing["metadata"] = {"nbtf": {"needs": ["no_such_module"]}}
    path = save(tmp_path / "lesson.ipynb", cell("print('a')", stream("a\n")), needing)
    verdict = wait_for(check(path, Plan({})))

    assert [State.SAME, State.SKIPPED] == [cell.state for cell in verdict.cells]
    assert (False, True) == (verdict.is_wrong, verdict.is_compared)
