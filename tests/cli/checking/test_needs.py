"""Is a notebook that needs a module which is not here left alone, and does every report say so?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbtf.cli.checking.junit import junit
from nbtf.cli.checking.notebook_check import Plan, check
from nbtf.cli.checking.text import last_line, lines_of, summary
from nbtf.cli.checking.verdicts import NotebookVerdict, State
from nbtf.cli.execution import code_cells, wait_for
from nbtf.cli.notebook_file import read
from tests.cli.checking.cells import cell, save, stream

LESSONS = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))


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
    assert '"needs" must be a list' in verdict.problems[0]


def test_a_cell_that_needs_a_missing_module_is_left_alone_and_the_others_run(tmp_path: Path) -> None:
    needing = cell("import no_such_module", stream("recorded elsewhere\n"))
    needing["metadata"] = {"nbtf": {"needs": ["no_such_module"]}}
    path = save(tmp_path / "lesson.ipynb", cell("print('a')", stream("a\n")), needing)
    verdict = wait_for(check(path, Plan({})))

    assert [State.SAME, State.NOT_RUN] == [cell.state for cell in verdict.cells]
    assert (False, True) == (verdict.is_wrong, verdict.is_compared)
    assert lines_of(verdict) == [f"{path}: as recorded; 1 cell not run", "  cell 2 not run: needs no_such_module"]
    assert last_line([verdict]) == "1 notebook, 1 cell not run; cells: 1 as recorded, 1 not run"
    assert b'<skipped message="not run: needs no_such_module" />' in junit([verdict])


def test_a_library_that_only_a_left_out_cell_imports_is_not_simulated(tmp_path: Path) -> None:
    needing = cell("import torch\nimport no_such_module")
    needing["metadata"] = {"nbtf": {"needs": ["no_such_module"]}}
    printed = cell("import os\nprint(os.environ.get('NBTF_SIMULATE'))", stream("None\n"))
    verdict = wait_for(check(save(tmp_path / "lesson.ipynb", printed, needing), Plan({"NBTF_SIMULATED_GPUS": "2"})))

    assert [State.SAME, State.NOT_RUN] == [each.state for each in verdict.cells]


def test_a_cell_that_needs_modules_that_are_here_is_compared(tmp_path: Path) -> None:
    needing = cell("%load_ext nbtf\n", stream("")), cell("%%needs json\nprint('a')", stream("b\n"))
    needing[1]["metadata"] = {"nbtf": {"needs": ["json"]}}
    verdict = wait_for(check(save(tmp_path / "lesson.ipynb", *needing), Plan(os.environ)))

    assert State.DIFFERS is verdict.cells[1].state


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_guarded_cell_of_a_lesson_has_the_needs_of_its_guard_in_its_metadata(path: Path) -> None:
    cells = [each for _, each in code_cells(read(path))]
    guards = {
        each.id: each.source.partition("\n")[0].split()[1:] for each in cells if each.source.startswith("%%needs")
    }

    assert guards == {each.id: each.metadata.get("nbtf", {}).get("needs") for each in cells if each.id in guards}
