"""Do the tests notice mutants? One process imports and collects all; a fork of it for each mutant swaps code and runs.

The examples of the file are tests, too. A fork runs only the tests that come to the mutant's
line: first those that noticed others, then the short ones.
What runs at import (defaults, constants) cannot be swapped: there, a process imports the mutant and runs all tests.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing import Pipe
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn
from unittest.mock import Mock, patch

import hypothesis
import numpy as np  # imported here, so that no fork has to import it
import pytest

from tests.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]
SECONDS = 120
"""Tests that take longer hang, which is noticed, too; of the processor, half of it, or `_budget_of` the tests."""

_MEMORY = "/dev/shm"  # a disk would need time to write the content

assert np  # marks the import as used

hypothesis.settings.register_profile(
    "mutation",
    database=None,
    deadline=None,
    derandomize=True,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)


class Coverage(NamedTuple):
    """A test's duration, the lines of the file that it reaches, and whether it fails."""

    seconds: float
    lines: frozenset[int]
    fails: bool


def are_noticed(file: str, source: str, mutants: Sequence[Mutant], tests: Sequence[str]) -> Iterator[bool]:
    """Tells of each mutant whether a test fails, or hangs, with it in the place of a file of the package.

    The package itself must not be imported in this process.

    Raises:
      RuntimeError: the tests fail without a mutant.
    """
    receiver, sender = Pipe(duplex=False)
    child = _start(lambda: _run_pytest([file, *tests], _Search(file, source, mutants, sender)))
    sender.close()
    try:
        if failed := receiver.recv():
            raise RuntimeError(f"{file}: {failed} fails without a mutant")
        for mutant in mutants:
            noticed = receiver.recv()
            yield _is_noticed_from_import(file, source, mutant, tests) if noticed is None else noticed
    except EOFError:
        raise RuntimeError(f"{file}: its tests cannot be collected: {', '.join(tests)}") from None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class _Import:
    """Imports the file's module before pytest does, because pytest imports files with doctests in its own way."""

    def __init__(self, file: str) -> None:
        self._module = _module_of(file)

    def pytest_sessionstart(self) -> None:
        importlib.import_module(self._module)


