"""Does the search for weak tests work? A share of `python -m tests.mutation`, which needs minutes."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.mutation.mutants import mutants_of
from tests.mutation.targets import TARGETS
from tests.mutation.trial import ROOT


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x = a < b", "a <= b"),
        ("x = a is None", "a is not None"),
        ("x = a + b", "a - b"),
        ("x = a and b", "a or b"),
        ("x = not a", "a"),
        ("x = True", "False"),
        ("x = 4", "5"),
        ("def f(): return a", "return None"),
        ("f()", "pass"),
        ("x += a", "pass"),
    ],
)
def test_mistakes_are_made(source: str, after: str) -> None:
    assert after in [mutant.after for mutant in mutants_of(source)]


@pytest.mark.parametrize("file", TARGETS)
def test_each_mutant_of_a_file_differs_from_it(file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source))
    mutants = mutants_of(source)

    assert len(mutants) > 10
    assert all(mutant.applied_to(source) != plain for mutant in mutants[::50])
    assert all((ROOT / tests).exists() for tests in TARGETS[file])


def test_a_wrong_line_is_noticed_and_a_right_one_is_not() -> None:
    program = """
from tests.mutation.trial import ROOT, is_noticed
file = "nbtf/_devices/names.py"
source = (ROOT / file).read_text()
tests = ["tests/devices/test_names.py"]
print(is_noticed(file, source, tests), is_noticed(file, source.replace('"CPU", "GPU", "TPU"', '"CPU", "TPU"'), tests))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )

    assert "False True" == result.stdout.strip()
