"""Does `nbtf notebooks` tell true notebooks from stale ones, record them, and copy them without their solutions?"""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from nbtf import cli
from nbtf.cli.exercises import exercises
from nbtf.cli.recording import LARGEST, tidy

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
    assert "not changed; a cell raised ZeroDivisionError: division by zero" in said


VIEW, STATES = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
STILL = '<svg class="nbtf-still"><g><title>Copies</title><rect/></g><text>a &gt;&lt; b</text></svg>'


def with_widgets(**outputs: dict[str, Any]) -> Any:
    """A notebook that shows widgets: `Ours...` are views of nbtf; all have a saved state."""
    cells = [v4.new_output("execute_result", data={VIEW: {"model_id": name}, **data}) for name, data in outputs.items()]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("views", outputs=cells)])
    models: dict[str, Any] = {}
    for name in outputs:
        package = "nbtf.notebook" if name.startswith("Ours") else "elsewhere"
        models[f"{name}-layout"] = {"state": {}}
        models[name] = {"state": {"_anywidget_id": f"{package}.{name}", "layout": f"IPY_MODEL_{name}-layout"}}
    notebook.metadata["widgets"] = {STATES: {"state": models}}
    return notebook


def test_recorded_views_are_pictures_without_a_program() -> None:
    notebook = with_widgets(
        OursDrawn={"image/svg+xml": STILL, "text/html": "<img>", "text/plain": "figures"},
        OursInWords={"text/html": "<table>", "text/plain": "figures"},
    )

    said = tidy(notebook)

    drawn, in_words = (output.data for output in notebook.cells[0].outputs)
    assert ([], True) == (said, "widgets" not in notebook.metadata)
    assert {"image/svg+xml", "text/plain"} == set(drawn)
    assert {"text/html", "text/plain"} == set(in_words)


def test_recorded_pictures_have_a_mark_in_each_line() -> None:
    notebook = with_widgets(Ours={"image/svg+xml": STILL})

    tidy(notebook)

    stored = json.loads(nbformat.writes(notebook))["cells"][0]["outputs"][0]["data"]["image/svg+xml"]
    assert stored == [
        '<svg class="nbtf-still">\n',
        "<g><title>Copies</title>\n",
        "<rect/></g>\n",
        "<text>a &gt;&lt; b</text></svg>",
    ]
    assert "".join(stored).replace("\n", "") == STILL


VIEWS_RUN = (
    "import nbtf as tf\n_ = tf.runtime.simulate_gpus(2, memory='64MiB')\n%load_ext nbtf",
    "%gpu_memory --live",
    "a = tf.ones([2**20])",
    "%gpu_memory --live",
    "b = tf.ones([2**21])",
    "tf.runtime.restart()\nc = tf.ones([2**10])",
)


def test_recorded_picture_is_that_of_the_last_cell_on_its_machine(tmp_path: Path) -> None:
    pytest.importorskip("anywidget", reason="needs the lab extra")
    path = save(tmp_path / "one.ipynb", *map(code, VIEWS_RUN))

    nbtf("record", path)

    cells = nbformat.read(path, as_version=4).cells
    first, second = (cells[index].outputs[0].data for index in (1, 3))
    assert [{"image/svg+xml", "text/plain"}] * 2 == [set(first), set(second)]
    assert [{"4 MiB in use"}, {"12 MiB in use"}] == [
        set(re.findall(r">([\d.]+ MiB in use)", data["image/svg+xml"])) for data in (first, second)
    ]
    assert "12 MiB" in second["text/plain"]


def test_widgets_and_pictures_of_others_stay_as_they_are() -> None:
    picture = "<svg><text><tspan>a</tspan><tspan>b</tspan></text></svg>"
    notebook = with_widgets(Slider={"image/svg+xml": picture, "text/html": "<b>3</b>"}, Ours={"text/plain": "figures"})

    tidy(notebook)

    slider = notebook.cells[0].outputs[0].data
    assert {"Slider", "Slider-layout"} == set(notebook.metadata.widgets[STATES].state)
    assert {VIEW: {"model_id": "Slider"}, "image/svg+xml": picture, "text/html": "<b>3</b>"} == slider


def test_notebook_that_is_too_large_is_told_of() -> None:
    output = v4.new_output("stream", text="x" * LARGEST)

    (said,) = tidy(v4.new_notebook(cells=[v4.new_code_cell("print()", outputs=[output])]))

    assert said == "it has 220 KB, more than 220: slow to open"


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
        "nbtf: exercise cells and check cells do not match: ten. Every exercise needs both.\n",
    )


def test_likely_wrong_answers_are_known(tmp_path: Path) -> None:
    notebook = v4.new_notebook(cells=list(exercise()))

    assert [one.wrong for one in exercises(notebook)] == [("answer = 11",)]


def test_a_path_without_notebooks_is_an_error(tmp_path: Path) -> None:
    assert nbtf("check", tmp_path) == (2, f"nbtf: found no notebook at {tmp_path}\n")
