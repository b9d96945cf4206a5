"""Does `%%needs` run its cell where the modules are installed, and print a line where they are not?"""

from __future__ import annotations

import importlib.util
import traceback
from typing import Any

import pytest

from tests.notebook.conftest import Shell

FIND_SPEC = importlib.util.find_spec


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> Any:
        return None if name in ("tensorflow", "torch", "other") else FIND_SPEC(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def test_the_cell_runs_where_its_modules_are_installed(shell: Shell) -> None:
    ran = shell.run("%%needs json math\nimport json\njson.dumps(1)")

    assert ("1", None) == (ran.result, ran.error)


@pytest.mark.parametrize(
    ("modules", "line"),
    [
        ("torch", "PyTorch is not installed, so this cell was not run.\n"),
        ("tensorflow", "TensorFlow is not installed, so this cell was not run.\n"),
        ("json torch other", "PyTorch and other are not installed, so this cell was not run.\n"),
    ],
    ids=["one", "TensorFlow", "two of three"],
)
def test_the_cell_prints_a_line_where_one_is_missing(
    without_libraries: None, shell: Shell, modules: str, line: str
) -> None:
    ran = shell.run(f"%%needs {modules}\nimport torch\nnot_run = True")

    assert (line, None) == (ran.out, ran.error)
    assert "not_run" not in shell.ip.user_ns


def test_the_magics_below_it_are_not_run_either(without_libraries: None, shell: Shell) -> None:
    ran = shell.run("%%needs torch\n%%device GPU:77\n1 / 0")

    assert ("PyTorch is not installed, so this cell was not run.\n", None) == (ran.out, ran.error)


def test_a_line_of_the_cell_keeps_its_number(shell: Shell) -> None:
    ran = shell.run("%%needs json\n\n1 / 0")

    assert ran.error is not None
    assert 3 == traceback.extract_tb(ran.error.__traceback__)[-1].lineno


@pytest.mark.parametrize("words", ["", "torch==2.0", "torch.nn"], ids=["none", "version", "submodule"])
def test_what_is_no_module_is_refused(shell: Shell, words: str) -> None:
    assert "UsageError" in str(shell.run(f"%%needs {words}\n1 + 1").error.__class__)


def test_help_runs_nothing(shell: Shell) -> None:
    ran = shell.run("%%needs -h\n1 / 0")

    assert ran.error is None
    assert "a module that the cell needs" in ran.out
