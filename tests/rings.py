"""The three rings of the suite: `pytest -m fast`, `pytest`, and `pytest -m nightly`, which `.ci/nightly` runs.

`pyproject.toml` loads this module as a plugin. A test belongs to the nightly ring by its mark, and to the fast ring by
its file and its fixtures; every test that is not nightly belongs to the usual run.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

ROOT = Path(__file__).parents[1]

USUAL_SEEDS = 20
"""Random programs that each usual run of a property tries."""

FAST_FOLDERS = """
    tests/autodiff tests/contract tests/data tests/devices tests/experimental tests/graph tests/io tests/keras
    tests/ops tests/recorded tests/runtime tests/surface tests/train
    """.split()
"""Folders whose tests mostly compute in this process."""

SLOW_FILES = frozenset(
    """
    tests/autodiff/test_arrays.py tests/autodiff/test_second_order.py tests/devices/test_collectives.py
    tests/devices/test_cuda_races.py tests/devices/test_names_properties.py tests/devices/test_waiting.py
    tests/graph/test_autograph.py tests/graph/test_every_op_in_a_function.py tests/graph/test_trace_events.py
    tests/keras/test_added_losses.py tests/keras/test_datasets.py tests/keras/test_traced_steps.py
    tests/keras/test_training_on_several.py tests/ops/nn/test_layouts.py tests/ops/random/test_generator.py
    tests/ops/test_on_fake_gpu.py tests/ops/variables/test_updates_by_threads.py tests/recorded/test_bfloat16.py
    tests/recorded/test_distributed.py tests/recorded/test_hostile.py tests/runtime/test_batches.py
    tests/runtime/test_changes.py tests/runtime/test_event_sequence.py tests/runtime/test_fitting.py
    tests/runtime/test_interleavings.py
    """.split()
)
"""Files in these folders that take longest; among them are the ops once more on a fake GPU and in functions."""

STARTS_PROGRAMS = re.compile(r"subprocess|multiprocessing|os\.fork|jupyter_client|nbclient|Replay\(")
"""What the text of a file mentions if some of its tests start other programs."""

MAY_HAVE_EXAMPLES = re.compile(rb">>>|__doc__")
"""What a file mentions if it has examples for doctest, or composes docstrings of parts."""

SLOW_FIXTURES = frozenset({"browser", "server", "notebook_server", "saved", "lab", "new_lab", "dask_cluster"})
"""Fixtures that start a browser, a kernel or another program."""

_fast = _nightly = False


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Lets `pytest -m fast` use all cores, as `-n auto` does, unless files or a number of workers are given."""
    option = config.option
    is_whole = config.args_source is config.ArgsSource.TESTPATHS and not hasattr(config, "workerinput")
    if option.markexpr == "fast" and is_whole and not option.usepdb and not option.collectonly:
        if getattr(option, "numprocesses", 0) is None:  # xdist is installed, and `-n` is not used
            option.numprocesses = "auto"
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Reads which rings `-m` selects before any test file is imported."""
    global _fast, _nightly  # noqa: PLW0603
    expression = str(config.option.markexpr)
    _fast = expression == "fast"
    _nightly = "nightly" in expression.replace("not nightly", "")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out files that have no fast tests if only these are selected, because importing them takes time."""
    if not _fast or collection_path.is_dir():
        return None
    return None if is_fast_file(collection_path) else True


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, Any]:
    """Looks for examples only in files that have some, because pytest imports each file for it."""
    collectors = yield
    if file_path.suffix != ".py" or MAY_HAVE_EXAMPLES.search(file_path.read_bytes()):
        return collectors
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the fast tests before `-m` selects."""
    for item in items:
        if is_fast_file(item.path) and SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            if item.get_closest_marker("nightly") is None:
                item.add_marker("fast")


@cache
def is_fast_file(path: Path) -> bool:
    """Returns whether the tests of a file belong to the fast ring, unless a fixture makes one of them slow."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    if name in SLOW_FILES or not any(name.startswith(f"{folder}/") for folder in FAST_FOLDERS):
        return False
    return STARTS_PROGRAMS.search(path.read_text(encoding="utf-8")) is None


def only_fast_tests() -> bool:
    """Returns whether `pytest -m fast` runs, so that a file may leave out parameters that start programs."""
    return _fast


def with_nightly(usual: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Returns the parameters of the usual run, and the other ones if the nightly ring is selected."""
    if not _nightly:
        return [*usual]
    rest = [value if type(value) is tuple else (value,) for value in others]  # a tuple holds several parameters
    return [*usual, *(pytest.param(*values, marks=pytest.mark.nightly) for values in rest)]


def seeds(count: int) -> list[Any]:
    """Returns the seeds of a property: 20 for the usual run, `count` with the nightly ring."""
    return with_nightly(range(min(count, USUAL_SEEDS)), range(USUAL_SEEDS, count))


def paired(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Returns pairs of two lists' values: each value once or more for the usual run, all pairs for the nightly ring."""
    turns = range(max(len(first), len(second)))
    usual = [(first[turn % len(first)], second[turn % len(second)]) for turn in turns]
    return with_nightly(usual, [pair for pair in product(first, second) if pair not in usual])
