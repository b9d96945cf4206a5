"""Does `nbtf run` run a TensorFlow notebook in a kernel and tell the truth about each cell? One notebook, run once."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nbtf import cli
from nbtf._install import pip_install

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
pytest.importorskip("nbclient", reason='needs the extra "lab"')
v4 = nbformat.v4


def cell(source: str, *printed: str, tags: tuple[str, ...] = ()) -> Any:
    """A code cell; what is recorded of it if anything was printed."""
    outputs = [v4.new_output("stream", name="stdout", text=text) for text in printed]
    made = v4.new_code_cell(source, outputs=outputs, execution_count=7 if printed else None)
    if tags:
        made.metadata["tags"] = list(tags)
    return made


def save(path: Path, *cells: Any, **metadata: Any) -> Path:
    nbformat.write(v4.new_notebook(cells=list(cells), metadata=metadata), path)
    return path


class Ran(NamedTuple):
    """What a run said and left behind, and the notebook's bytes before."""

    status: int
    said: str
    notebook: Path
    before: bytes
    executed: Any

    def line(self, number: int) -> str:
        """What was said of one cell, on one line."""
        lines = self.said.split(f"\n[{number:2}] ")[1].split("\n[")[0]
        return " ".join(lines.split())


CELLS = (
    v4.new_markdown_cell("# A notebook"),
    cell("%tensorflow_version 2.x\n!pip install tensorflow\nimport tensorflow as tf\nprint(tf.__name__)", "nbtf\n"),
    cell("from tensorflow import errors\nerrors.OpError.__name__"),
    cell(""),
    cell("print(1)\nprint(2)", "1\n", "3\n"),
    cell("tf.no_such_name"),
    cell("%no_such_magic"),
    cell("raise KeyError('wanted')", tags=("raises-exception",)),
    cell("import os\nprint(os.environ['NBTF_SIMULATED_GPUS'], os.path.exists('notebook.ipynb'))", "3 True\n"),
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("run")
    # A kernel of that name does not exist here: the notebook runs in this Python whatever it names.
    notebook = save(folder / "notebook.ipynb", *CELLS, kernelspec={"name": "conda-tf", "display_name": "x"})
    before = notebook.read_bytes()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = cli.main(["run", str(notebook), "--gpus", "3", "-o", str(folder / "out.ipynb")])
    return Ran(status, said.getvalue(), notebook, before, nbformat.read(folder / "out.ipynb", as_version=4))


def test_first_line_says_what_runs_on_what(ran: Ran) -> None:
    assert ran.said.startswith(f"notebook.ipynb: tensorflow means nbtf {cli.version}; simulated GPUs: 3\n")


def test_import_is_redirected_and_commands_are_left_out(ran: Ran) -> None:
    assert "ran, same as recorded" in ran.line(1)
    assert "left out: %tensorflow_version 2.x left out: !pip install tensorflow" in ran.line(1)


def test_cell_without_recorded_output_is_said_to_have_none(ran: Ran) -> None:
    assert ran.line(2).startswith("ran, nothing recorded")


def test_difference_from_the_recording_is_shown(ran: Ran) -> None:
    assert ran.line(3).startswith("ran, output differs")
    assert ran.line(3).endswith("- 3 + 2")


def test_missing_name_is_told_and_the_next_cell_runs(ran: Ran) -> None:
    assert ran.line(4).endswith("tf.no_such_name is not in nbtf yet")


def test_magic_that_does_not_exist_fails_its_cell(ran: Ran) -> None:
    assert ran.line(5).startswith("failed")
    assert "no_such_magic" in ran.line(5)


def test_error_that_the_notebook_wants_is_no_failure(ran: Ran) -> None:
    assert ran.line(6).startswith("ran")


def test_kernel_has_the_gpus_and_sits_beside_the_notebook(ran: Ran) -> None:
    assert ran.line(7).startswith("ran, same as recorded")


def test_last_line_counts_and_a_failed_cell_sets_the_status(ran: Ran) -> None:
    assert 1 == ran.status
    assert ran.said.endswith(
        "Not in nbtf yet: tf.no_such_name\n"
        "7 cells: 5 ran, 2 failed; 2 same as recorded, 1 with different output, 2 with nothing recorded\n"
    )


def test_notebook_itself_is_not_changed(ran: Ran) -> None:
    assert ran.before == ran.notebook.read_bytes()
    assert {"notebook.ipynb", "out.ipynb"} == {path.name for path in ran.notebook.parent.iterdir()}


def test_executed_notebook_has_the_old_sources_and_the_new_outputs(ran: Ran) -> None:
    assert [cell.source for cell in CELLS] == [cell.source for cell in ran.executed.cells]
    assert "1\n2\n" == ran.executed.cells[4].outputs[0].text
    assert ["nbtf\n"] == [output.text for output in ran.executed.cells[1].outputs]


def test_kernel_that_dies_is_told_and_the_rest_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = save(tmp_path / "a.ipynb", cell("import os\nos._exit(1)"), cell("1"))
    status = cli.main(["run", str(notebook)])
    said = capsys.readouterr().out

    assert 1 == status
    assert "the kernel died" in said
    assert "2 cells: 0 ran, 1 failed; 1 not reached; " in said


# What is refused before a kernel starts.


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert 2 == cli.main(["run", *words])
    return capsys.readouterr().err


def test_notebook_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such file" in refused([str(tmp_path / "a.ipynb")], capsys)


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"cells": 3, "nbformat": 4, "nbformat_minor": 5}'])
def test_file_that_is_no_notebook_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text(text)

    assert f"nbtf: {file} is not a notebook\n" == refused([str(file)], capsys)


