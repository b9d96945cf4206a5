"""Stage 2: does the device fulfil the device contract, and does every op return the same result as on the CPU?"""

from __future__ import annotations

import re

from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

FILES = " ".join(f"tests/gpu/test_{name}.py" for name in ("every_op", "places", "solvers", "random"))
SUITES = {
    "the contract of devices": ("1", "tests/contract"),
    "every op, places outside, solvers, random numbers": ("1", f"{FILES} -k real"),
    "tensors, scopes and ops on every kind of device": ("1", "tests/runtime tests/ops -k cuda"),
}
FAKE = {"the contract of devices": ("0", "tests/contract -k test_a_kernel_runs_and_leaves_its_inputs_alone")}


def run(record: Record) -> None:
    """Runs the stage."""
    for name, (logical, tests) in (FAKE if record.fake else SUITES).items():
        suite(record, name, logical, tests)


def suite(record: Record, name: str, logical: str, tests: str) -> None:
    """Runs tests on `logical` logical GPUs of the first card, and records how many passed."""
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    done = cards.python("-m", "pytest", *options, *_words(tests), NBTF_TEST_REAL_GPUS=logical)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]
    for count, what in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last):
        record.figure(f"{name}: {what}", int(count), "tests")
    passed = re.search(r"[1-9]\d* passed", last)
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    record.check(f"{name}", done.returncode == 0 and passed is not None, "; ".join(failures) or last)


def _words(tests: str) -> list[str]:
    """Splits a command into words; everything after -k is one word."""
    files, minus, chosen = tests.partition(" -k ")
    return [*files.split(), *(["-k", chosen] if minus else [])]
