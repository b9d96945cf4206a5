"""Calls subjects with all layouts, lengths and dtypes on all paths, and compares the results."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.layouts.memory import LAYOUTS, SHAPES, Array, contiguous, rearranged
from tests.layouts.paths import PATHS, REFERENCE, Outcome, Path, outcome
from tests.layouts.subjects import Subject, cast

TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9}
"""Tolerance relative to the largest number: other layouts are summed in a different order."""


class Case(NamedTuple):
    """One way to lay out the arguments of a subject."""

    layout: str
    shape: str
    dtype: str


@dataclass
class Report:
    """The results of the search."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def note(self, subject: Subject, case: Case, path: Path, difference: str | None) -> None:
        """Counts a call and records its failures."""
        self.counts["calls"] += 1
        if difference:
            arguments = f"{case.dtype or 'own dtype'}, {case.shape}, {case.layout}"
            self.failures.append(f"{subject.name} | {arguments} | {path}: {difference}")


def cases_of(subject: Subject, limit: int | None, seed: int) -> Sequence[Case]:
    """Returns all cases of a subject, or a random selection of `limit` cases."""
    cases = [Case(*parts) for parts in itertools.product(LAYOUTS, SHAPES, subject.dtypes)]
    return cases if limit is None else random.Random(f"{seed} {subject.name}").sample(cases, min(limit, len(cases)))


def search(subject: Subject, cases: Sequence[Case], report: Report) -> None:
    """Calls a subject in each case, on every path."""
    references: dict[str, list[Outcome]] = {}
    for device, path in REFERENCE.items():
        with path.open():
            references[device] = [_reference(subject, path, case) for case in cases]
    for case, cpu, gpu in zip(cases, references["CPU"], references["GPU"], strict=True):
        report.counts["refused" if cpu.arrays is None else "answered"] += 1
        if cpu.arrays is not None:
            report.note(subject, case, REFERENCE["GPU"], difference(cpu, gpu))
    for path in PATHS:
        if path.traced and not subject.traceable:
            continue
        with path.open():
            for case, reference in zip(cases, references[path.device], strict=True):
                if path.traced and reference.arrays is None:
                    continue  # invalid arguments may be rejected earlier, with a different message
                args = _arguments(subject, case)
                actual = outcome(subject, path, args, LAYOUTS[case.layout], reference.upstream)
                report.note(subject, case, path, difference(reference, actual))


def _arguments(subject: Subject, case: Case) -> list[Any]:
    return rearranged(list(subject.args), lambda array: SHAPES[case.shape](cast(array, case.dtype)))


def _reference(subject: Subject, path: Path, case: Case) -> Outcome:
    layout = LAYOUTS[case.layout]
    return outcome(subject, path, _arguments(subject, case), lambda array: contiguous(layout(array)), None)


def difference(expected: Outcome, actual: Outcome) -> str | None:
    """Returns a description of the difference between two outcomes; None if they are equal."""
    if actual.changed_input:
        return "an input was written to"
    if expected.arrays is None or actual.arrays is None:
        if expected.error.partition(":")[0] == actual.error.partition(":")[0]:
            return None
        return f"expected {expected.error or 'a value'}, got {actual.error or 'a value'}"[:300]
    if len(expected.arrays) != len(actual.arrays):
        return f"{len(expected.arrays)} results expected, {len(actual.arrays)} came"
    differences = (differing(*pair) for pair in zip(expected.arrays, actual.arrays, strict=True))
    return next(filter(None, differences), None)


def differing(expected: Array, actual: Array) -> str | None:
    """Returns a description of the difference between two arrays."""
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return f"{expected.dtype}{expected.shape} expected, {actual.dtype}{actual.shape} came"
    if expected.dtype.kind not in "fc":
        wanted, got = expected.tolist(), actual.tolist()
        return None if wanted == got else f"{wanted} expected, {got} came"[:200]
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        tolerance = TOLERANCES[expected.dtype.name] * max(1.0, float(finite.max()) if finite.size else 1.0)
        if np.allclose(actual, expected, rtol=0, atol=tolerance, equal_nan=True):
            return None
    return f"{expected.reshape(-1)[:3]} expected, {actual.reshape(-1)[:3]} came"
