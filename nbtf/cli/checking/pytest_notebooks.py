"""How does pytest check notebooks? One test each runs it once and fails with the report of `nbtf notebooks check`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest

from nbtf._as_tensorflow.presentation import Presentation, present_as_tensorflow
from nbtf._devices.discovery import SIMULATED_GPUS
from nbtf.cli.checking.command import INSTALL, plan_of
from nbtf.cli.checking.notebook_check import check
from nbtf.cli.checking.settings import find_settings
from nbtf.cli.checking.text import lines_of, summary
from nbtf.cli.checking.verdicts import NotebookVerdict
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.execution import code_cells, wait_for
from nbtf.cli.languages import original_of
from nbtf.cli.needs import missing_modules
from nbtf.cli.notebook_choice import CHECKPOINTS, is_excluded
from nbtf.cli.notebook_file import read


class Notebooks:
    """The plugin that is registered with `--nbtf` or `--nbtf-gpus`."""

    def __init__(self, config: pytest.Config) -> None:
        """Reads options and settings.

        Raises:
          UsageError: if one of them is invalid.
        """
        self._collects = bool(config.getoption("--nbtf"))
        self._gpus: str | None = config.getoption("--nbtf-gpus")
        self._environment_before = os.environ.get(SIMULATED_GPUS)
        names = ("gpus", "redirect", "timeout", "tolerance")
        not_offered = ("pictures", "lax", "strict", "vary", "kernel", "startup_timeout")
        chosen = argparse.Namespace(sanitize=(), **dict.fromkeys(not_offered))
        vars(chosen).update({name: config.getoption(f"--nbtf-{name}") for name in names})
        try:
            require(["nbclient", "nbformat", "ipykernel"] if self._collects else [], "pytest --nbtf", INSTALL)
            self._settings = find_settings(config.rootpath)
            self._plan = plan_of(chosen, self._settings, ())
        except CommandError as error:
            raise pytest.UsageError(str(error)) from error
        self._root, self._excluded = config.rootpath, self._settings.options.get("exclude", ())
        self._named = {str(config.invocation_params.dir / word.partition("::")[0]) for word in config.args}
        if self._gpus is not None:
            os.environ[SIMULATED_GPUS] = self._gpus
        self._presentation = self._present(config.getoption("--nbtf-redirect") is not None)

    def _present(self, is_requested: bool) -> Presentation | None:
        """Makes `import tensorflow` mean nbtf in tests: on request, and where TensorFlow is not installed.

        Raises:
          UsageError: if it was requested, and TensorFlow is already imported.
        """
        if not is_requested and (not self._collects or "tensorflow" in sys.modules or find_spec("tensorflow")):
            return None
        try:
            return present_as_tensorflow()
        except RuntimeError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_unconfigure(self) -> None:
        """Restores the environment."""
        if self._presentation is not None:
            self._presentation.undo()
        if self._environment_before is not None:
            os.environ[SIMULATED_GPUS] = self._environment_before
        elif self._gpus is not None:
            os.environ.pop(SIMULATED_GPUS, None)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collects a notebook."""
        if not self._collects or file_path.suffix != ".ipynb" or CHECKPOINTS in file_path.parts:
            return None
        if not self._is_named(file_path) and is_excluded(file_path, self._excluded, self._root):
            return None
        file: NotebookFile = cast("Any", NotebookFile).from_parent(parent, path=file_path)
        file.plugin = self
        return file

    def _is_named(self, path: Path) -> bool:
        """Returns whether the command line names this notebook itself."""
        return str(path) in self._named

    def verdict(self, path: Path) -> NotebookVerdict:
        """Runs a notebook and returns its verdict."""
        return wait_for(check(path, replace(self._plan, limits_of={path: self._settings.limits_of(path)})))


class NotebookFile(pytest.File):
    """A notebook."""

    plugin: Notebooks

    def collect(self) -> Iterable[pytest.Item]:
        """Yields its only test: separate tests for cells would need a kernel that several workers share."""
        yield cast("Any", NotebookItem).from_parent(self, name="notebook")
        for number, missing in _cells_not_run(self.path):
            cell: CellNotRun = cast("Any", CellNotRun).from_parent(self, name=f"cell {number}")
            cell.missing = missing
            yield cell


def _cells_not_run(path: Path) -> list[tuple[int, list[str]]]:
    """Returns the number of each cell that alone needs a missing module, with those modules."""
    try:
        notebook = read(path)
        if missing_modules(notebook.metadata) or original_of(path, notebook) is not None:
            return []
        cells = enumerate(code_cells(notebook), start=1)
        return [(number, missing) for number, (_, cell) in cells if (missing := missing_modules(cell.metadata))]
    except CommandError:
        return []  # the notebook's own test fails with this error


class NotebookItem(pytest.Item):
    """The test that a notebook's outputs are as recorded."""

    def runtest(self) -> None:
        """Runs the notebook.

        Raises:
          NotebookDiffersError: if its outputs are not as recorded.
        """
        file: Any = self.parent
        verdict: NotebookVerdict = file.plugin.verdict(self.path)
        if verdict.is_wrong:
            raise NotebookDiffersError(verdict)
        if verdict.missing or verdict.skipped:
            pytest.skip(summary(verdict))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Returns the report on the notebook."""
        if isinstance(excinfo.value, NotebookDiffersError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Returns the file and the name of the test."""
        return self.path, None, self.nodeid


class CellNotRun(pytest.Item):
    """A test that is always skipped: it shows that a cell of a notebook was not run, and why."""

    missing: list[str]

    def runtest(self) -> None:
        """Skips."""
        pytest.skip(f"not run: needs {' and '.join(self.missing)}")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Returns the name of the test."""
        return self.path, None, self.nodeid


class NotebookDiffersError(AssertionError):
    """A notebook's outputs are not as recorded; the message names the cells."""

    def __init__(self, verdict: NotebookVerdict) -> None:
        """Stores the notebook's verdict."""
        super().__init__("\n".join(lines_of(verdict)))
