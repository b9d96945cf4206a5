"""Do the tests notice a mutant? Runs them in a fork that imports the mutant in the file's place."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 120.0
"""Tests that take longer hang, which is noticed, too."""


class _Loader(SourceFileLoader):
    """Loads a module from a text instead of its file."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Gives the mutant to whoever imports the file's module."""

    def __init__(self, module: str, file: Path, source: str) -> None:
        self._module, self._file, self._source = module, file, source

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        loader = _Loader(fullname, str(self._file))
        loader.text = self._source
        return importlib.util.spec_from_file_location(fullname, self._file, loader=loader)


def is_noticed(file: str, source: str, tests: Sequence[str], seconds: float = SECONDS) -> bool:
    """Tells whether a test fails, or hangs, with a text in the place of a file of the package.

    The package itself must not be imported in this process.
    """
    child = os.fork()
    if child == 0:
        _run_tests(file, source, tests)
    end = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) != 0
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True
        time.sleep(0.05)


def _run_tests(file: str, source: str, tests: Sequence[str]) -> None:
    """In the child: runs the tests and ends."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.chdir(ROOT)
        module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        sys.meta_path.insert(0, _Finder(module, ROOT / file, source))
        status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(status)
