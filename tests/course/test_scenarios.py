"""Does a cell demonstrate every scenario of the guides, and would it fail if the runtime behaved differently?"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.course.scenarios import ALL, TABLE, Marked, lessons, marked, table

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
nbclient = pytest.importorskip("nbclient", reason='needs the extra "lab"')

from nbtf.cli.checking.sanitizing import BUILT_IN, read_rules, sanitized  # noqa: E402
from nbtf.cli.execution import kernel  # noqa: E402

MARKED = [one for path in lessons() for one in marked(path)]
LESSONS = sorted({one.notebook for one in MARKED})
CHANGED = Path(__file__).parent / "changed"
CHANGES = ("places figures", "places", "figures")
"""Both changes at once, and each separately for cells that do not notice the combination."""


def test_every_scenario_has_one_home() -> None:
    homes = Counter(number for one in MARKED for number in one.scenarios)

    assert {number: homes[number] for number in (*ALL, *homes) if homes[number] != 1 or number not in ALL} == {}


def test_scenarios_stand_on_code_cells_that_are_compared() -> None:
    tags = {"nbval-ignore-output", "nbval-skip"}

    odd = [one for one in MARKED if one.cell["cell_type"] != "code" or tags & set(one.cell["metadata"].get("tags", ()))]

    assert [(one.notebook.name, one.index) for one in odd] == []


def test_scenarios_are_asserted_or_printed() -> None:
    bare = [one for one in MARKED if "assert " not in "".join(one.cell["source"]) and not one.cell["outputs"]]

    assert [(one.notebook.name, one.index) for one in bare] == []


def test_the_table_of_scenarios_is_the_generated_one() -> None:
    assert table() == TABLE.read_text(encoding="utf-8"), "run python -m tests.course.scenarios"


def ran(path: Path, change: str) -> Any:
    """Returns a notebook after it has run with a changed runtime, including its cells' errors."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, km=kernel(), timeout=600, coalesce_streams=True, allow_errors=True)
    places = [str(CHANGED), *filter(None, [os.environ.get("PYTHONPATH")])]
    changed = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "TRIAL_CHANGE": change}
    client.execute(cwd=str(path.parent), env=changed, cleanup_kc=True)
    return notebook


def notices(one: Marked, notebook: Any) -> bool:
    """Returns whether a cell of a changed run has a different output, or fails for its own reason."""
    errors = [output for output in notebook.cells[one.index].outputs if output.output_type == "error"]
    if errors and errors[0].ename in ("NameError", "UnboundLocalError"):
        return False  # it fails because an earlier cell did
    return shown(notebook.cells[one.index].outputs) != shown(nbformat.from_dict(one.cell["outputs"]))


def shown(outputs: Any) -> list[str]:
    """Returns the visible text of outputs, in the form that nbval compares."""
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", "") for output in outputs
    ]
    rules = read_rules([BUILT_IN])
    return [sanitized(text if isinstance(text, str) else "".join(text), rules) for text in texts]


@pytest.mark.nightly
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_cell_would_notice_another_runtime(path: Path) -> None:
    blind = [one for one in MARKED if one.notebook == path]
    for change in CHANGES:
        notebook = ran(path, change) if blind else None
        blind = [one for one in blind if not notices(one, notebook)]

    assert [(one.index, one.scenarios) for one in blind] == []
