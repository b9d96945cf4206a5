"""Does the search for weak tests work? A share of `python -m tests.mutation`, which needs minutes."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.mutation.mutants import mutants_of
from tests.mutation.targets import EQUIVALENT, TARGETS
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

    assert mutants
    assert all(ast.unparse(mutant.applied_to(source)) != plain for mutant in mutants[::50])
    assert all((ROOT / tests.partition("::")[0]).exists() for tests in TARGETS[file])


def test_a_wrong_line_is_noticed_and_a_right_one_is_not() -> None:
    program = """
import ast
from dataclasses import replace
from tests.mutation.mutants import mutants_of
from tests.mutation.trial import ROOT, are_noticed
file = "nbtf/_devices/sizes.py"
source = (ROOT / file).read_text()
wrong = next(mutant for mutant in mutants_of(source) if mutant.before == "nbytes < 1024")
right = replace(wrong, changed=ast.parse(wrong.before, mode="eval").body)
early = next(mutant for mutant in mutants_of(source) if mutant.at_import and mutant.before == "1 << 30")
print(*are_noticed(file, source, [wrong, right, early], ["tests/devices/test_sizes.py"]))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )

    assert ("True False True\n", "") == (result.stdout, result.stderr)


def test_mistakes_that_make_no_difference_are_there() -> None:
    mistakes: set[tuple[str, str, str, str]] = set()
    for file in {file for file, *_ in EQUIVALENT}:
        source = (ROOT / file).read_text(encoding="utf-8")
        lines = ["", *map(str.strip, source.splitlines())]
        mistakes |= {(file, lines[mutant.line], mutant.before, mutant.after) for mutant in mutants_of(source)}

    assert set() == EQUIVALENT.keys() - mistakes