def _module_of(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


class _Search(_Import):
    """Replaces pytest's loop over the tests with a loop over the mutants."""

    def __init__(self, file: str, source: str, mutants: Sequence[Mutant], sender: Any) -> None:
        super().__init__(file)
        self._path, self._source, self._mutants, self._sender = ROOT / file, source, mutants, sender

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()
        functions = [
            function
            for function in gc.get_objects()
            if isinstance(function, FunctionType) and function.__code__.co_filename == str(self._path)
        ]
        gc.freeze()
        coverage = _coverage_of(session, str(self._path))
        failed = next((session.items[i].nodeid for i, covered in coverage.items() if covered.fails), "")
        self._sender.send(failed)
        killers: Counter[int] = Counter()
        for mutant in [] if failed else self._mutants:
            swaps = None if mutant.at_import else _swaps(str(self._path), self._source, mutant, functions)
            if swaps is None:
                self._sender.send(None)
                continue
            order = sorted(
                (i for i, covered in coverage.items() if not covered.lines.isdisjoint(mutant.lines)),
                key=lambda i: (-killers[i], coverage[i].seconds),
            )
            budget = _budget_of([coverage[i] for i in order])
            killer = _first_to_fail(session, [session.items[i] for i in order], swaps, budget)
            if killer is not None and killer < len(order):
                killers[order[killer]] += 1
            self._sender.send(killer is not None)
        self._sender.close()
        return True


def _coverage_of(session: pytest.Session, path: str) -> Mapping[int, Coverage]:
    """Returns each test's coverage by test number, up to the first failing test. The tests run in a fork."""
    receiver, sender = Pipe(duplex=False)
    child = _start(lambda: sender.send(_measure(session, path)))
    sender.close()
    coverage = receiver.recv()
    os.waitpid(child, 0)
    return coverage


def _budget_of(tests: Sequence[Coverage]) -> int:
    """Returns the CPU seconds that tests may take; their measured times include the slow trace."""
    return min(SECONDS // 2, 5 + 2 * int(sum(covered.seconds for covered in tests)))


def _measure(session: pytest.Session, path: str) -> Mapping[int, Coverage]:
    """Runs the tests with a trace. For a test with its own trace function, every line counts as covered."""
    lines: set[int] = set()
    every_line = frozenset(range(1, 1 + len(Path(path).read_text(encoding="utf-8").splitlines())))

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != path:
            return None
        lines.add(frame.f_lineno)
        return trace

    coverage: dict[int, Coverage] = {}
    for i, (item, following) in enumerate(_with_next(session.items)):
        lines.clear()
        begin = time.process_time()
        threading.settrace(trace)
        sys.settrace(trace)
        with patch.object(sys, "settrace", Mock(wraps=sys.settrace)) as settrace:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        sys.settrace(None)
        covered = every_line if settrace.called else frozenset(lines)
        coverage[i] = Coverage(time.process_time() - begin, covered, bool(session.testsfailed))
        if session.testsfailed:
            break
    return coverage


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _swaps(
    path: str, source: str, mutant: Mutant, functions: Sequence[FunctionType]
) -> list[tuple[FunctionType, CodeType]] | None:
    """Returns the new code of each function; empty if a function's enclosing variables differ."""
    tables = [
        _codes(compile(tree, path, "exec", dont_inherit=True))  # tests may search for code of the file
        for tree in (ast.parse(source), mutant.applied_to(source))
    ]
    new = {
        before: after
        for name, codes in tables[0].items()
        for before, after in zip(codes, tables[1].get(name, []), strict=False)
    }
    swaps = [(function, new.get(function.__code__, function.__code__)) for function in functions]
    changed = [(function, code) for function, code in swaps if code != function.__code__]
    fits = all(len(code.co_freevars) == len(function.__code__.co_freevars) for function, code in changed)
    return changed if changed and fits else None


def _codes(code: CodeType) -> dict[tuple[str, int], list[CodeType]]:
    """Returns the code of all functions within a code object, by name and line."""
    codes: defaultdict[tuple[str, int], list[CodeType]] = defaultdict(list)
    waiting = [code]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno].append(code)
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return codes


def _first_to_fail(
    session: pytest.Session,
    items: Sequence[pytest.Item],
    swaps: Sequence[tuple[FunctionType, CodeType]],
    cpu_seconds: int,
) -> int | None:
    """Returns how many tests pass with the swapped code before one fails or hangs; None if all pass."""
    receiver, sender = Pipe(duplex=False)

    def run() -> None:
        for function, code in swaps:
            function.__code__ = code
        for number, (item, following) in enumerate(_with_next(items)):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                sender.send(number)
                os._exit(1)

    child = _start(run)
    sender.close()
    if _ends_well(child, cpu_seconds):
        return None
    try:
        return receiver.recv()
    except EOFError:  # the fork was killed
        return len(items)


def _is_noticed_from_import(file: str, source: str, mutant: Mutant, tests: Sequence[str]) -> bool:
    def run() -> None:
        sys.meta_path.insert(0, _Finder(_module_of(file), ROOT / file, mutant.applied_to(source)))
        os._exit(_run_pytest(["-x", file, *tests], _Import(file)))

    return not _ends_well(_start(run))


def _run_pytest(arguments: Sequence[str], *plugins: object) -> int:
    """Runs pytest without its output, and with only the project's options that the tests need."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.chdir(ROOT)
    hypothesis.settings.load_profile("mutation")
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.path.isdir(_MEMORY) else None) as folder:
        options = [
            "-o",
            "addopts=--import-mode=importlib --doctest-modules",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:nbval",
            "-m",
            "not nightly",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            f"--basetemp={folder}/tests",
        ]
        return int(pytest.main([*options, *arguments], plugins=plugins))


def _start(task: Callable[[], object]) -> int:
    """Runs a task in a fork, which exits with status 0 unless the task fails or exits by itself."""
    child = os.fork()
    if child == 0:
        _end_after(task)
    return child


def _end_after(task: Callable[[], object]) -> NoReturn:
    status = 1
    try:
        task()
        status = 0
    finally:
        os._exit(status)


def _ends_well(child: int, cpu_seconds: int = SECONDS // 2) -> bool:
    """Waits for a fork, with a time limit."""
    resource.prlimit(child, resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    end = time.monotonic() + SECONDS
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.005)


class _Loader(SourceFileLoader):
    """Loads a module from a syntax tree instead of its file."""

    tree = ast.Module([], [])

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Provides the mutant whenever the file's module is imported."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self._module, self._file, self._tree = module, file, tree

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        loader = _Loader(fullname, str(self._file))
        loader.tree = self._tree
        return importlib.util.spec_from_file_location(fullname, self._file, loader=loader)
