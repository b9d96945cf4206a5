"""Does `nbtf run` run a notebook on TensorFlow itself, and report where nbtf and TensorFlow differ?"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtf import cli
from tests.cli.test_run import cell, save

pytest.importorskip("nbclient", reason='needs the extra "lab"')

CELLS = (
    "%tensorflow_version 2.x\n!pip install tensorflow\nimport {module} as tf\n%load_ext nbtf",
    "a = tf.constant([[1.0, 2.0]])\nb = tf.constant([[3.0], [4.0]])\nprint(tf.matmul(a, b).numpy())",
    "with tf.device('CPU:0'):\n    c = tf.add(a, a)\nprint('TensorFlow' if hasattr(tf, 'lite') else 'nbtf')",
    "raise KeyError('wanted')",
)


def notebook(folder: Path, module: str, *more: str) -> Path:
    cells = [cell(source.replace("{module}", module)) for source in (*CELLS, *more)]
    cells[3].metadata["tags"] = ["raises-exception"]
    return save(folder / "notebook.ipynb", *cells)


def run(*arguments: object) -> tuple[int, str]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = cli.main(["run", *map(str, arguments)])
    return status, said.getvalue()


@pytest.fixture(scope="module")
def on_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> str:
    status, said = run(notebook(tmp_path_factory.mktemp("run"), "nbtf"), "--with", "tensorflow")
    assert status == 0, said
    return said


def test_the_heading_names_the_library(on_tensorflow: str, real: Any) -> None:
    assert on_tensorflow.startswith(f"notebook.ipynb: tensorflow means TensorFlow {real.__version__}\n")


def test_each_cell_has_its_table_of_placements(on_tensorflow: str) -> None:
    rows = [line.split() for line in on_tensorflow.splitlines()]

    assert ["op", "device", "count", "why"] in rows
    assert ["MatMul", "CPU:0", "1", "no", "GPU"] in rows
    assert ["AddV2", "CPU:0", "1", "asked", "for", "by", "tf.device"] in rows


def test_commands_are_left_out(on_tensorflow: str) -> None:
    assert "left out: !pip install tensorflow" in on_tensorflow
    assert "left out: %tensorflow_version 2.x" in on_tensorflow


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    status, said = run(notebook(tmp_path_factory.mktemp("compare"), "tensorflow"), "--compare", "--json")
    assert status == 1, said
    return json.loads(said)


def test_cells_that_agree_are_the_same(compared: dict[str, Any]) -> None:
    assert [row["verdict"] for row in compared["cells"]] == ["same", "same", "output differs", "same"]
    assert compared["verdicts"] == {"same": 3, "output differs": 1}


def test_what_differs_is_shown_with_its_library(compared: dict[str, Any]) -> None:
    assert compared["cells"][2]["output_changes"] == ["- nbtf", "+ TensorFlow"]
    assert compared["cells"][3]["errors"] == {"nbtf": "KeyError", "tensorflow": "KeyError"}


def test_both_have_the_same_ops_devices_and_reasons(compared: dict[str, Any]) -> None:
    for row in compared["cells"]:
        assert row["placements"]["nbtf"] == row["placements"]["tensorflow"]
    assert [row["op"] for row in compared["cells"][1]["placements"]["nbtf"]] == ["MatMul", "_EagerConst"]


def test_other_devices_are_a_difference(tmp_path: Path) -> None:
    status, said = run(notebook(tmp_path, "tensorflow"), "--compare", "--gpus", "1")

    lines = [line.strip() for line in said.splitlines()]
    assert status == 1
    assert "- MatMul on GPU:0 (simulated)" in lines
    assert "+ MatMul on CPU:0" in lines
    assert "- (copy) on GPU:0 (simulated) → CPU:0 (2 times)" in lines
    assert lines[-1] == "4 cells: 2 same, 1 placement differs, 1 both differ"


def test_functions_of_nbtf_alone_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "tf.runtime.simulate_gpus(2)", "%%device CPU:0\nwith tf.runtime.recording() as r:\n    tf.ones(1)"

    assert cli.main(["run", str(notebook(tmp_path, "nbtf", *more)), "--with", "tensorflow"]) == 2

    said = capsys.readouterr().err
    assert "2 functions that only nbtf has" in said
    assert "cell 5 uses tf.runtime.simulate_gpus, cell 6 uses tf.runtime.recording" in said


def test_loading_the_extension_does_not_import_tensorflow(tmp_path: Path) -> None:
    lines = ["%load_ext nbtf", "%gpu_memory", "%gpu_memory --who", "%devices", "%placement_log watch tensorflow"]
    program = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance(); "
        f"done = [shell.run_cell(line).success for line in {lines!r}]; "
        "print(done.count(True), [name for name in ('tensorflow', 'keras', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.stdout.splitlines()[-1] == "5 []", done.stdout + done.stderr


def test_a_hint_names_nbtf_where_tf_is_tensorflow(tmp_path: Path) -> None:
    program = "import tensorflow as tf, nbtf\nwith nbtf.runtime.recording() as record: tf.ones([2]) + 1\nprint(record)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert 'nbtf.runtime.watch("tensorflow")' in done.stdout, done.stdout + done.stderr
    assert " tf.runtime" not in done.stdout