def test_notebook_in_another_language_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = {"name": "ir", "display_name": "R", "language": "R"}

    assert "is in R" in refused([str(save(tmp_path / "a.ipynb", kernelspec=kernel))], capsys)


def test_output_over_the_notebook_itself_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = str(save(tmp_path / "a.ipynb"))

    assert "never changed" in refused([notebook, "-o", notebook], capsys)


def test_the_summary_is_told_although_the_output_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nbtf.cli.execution.run_to_end", lambda *ignored: None)
    monkeypatch.setattr("nbtf._storage.files.write", full)
    out = tmp_path / "out.ipynb"

    assert cli.main(["run", str(save(tmp_path / "a.ipynb")), "-o", str(out)]) == 2
    told = capsys.readouterr()
    assert told.err == f"nbtf: cannot write {out}: No space left on device\n"
    assert "0 ran, 0 failed" in told.out


def test_output_without_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = str(save(tmp_path / "a.ipynb"))

    assert "does not exist" in refused([notebook, "-o", str(tmp_path / "no" / "b.ipynb")], capsys)


def test_missing_nbclient_comes_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "nbclient" else object())

    assert f"`nbtf run` needs nbclient. Install with: {pip_install('lab')}" in refused([str(tmp_path)], capsys)


@pytest.mark.parametrize("gpus", ["many", "-1", "1.5"])
def test_number_of_gpus_that_is_none_is_refused(gpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "a.ipynb", f"--gpus={gpus}"])

    assert f"expected a number of GPUs, got '{gpus}'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A notebook of TensorFlow 1 with a cell that never ends."""
    file = save(
        tmp_path_factory.mktemp("old") / "old.ipynb",
        cell("import tensorflow as tf\nc = tf.constant(1.0)\nprint(tf.Session().run(c + 1.0))", "2.0\n"),
        cell("from tensorflow.python.client import device_lib\ndevice_lib.list_local_devices()[0].name"),
        cell("import tensorflow.contrib.slim"),
        cell("print('\x1b[2Jgone')", "here\n"),
        cell("while True: pass"),
        cell("print('after')"),
    )
    before = file.read_bytes()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = cli.main(["run", str(file), "--timeout", "7"])
    return Ran(status, printed.getvalue(), file, before, None)


def test_a_notebook_of_tensorflow_1_runs_as_such(old: Ran) -> None:
    assert ", as TensorFlow 1, because it uses tf.Session (--no-tf1: TensorFlow 2)\n" in old.said
    assert old.line(1).startswith("ran, same as recorded")
    assert old.line(2).startswith("ran, nothing recorded")
    assert old.line(3).endswith("tf.contrib is not in nbtf yet")


def test_a_cell_that_never_ends_is_ended(old: Ran) -> None:
    assert 1 == old.status
    assert old.line(5).startswith("failed while True: pass TimeoutError: stopped after 7 s (--timeout)")
    assert "6 cells: 3 ran, 2 failed; 1 not reached" in old.said


def test_a_notebook_does_not_steer_the_terminal(old: Ran) -> None:
    assert "\x1b" not in old.said
    assert "\\x1b[2Jgone" in old.said


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_a_time_is_a_number(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "n.ipynb", "--timeout", seconds])

    assert f"expected a number of seconds, got '{seconds}'" in capsys.readouterr().err


def test_without_tensorflow_it_cannot_run_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "tensorflow" else find(name, *rest)
    )
    notebook = str(save(tmp_path / "notebook.ipynb", cell("1")))

    for option in (["--with", "tensorflow"], ["--compare"]):
        assert cli.main(["run", notebook, *option]) == 2
        said = capsys.readouterr()
        assert "needs tensorflow. Install with: pip install tensorflow" in said.err
        assert not said.out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--with", "tensorflow", "--gpus", "2"], "TensorFlow uses the real ones"),
        (["--with", "tensorflow", "--tf1"], "--tf1"),
        (["--compare", "-o", "out.ipynb"], "--compare runs the notebook twice"),
    ],
    ids=["gpus", "tf1", "output"],
)
def test_options_without_a_meaning_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    assert cli.main(["run", str(save(tmp_path / "notebook.ipynb", cell("1"))), *options]) == 2
    assert reason in capsys.readouterr().err


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    cells = cell("import tensorflow as tf\nx = tf.ones([2]) + 1"), cell("print(1)", "2\n"), cell("tf.no_such_name")
    notebook = save(tmp_path_factory.mktemp("json") / "notebook.ipynb", *cells)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert cli.main(["run", str(notebook), "--with", "nbtf", "--gpus", "1", "--json"]) == 1
    return json.loads(said.getvalue())


def test_json_has_each_cell_with_its_placements(data: Any) -> None:
    first, second, third = data["cells"]

    assert [row["verdict"] for row in data["cells"]] == ["ran, nothing recorded", "ran, output differs", "failed"]
    assert first["placements"][0] == {
        "op": "AddV2",
        "device": "GPU:0 (simulated)",
        "count": 1,
        "why": "lowest-numbered GPU",
    }
    assert second["details"] == ["- 2", "+ 1"]
    assert third["placements"] == []
    assert data["missing"] == ["tf.no_such_name"]
    assert data["not_reached"] == 0
