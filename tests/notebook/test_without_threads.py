"""Does everything work where no thread and no process starts, as in a page without a server?"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from nbtf.cli.in_browser import INSTALL, in_browser
from nbtf.cli.own_wheel import DIGITS, own_wheel
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.pump import pump_of
from tests.notebook.conftest import Shell
from tests.rings import with_nightly

nbformat = pytest.importorskip("nbformat", reason="needs the lab extra")
pytest.importorskip("anywidget", reason="needs the lab extra")

FIND_SPEC = importlib.util.find_spec

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SHARE = ("00_", "02_", "06_", "14_")
"""How the names of the lessons of the usual run begin."""


class StartsProcessError(BaseException):
    """No code expects it, so that none can hide a process that it tried to start."""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the wheel of a page brings instead of scikit-learn."""
    pytest.importorskip("sklearn", reason="needs the lab extra")
    folder = tmp_path_factory.mktemp("wheel")
    return Path(zipfile.ZipFile(own_wheel(folder)).extract(DIGITS, folder))


@pytest.fixture
def page(bare: Shell, digits: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell as in a page: no threads, no processes, no scikit-learn, views fed between two ops."""

    def refuse_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")  # as Pyodide says it

    def refuse_process(*_: Any, **__: Any) -> None:
        raise StartsProcessError

    monkeypatch.setenv("NBTF_LIVE", "inline")
    monkeypatch.setattr(threading.Thread, "start", refuse_thread)
    monkeypatch.setattr(subprocess.Popen, "__init__", refuse_process)
    monkeypatch.setattr(tf.keras.datasets.digits, "_FILE", digits)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    return bare


@pytest.mark.parametrize(
    "path",
    with_nightly(
        [path for path in LESSONS if path.name.startswith(SHARE)],
        [path for path in LESSONS if not path.name.startswith(SHARE)],
    ),
    ids=lambda path: path.stem,
)
def test_lesson_runs(path: Path, page: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = nbformat.read(path, as_version=4)
    needs = [part.metadata.get("nbtf", {}).get("needs", []) for part in (lesson, *lesson.cells)]
    needed = {name for names in needs for name in names}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in needed else FIND_SPEC(name))
    with use_context(Context(environ=os.environ)):
        for cell in in_browser(lesson).cells:
            if cell.cell_type != "code":
                continue
            ran = page.run(cell.source.removeprefix(INSTALL))
            if cell.source.startswith("%%needs"):
                assert (None, True) == (ran.error, "so this cell was not run." in ran.out)
                continue
            if lesson.metadata.get("nbtf", {}).get("needs") or cell.metadata.get("nbtf", {}).get("needs"):
                assert isinstance(ran.error, SystemExit)  # the first cell says that a page does not have it, and ends
                break
            expected = "raises-exception" in cell.metadata.get("tags", [])
            assert expected == (ran.error is not None), f"{cell.source}\n{ran.out}"
        tf.unload_ipython_extension(page.ip)


def test_views_are_fed_between_ops(page: Shell) -> None:
    page.run("%load_ext nbtf", "view = tf.notebook.DeviceMap()")
    page.run("view")

    assert ("inline", None) == (pump_of(SESSIONS[page.ip]).mode, pump_of(SESSIONS[page.ip]).failure)


def test_view_that_finds_no_threads_is_fed_between_ops(page: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_LIVE", "thread")
    page.run("%load_ext nbtf", "view = tf.notebook.DeviceMap()")
    page.run("view")

    assert "inline" == pump_of(SESSIONS[page.ip]).mode
