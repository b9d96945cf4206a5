"""Does each ring of the suite have its tests, and does a sweep of many cases in one test report all that fail?"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import nbtf as tf
from tests import rings
from tests.conftest import ROOT
from tests.sweeps import check_all, check_each


def test_folders_and_files_of_the_fast_ring_are_there() -> None:
    files = [ROOT / name for name in rings.SLOW_FILES]

    assert [] == [name for name in rings.FAST_FOLDERS if not any((ROOT / name).rglob("test_*.py"))]
    assert [] == [file for file in files if not file.is_file() or not file.is_relative_to(ROOT / "tests")]


@pytest.mark.parametrize(
    ("file", "is_fast"),
    [
        ("tests/ops/test_every_op.py", True),
        ("tests/runtime/test_placement.py", True),
        ("tests/runtime/test_interleavings.py", False),
        ("tests/runtime/test_processes.py", False),  # it starts programs
        ("tests/browser/test_dock.py", False),
        ("nbtf/_runtime/execute.py", False),
    ],
)
def test_a_file_belongs_to_the_fast_ring_by_its_folder_and_its_text(file: str, is_fast: bool) -> None:
    assert is_fast == rings.is_fast_file(ROOT / file)


def test_examples_of_composed_docstrings_are_collected_and_files_without_examples_are_not() -> None:
    def may_have_examples(name: str) -> bool:
        return rings.MAY_HAVE_EXAMPLES.search((ROOT / name).read_bytes()) is not None

    assert may_have_examples("nbtf/_ops/linalg/products.py")
    assert may_have_examples("nbtf/compat/_v1/_surface/checks.py")
    assert not may_have_examples("nbtf/_runtime/decisions.py")


def test_no_fast_test_starts_a_browser_or_a_server(request: pytest.FixtureRequest) -> None:
    items = [item for item in request.session.items if item.get_closest_marker("fast")]

    assert [] == [item.nodeid for item in items if "browser" in getattr(item, "fixturenames", ())]
    assert [] == [item.nodeid for item in items if item.get_closest_marker("nightly")]


@pytest.mark.parametrize(("is_nightly", "count"), [(False, 20), (True, 320)])
def test_the_nightly_ring_has_all_seeds(monkeypatch: pytest.MonkeyPatch, is_nightly: bool, count: int) -> None:
    monkeypatch.setattr(rings, "_nightly", is_nightly)

    parameters = rings.seeds(320)

    assert count == len(parameters)
    assert list(range(20)) == parameters[:20]
    assert all(parameter.marks[0].name == "nightly" for parameter in parameters[20:])


def test_nightly_parameters_may_be_several_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "_nightly", True)

    parameters: list[Any] = rings.with_nightly([(1, 2)], [(3, 4), "five"])

    assert [(3, 4), ("five",)] == [parameter.values for parameter in parameters[1:]]


@pytest.mark.parametrize(("is_nightly", "count"), [(False, 3), (True, 6)])
def test_pairs_have_each_value_and_at_night_each_pair(
    monkeypatch: pytest.MonkeyPatch, is_nightly: bool, count: int
) -> None:
    monkeypatch.setattr(rings, "_nightly", is_nightly)

    parameters = rings.paired("abc", [1, 2])

    assert count == len(parameters)
    assert [("a", 1), ("b", 2), ("c", 1)] == parameters[:3]
    assert [("a", 2), ("b", 1), ("c", 2)][: count - 3] == [parameter.values for parameter in parameters[3:]]


# Sweeps


def is_even(number: int) -> None:
    assert number % 2 == 0


def test_the_nightly_ring_can_be_collected() -> None:
    """A mistake in its parameters would otherwise be found at night, and then no test of it runs."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--collect-only", "-m", "nightly"]
    ended = subprocess.run([*command, "tests"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr


def test_a_sweep_names_every_case_that_fails() -> None:
    with pytest.raises(ExceptionGroup, match=r"2 of 5 cases fail: 1; 3") as caught:
        check_each(range(5), is_even)

    assert [["case: 1"], ["case: 3"]] == [error.__notes__ for error in caught.value.exceptions]


def test_all_checks_of_a_case_run_and_those_that_fail_are_named() -> None:
    def is_small(number: int) -> None:
        pytest.fail("it is not small")

    with pytest.raises(ExceptionGroup, match=r"2 of 2 cases fail: is_even; is_small"):
        check_all(3, is_even, is_small)


def test_a_sweep_that_saw_nothing_does_not_pass() -> None:
    with pytest.raises(AssertionError, match="there are no cases"):
        check_each([], is_even)
    with pytest.raises(pytest.skip.Exception, match="1: not here"):
        check_each([1, 2], lambda number: pytest.skip("not here"))


def test_a_case_leaves_nothing_to_the_next_one() -> None:
    def has_no_gpu(number: int) -> None:
        assert [] == tf.config.list_physical_devices("GPU")
        tf.runtime.simulate_gpus(number)

    check_each([1, 2], has_no_gpu)
