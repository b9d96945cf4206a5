"""Does `nbtf notebooks` tell true notebooks from stale ones, record them, and copy them without their solutions?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from nbtf import cli
from nbtf.cli.exercises import exercises
from nbtf.cli.recording import LARGEST, size, tidy

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
pytest.importorskip("nbclient", reason='needs the extra "lab"')
v4 = nbformat.v4

SOLUTION = "Ten, because it says so.\n\n```python\nanswer = 10\n```"


def code(source: str, *printed: str, **marks: Any) -> Any:
    outputs = [v4.new_output("stream", name="stdout", text=text) for text in printed]
    metadata = {"nbtf": marks} if marks else {}
    return v4.new_code_cell(source, outputs=outputs, execution_count=1 if printed else None, metadata=metadata)


def save(path: Path, *cells: Any) -> Path:
    nbformat.write(v4.new_notebook(cells=list(cells)), path)
    return path


def exercise() -> tuple[Any, ...]:
    return (
        code("answer = 1", exercise="ten", wrong=["answer = 11"]),
        code("print('Right' if answer == 10 else 'Not yet')", "Not yet\n", check="ten"),
        v4.new_markdown_cell(SOLUTION, metadata={"nbtf": {"solution": "ten"}}),
    )


def nbtf(*words: object) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(["notebooks", *map(str, words)])
    return status, said.getvalue()


def sources(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells]


def test_check_accepts_what_is_recorded_and_shows_what_differs(tmp_path: Path) -> None:
    true = save(tmp_path / "true.ipynb", code("print(1 + 1)", "2\n"))
    stale = save(tmp_path / "stale.ipynb", code("print(1 + 1)", "3\n"))

    status, said = nbtf("check", tmp_path)

    assert status == 1
    assert f"{true}: as recorded" in said
    assert f"{stale}: differs" in said
    assert "3" in said.split(f"{stale}: differs")[1]


def test_check_finds_a_magic_that_does_not_exist(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", code("%no_such_magic", ""))

    status, said = nbtf("check", path)

    assert (status, "no_such_magic" in said) == (1, True)


def test_record_keeps_outputs_and_nothing_of_the_run(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", code("print('new')", "old\n"))

    status, said = nbtf("record", path)

    cell = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    assert (status, said) == (0, f"{path}: recorded\n")
    assert cell["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["new\n"]}]
    assert (cell["execution_count"], cell["metadata"]) == (1, {})


def test_record_leaves_a_notebook_that_fails_as_it_was(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", code("1 / 0"))
    before = path.read_bytes()

    status, said = nbtf("record", path)

    assert (status, path.read_bytes()) == (1, before)
    assert "left as it was; a cell raised ZeroDivisionError: division by zero" in said


def test_saved_views_are_left_out_largest_first_where_a_file_would_be_too_large() -> None:
    view, states = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
    sizes = {"small": 1_000, "large": LARGEST}
    outputs = [v4.new_output("display_data", data={view: {"model_id": name}, "text/plain": name}) for name in sizes]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("views", outputs=outputs)])
    models = {name: {"state": {"text": "x" * many, "layout": f"IPY_MODEL_{name}-l"}} for name, many in sizes.items()}
    notebook.metadata["widgets"] = {states: {"state": models | {f"{name}-l": {"state": {}} for name in sizes}}}

    said = tidy(notebook)

    assert len(said) == 1
    assert size(notebook) <= LARGEST
    assert set(notebook.metadata.widgets[states].state) == {"small", "small-l"}
    assert [sorted(output.data) for output in notebook.cells[0].outputs] == [[view, "text/plain"], ["text/plain"]]


def test_a_student_gets_neither_solutions_nor_outputs(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", *exercise())

    status, _ = nbtf("student", path, "-o", tmp_path / "out")

    copy = nbformat.read(tmp_path / "out" / "one.ipynb", as_version=4)
    assert (status, [cell.source for cell in copy.cells]) == (0, sources(path)[:2])
    assert [cell.outputs for cell in copy.cells] == [[], []]
    assert copy.cells[0].metadata.nbtf == {"exercise": "ten"}


def test_a_teacher_gets_the_solution_in_its_place(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", *exercise())

    nbtf("student", path, "-o", tmp_path / "out", "--solutions")

    assert sources(tmp_path / "out" / "one.ipynb")[0] == "answer = 10"


def test_no_notebook_is_overwritten_by_its_copy(tmp_path: Path) -> None:
    path = save(tmp_path / "one.ipynb", *exercise())

    status, said = nbtf("student", path, "-o", tmp_path)

    assert (status, said) == (
        2,
        f"nbtf: {path} is the notebook itself, which is never changed. Choose another folder for -o.\n",
    )


def test_an_exercise_without_a_check_is_refused(tmp_path: Path) -> None:
    first, _, last = exercise()
    path = save(tmp_path / "one.ipynb", first, last)

    status, said = nbtf("student", path, "-o", tmp_path / "out")

    assert (status, said) == (
        2,
        "nbtf: an exercise needs an exercise, a check and a solution cell; not every check: ten\n",
    )


def test_likely_wrong_answers_are_known(tmp_path: Path) -> None:
    notebook = v4.new_notebook(cells=list(exercise()))

    assert [one.wrong for one in exercises(notebook)] == [("answer = 11",)]


def test_a_path_without_notebooks_is_an_error(tmp_path: Path) -> None:
    assert nbtf("check", tmp_path) == (2, f"nbtf: found no notebook at {tmp_path}\n")
