"""Do the magics record and check what TensorFlow did in a cell, also beside nbtf's own ops?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtf import runtime
from tests.notebook.conftest import Shell

IMPORT = "import tensorflow as real"
COPY = "with real.device('CPU:2'):\n    y = real.ones((8, 8)) @ x"
HERE = "y = x @ x"
OWN = "with tf.device('CPU:0'):\n    z = tf.matmul([[1.0]], [[2.0]])"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def cells(shell: Shell, real: Any) -> Shell:
    """A notebook with a tensor of TensorFlow."""
    shell.run(IMPORT, "x = real.ones((8, 8)) + 0.0")
    return shell


@pytest.mark.parametrize(
    ("check", "work", "holds"),
    [
        ("%%placement --expect MatMul=CPU:0", HERE, True),
        ("%%placement --expect MatMul=CPU:1", HERE, False),
        ("%%placement --no-copies", HERE, True),
        ("%%placement --no-copies", COPY, False),
        ("%%placement --expect MatMul=CPU:2", COPY, True),
        ("%%placement --expect MatMul=CPU:0", f"{HERE}\n{OWN}", True),
        ("%%placement --no-copies", f"{COPY}\nz = tf.add(1.0, 2.0)", False),
        ("%%placement --expect MatMul=CPU:3", "real.function(lambda a: a @ a)(x)", False),
        ("%%gpu_memory --at-most 1GiB", HERE, False),
        ("%%gpu_memory --kept 0", HERE, False),
        ("%%gpu_memory --at-most 1GiB --without tensorflow", HERE, True),
    ],
)
def test_check_counts_what_tensorflow_did(cells: Shell, check: str, work: str, holds: bool) -> None:
    error = cells.run(check, work).error

    assert holds == (error is None)
    assert error is None or isinstance(error, runtime.ExpectationError)


def test_function_whose_nodes_are_unknown_fails_the_check(cells: Shell) -> None:
    cells.run("f = real.function(lambda a: a * real.random.uniform((8, 8)))", "y = f(x)")

    error = cells.run("%%placement --no-copies", "y = f(x)").error

    assert isinstance(error, runtime.ExpectationError)
    assert "whose ops are unknown" in str(error)


def test_session_without_a_record_fails_the_check(cells: Shell) -> None:
    v1 = "g = real.Graph()\nwith g.as_default():\n    c = real.constant(1.0) + 1.0\n"

    error = cells.run("%%placement --no-copies", f"{v1}real.compat.v1.Session(graph=g).run(c)").error

    assert isinstance(error, runtime.ExpectationError)


def test_permanent_watch_of_a_session(cells: Shell) -> None:
    assert "TensorFlow's ops are recorded from now on" in cells.run("%placement_log watch tensorflow").out
    cells.run("%placement_log clear", HERE)
    table = cells.run("%placement_log table").out
    cells.run("%placement_log unwatch tensorflow")

    assert "MatMul" in table
    assert "no GPU" in table


def test_table_of_a_cell(cells: Shell) -> None:
    out = cells.run("%%placement --table", COPY).out

    assert "MatMul" in out
    assert "asked for by tf.device" in out


@pytest.fixture
def watched(cells: Shell) -> Shell:
    """A notebook whose TensorFlow is watched from now on."""
    cells.run("f = real.function(lambda a: a @ a)", "%placement_log watch tensorflow")
    return cells


def test_table_has_no_sizes_for_nodes_of_a_function(watched: Shell) -> None:
    watched.run("y = f(x)", "z = real.transpose(x)")

    sizes = {row["op"]: row["nbytes"] for row in watched.run("%placement_log table").result.to_dict()["rows"]}
    assert (sizes["Transpose"], {sizes[op] for op in sizes if "MatMul" in op}) == (256, {None})


def test_log_and_summary_of_a_cell_count_the_ops_of_tensorflow(watched: Shell) -> None:
    log = watched.run("%%device CPU:0 --log", HERE).out
    summary = watched.run("%%device CPU:0 --summary", HERE).out

    assert "Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0" in log
    assert "CPU:0: 1 op; no copies" in summary


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_exports_have_the_ops_of_tensorflow(watched: Shell, tmp_path: Path, ending: str) -> None:
    watched.run("y = f(x)", HERE, f"%placement_log export {tmp_path / 'log'}.{ending}")

    text = (tmp_path / f"log.{ending}").read_text(encoding="utf-8")
    assert text.count("MatMul") >= 4
    assert "unknown" in text  # the times of a function's nodes


def test_pictures_have_the_ops_of_tensorflow(watched: Shell, tmp_path: Path) -> None:
    watched.run("with real.device('CPU:3'):\n    y = x @ x")

    assert "CPU:3: MatMul × 1 (asked for by tf.device)" in str(watched.run("%devices --map").result)
    page = tmp_path / "page.html"
    watched.run(f"with tf.runtime.recording() as record:\n    y = f(x)\nrecord.to_html({str(page)!r})")
    assert "MatMul" in page.read_text(encoding="utf-8")
