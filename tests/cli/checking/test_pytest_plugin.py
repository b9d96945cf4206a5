"""Does `pytest --nbtf` check notebooks, do its markers bound tests, and does the plugin cost nothing otherwise?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import nbtf
from nbtf.cli import pytest_nbtf
from tests.cli.checking.cells import cell, result, save, stream

ROOT = Path(nbtf.__file__).parents[1]

TESTS = """
import pytest
import nbtf as tf

def product():
    return tf.matmul([[1.0]], [[2.0]])

@pytest.mark.gpu_memory(at_most="1MiB", kept=0)
@pytest.mark.placement("MatMul=GPU:0", no_copies=True)
def test_within():
    product()

@pytest.mark.gpu_memory(at_most="1MiB")
def test_memory():
    tf.ones([2**20])

@pytest.mark.gpu_memory(kept=0)
def test_kept():
    test_kept.tensor = tf.ones([10])

@pytest.mark.placement("MatMul=GPU:1")
def test_placement():
    product()

@pytest.mark.placement("Conv2D=GPU:0")
def test_unseen():
    product()

@pytest.mark.gpu_memory(atmost="1MiB")
def test_typing_error():
    pass

@pytest.mark.placement("MatMul=GPU:1")
def test_own_failure():
    product()
    assert 1 == 2

def test_record(device_record):
    product()
    assert device_record.ops[-1] == ("MatMul", "GPU:0")
"""

WITHOUT = """
import sys
import pytest

@pytest.mark.placement("left", of="the picture")
def test_marker_of_the_project():
    assert "nbtf" not in sys.modules

def test_nothing_is_imported():
    assert not {"nbtf", "numpy", "nbclient"} & set(sys.modules)
"""


class Outcome(NamedTuple):
    """What pytest ended with: its status, what it printed, and why each test failed (None: it passed)."""

    status: int
    said: str
    failures: dict[str, str | None]


def run_pytest(folder: Path, *options: str) -> Outcome:
    """Runs pytest with the plugin as an installed wheel has it: a module beside the package."""
    shutil.copy(str(pytest_nbtf.__file__), folder / "pytest_nbtf.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:nbtf", "-p", "no:nbval", "-p", "pytest_nbtf", "-p"]
    command += ["no:cacheprovider", "--strict-markers", "--junitxml=report.xml", *options]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    failures = {
        case.get("name", ""): None if (failure := case.find("failure")) is None else failure.text or ""
        for case in ElementTree.parse(folder / "report.xml").iter("testcase")
    }
    return Outcome(ended.returncode, ended.stdout + ended.stderr, failures)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "test_marks.py").write_text(TESTS)
    save(folder / "true.ipynb", cell("print(1)", stream("1\n")))
    gpus = "import nbtf as tf\nlen(tf.config.list_physical_devices('GPU'))"
    save(folder / "stale.ipynb", cell(gpus, result("2")), cell("print('new')", stream("old\n")))
    return run_pytest(folder, "--nbtf", "--nbtf-gpus", "2", "--nbtf-timeout", "60")


def test_notebooks_are_tests(outcome: Outcome) -> None:
    assert outcome.status == 1
    assert "stale.ipynb::notebook" in outcome.said
    assert "stale.ipynb: differs\n  cell 2 differs: print('new')\n    stdout:\n    - old\n    + new" in outcome.said
    assert "true.ipynb" not in outcome.said.partition("FAILURES")[2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("test_within", None),
        ("test_record", None),
        ("test_memory", "peak at most 1 MiB"),
        ("test_kept", "kept at most 0 B"),
        ("test_placement", "+ MatMul on GPU:0 (simulated): lowest-numbered GPU"),
        ("test_unseen", "no Conv2D; the ops that ran: MatMul, _EagerConst"),
        ("test_typing_error", "@pytest.mark.gpu_memory: Recording.expect_memory() got an unexpected keyword"),
        ("test_own_failure", "assert 1 == 2"),
    ],
)
def test_markers_bound_tests(name: str, words: str | None, outcome: Outcome) -> None:
    failure = outcome.failures[name]

    assert (failure is None) == (words is None), failure
    assert (words or "") in (failure or "")


def test_without_an_option_nothing_is_imported_and_markers_of_a_project_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(WITHOUT)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    placement(side, of): where it stands\n")
    save(tmp_path / "stale.ipynb", cell("1", result("2")))

    outcome = run_pytest(tmp_path)

    assert outcome.status == 0, outcome.said
    assert outcome.failures == {"test_marker_of_the_project": None, "test_nothing_is_imported": None}


def test_a_wheel_has_the_plugin_beside_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["entry-points"]["pytest11"] == {"nbtf": "pytest_nbtf"}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["nbtf/cli/pytest_nbtf.py"] == "pytest_nbtf.py"


@pytest.mark.nightly
def test_a_cell_that_needs_a_missing_module_is_a_skipped_test_with_the_reason(tmp_path: Path) -> None:
    needing = cell("%%needs no_such_module\nprint(2)", stream("2\n"))
    needing["metadata"] = {"nbtf": {"needs": ["no_such_module"]}}
    save(tmp_path / "lesson.ipynb", cell("print(1)", stream("1\n")), needing)

    outcome = run_pytest(tmp_path, "--nbtf", "-rs")

    assert (0, {"notebook", "cell 2"}) == (outcome.status, set(outcome.failures)), outcome.said
    assert "1 passed, 1 skipped" in outcome.said
    assert "not run: needs no_such_module" in outcome.said
