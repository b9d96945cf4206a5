"""Is everything that saves in the table of savers, and does it write through the storage layer, in the right order?"""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest

import nbtf
from tests.storage.power_failure import Disk
from tests.storage.savers import SAVERS, Saver

PACKAGE = Path(nbtf.__file__).parent
STORAGE = str(PACKAGE / "_storage")
SAVING = {
    "files": {"write", "create", "append", "copy", "open_draft"},
    "folders": {"write", "open_draft"},
    "packing": {"write"},
}

LOGS = ("printed text", "table that grows", "notes for TensorBoard")
"""What adds to a file: lines of logs wait for the system."""

every_saver = pytest.mark.parametrize("saver", SAVERS, ids=lambda saver: saver.name)


def functions_that_save() -> set[tuple[str, str]]:
    """File and name of each function of nbtf that names a function of the storage layer that saves."""
    names: set[tuple[str, str]] = set()
    for path in PACKAGE.rglob("*.py"):
        if not str(path).startswith(STORAGE):
            file = path.relative_to(PACKAGE).as_posix()
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(function, ast.FunctionDef) and any(map(saves, ast.walk(function))):
                    names.add((file, function.name))
    return names


def saves(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in SAVING.get(node.value.id, ())
    )


@contextlib.contextmanager
def callers_of_storage() -> Generator[set[tuple[str, str]]]:
    """Collects which functions of nbtf call the storage layer to save."""
    callers: set[tuple[str, str]] = set()

    def noting_caller(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **kwargs: Any) -> Any:
            code = sys._getframe(1).f_code
            if code.co_filename.startswith(str(PACKAGE)):
                callers.add((Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_name))
            return call(*args, **kwargs)

        return instead

    with contextlib.ExitStack() as stack:
        for module, names in SAVING.items():
            for name in sorted(names):
                storage = importlib.import_module(f"nbtf._storage.{module}")
                stack.enter_context(patch.object(storage, name, noting_caller(getattr(storage, name))))
        yield callers


def test_every_function_that_saves_is_reached_from_the_table(tmp_path: Path) -> None:
    with callers_of_storage() as callers:
        for number, saver in enumerate(SAVERS):
            folder = tmp_path / str(number)
            folder.mkdir()
            saver.prepare(folder)
            saver.save(folder)

    assert functions_that_save() - callers == set()


class Openings:
    """Which files are opened for writing by something else than the storage layer."""

    def __init__(self) -> None:
        self.active, self.paths = False, list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Any) -> None:
        if self.active and event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not frame.f_code.co_filename.startswith(STORAGE):
                frame = frame.f_back
            if frame is None:
                self.paths.append(str(arguments[0]))

    @contextlib.contextmanager
    def heard(self) -> Generator[list[str]]:
        self.active, self.paths = True, []
        try:
            yield self.paths
        finally:
            self.active = False


@pytest.fixture(scope="session")
def openings() -> Openings:
    return Openings()  # one for all tests: nothing takes an audit hook away


@every_saver
def test_nothing_is_opened_for_writing_past_the_storage_layer(saver: Saver, openings: Openings, tmp_path: Path) -> None:
    saver.prepare(tmp_path)
    with openings.heard() as paths:
        saver.save(tmp_path)

    assert paths == []


def test_an_opening_past_the_storage_layer_would_be_heard(openings: Openings, tmp_path: Path) -> None:
    with openings.heard() as paths:
        (tmp_path / "file").write_text("text")

    assert paths == [str(tmp_path / "file")]


@pytest.mark.parametrize("saver", [saver for saver in SAVERS if saver.name != "site"], ids=lambda saver: saver.name)
def test_a_power_failure_takes_nothing_that_was_saved(saver: Saver, tmp_path: Path) -> None:
    saver.prepare(tmp_path)
    disk = Disk()
    with disk.installed():
        saver.save(tmp_path)

    assert disk.names == set()
    assert not disk.contents or saver.name in LOGS
