"""Which of Keras' own tests pass on nbtf? Runs them from the installed wheel, and compares with TensorFlow's results.

    python -m tests.frameworks.keras.own_tests metrics layers/core      # two folders of keras/src, on nbtf
    python -m tests.frameworks.keras.own_tests --library tensorflow --save metrics

`accepted_failures.txt` lists the tests that may fail on nbtf, each with a reason. `tensorflow_results.json` holds what
passes and fails on TensorFlow itself; `--save` writes it. The exit status is 1 if a test of a folder in BOUNDED fails
that TensorFlow passes and the list does not name, or if no test passes; the failures of other folders are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TENSORFLOW = HERE / "tensorflow_results.json"
ACCEPTED = HERE / "accepted_failures.txt"

FOLDERS = (
    "activations",
    "constraints",
    "datasets",
    "distillation",
    "distribution",
    "dtype_policies",
    "initializers",
    "legacy",
    "losses",
    "metrics",
    "models",
    "ops",
    "optimizers",
    "quantizers",
    "random",
    "regularizers",
    "tree",
    "utils",
    "wrappers",
    "layers/activations",
    "layers/attention",
    "layers/convolutional",
    "layers/core",
    "layers/layer_test.py",
    "layers/merging",
    "layers/normalization",
    "layers/pooling",
    "layers/preprocessing",
    "layers/regularization",
    "layers/reshaping",
    "layers/rnn",
    "callbacks",
    "saving",
    "trainers",
)
"""The folders that are run without arguments."""

BOUNDED = ("activations", "losses")
"""The folders whose tests must pass, in each run of the checks."""


class Accepted(NamedTuple):
    """A test that may fail: a pattern of its name, and why."""

    pattern: str
    reason: str


class Results(NamedTuple):
    """The tests by their outcome."""

    passed: list[str]
    failed: list[str]
    skipped: list[str]


def accepted_failures() -> list[Accepted]:
    """Returns the list: a line `pattern: reason` for each; lines that start with # are comments."""
    lines = ACCEPTED.read_text(encoding="utf-8").splitlines()
    parts = [line.split(" # ", 1) for line in lines if line and line[0] != "#"]
    return [Accepted(pattern.strip(), reason.strip()) for pattern, reason in parts]


def reason_for(test: str, accepted: Sequence[Accepted]) -> str:
    """Returns why a test may fail; empty if it may not."""
    return next((line.reason for line in accepted if fnmatchcase(test, line.pattern)), "")


def keras_folder() -> Path:
    """Returns the folder `keras/src` of the installed Keras."""
    spec = find_spec("keras")
    if spec is None or spec.origin is None:
        raise SystemExit("needs Keras: pip install keras")
    return Path(spec.origin).parent / "src"


def run(folders: Sequence[str], library: str = "nbtf", workers: int = 1, show: bool = True) -> Results:
    """Runs the tests of some folders in another process, and returns their outcomes.

    Args:
      folders: folders or files below `keras/src`.
      library: `nbtf` or `tensorflow`, on which Keras runs.
      workers: the number of processes.
      show: whether pytest prints.
    """
    source = keras_folder()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.jsonl"
        environ = {
            **os.environ,
            "KERAS_BACKEND": "tensorflow",
            "KERAS_HOME": folder,
            "NBTF_KERAS_LIBRARY": library,
            "NBTF_KERAS_OUTCOMES": str(outcomes),
            "PYTHONPATH": str(ROOT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        options = ["-p", "tests.frameworks.keras.own_tests_plugin", "-p", "no:cacheprovider", "-p", "no:pytest_nbtf"]
        options += ["-c", os.devnull, f"--rootdir={source.parents[1]}", "-q", "--tb=line", "-W", "ignore"]
        options += ["--continue-on-collection-errors"]
        options += ["-n", str(workers)] if workers > 1 else []
        command = [sys.executable, "-m", "pytest", *options, *[str(source / name) for name in folders]]
        subprocess.run(command, env=environ, cwd=folder, check=False, stdout=None if show else subprocess.DEVNULL)
        if not outcomes.exists():
            raise SystemExit("pytest ran no test")
        lines = [json.loads(line) for line in outcomes.read_text(encoding="utf-8").splitlines()]
    by_test: dict[str, str] = {}
    for test, outcome in lines:
        if by_test.get(test) != "failed":  # an error while the test ends counts as well
            by_test[test] = outcome
    named = {
        outcome: sorted([test for test, each in by_test.items() if each == outcome]) for outcome in Results._fields
    }
    return Results(**named)


def unexpected(results: Results, reference: Results, accepted: Sequence[Accepted]) -> list[str]:
    """Returns the tests that fail here, pass on TensorFlow, and are not in the list."""
    passed = set(reference.passed)
    return [test for test in results.failed if test in passed and not reason_for(test, accepted)]


def reference_results() -> Results:
    """Returns TensorFlow's results."""
    return Results(**json.loads(TENSORFLOW.read_text(encoding="utf-8")))


def replaced(reference: Results, results: Results, folders: Sequence[str]) -> Results:
    """Returns a library's results, with those of some folders replaced."""
    outcomes = zip(reference, results, strict=True)
    return Results(*(sorted([*(t for t in old if not folder_of(t, folders)), *new]) for old, new in outcomes))


def folder_of(test: str, folders: Sequence[str]) -> str:
    """Returns the folder that a test belongs to."""
    return next((folder for folder in folders if test.startswith(f"{folder}/") or test.split("::")[0] == folder), "")


def table(results: Results, reference: Results, folders: Sequence[str]) -> str:
    """Returns how many tests of each folder pass on nbtf and on TensorFlow."""
    lines = [f"{'folder':24} {'TensorFlow':>10} {'nbtf':>6} {'share':>7}"]
    passed = set(reference.passed)
    for folder in [*folders, ""]:
        here = [test for test in results.passed if not folder or folder_of(test, folders) == folder]
        there = [
            test for test in passed if folder_of(test, folders) == folder or (not folder and folder_of(test, folders))
        ]
        both = len(set(here) & set(there))
        share = f"{both / len(there):.1%}" if there else "–"
        lines.append(f"{folder or 'all':24} {len(there):>10,} {both:>6,} {share:>7}")
    return "\n".join(lines)


def main() -> int:
    """Runs the tests, prints a table, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=list(FOLDERS))
    parser.add_argument("--library", choices=["nbtf", "tensorflow"], default="nbtf")
    parser.add_argument("--save", action="store_true", help="write TensorFlow's results for these folders")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    results = run(chosen.folders, chosen.library, chosen.workers)
    reference, accepted = reference_results(), accepted_failures()
    if chosen.save:
        reference = replaced(reference, results, chosen.folders)
        TENSORFLOW.write_text(json.dumps(reference._asdict(), indent=1) + "\n", encoding="utf-8")
    print(table(results, reference, chosen.folders))
    if chosen.library == "tensorflow":
        return 0
    wrong = unexpected(results, reference, accepted)
    print(f"{len(results.failed) - len(wrong)} accepted failures, {len(wrong)} others")
    print("\n".join(wrong))
    if not results.passed:
        print("No test has passed: see pytest's output above.")
    return 1 if not results.passed or any(folder_of(test, BOUNDED) for test in wrong) else 0


if __name__ == "__main__":
    raise SystemExit(main())
