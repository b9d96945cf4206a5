"""The findings of one stage as plain data: facts, figures, checks, targets and comparisons with the cost model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Record:
    """The findings of one stage; `check.py` prints them as tables."""

    def __init__(self, quick: bool = False, fake: bool = False) -> None:
        """Starts empty.

        Args:
          quick: whether to repeat measurements less often.
          fake: whether no GPU is available. The stage then runs with tiny sizes, and its figures are meaningless.
        """
        self.quick, self.fake = quick, fake
        self.facts: dict[str, Any] = {}
        self.figures: dict[str, list[Any]] = {}
        self.checks: list[dict[str, Any]] = []
        self.targets: list[dict[str, Any]] = []
        self.models: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def size(self, usual: int, quick: int, fake: int) -> int:
        """Returns the size or the number of repetitions for this run."""
        return fake if self.fake else quick if self.quick else usual

    def fact(self, name: str, value: Any) -> None:
        """Records a value that is not a measurement, such as a name or a version."""
        self.facts[name] = value if isinstance(value, str | int | float | bool | None) else str(value)

    def figure(self, name: str, value: float, unit: str) -> None:
        """Records a measurement."""
        self.figures[name] = [value, unit]

    def check(self, what: str, passed: bool, detail: object = "") -> bool:
        """Records whether a check passed; returns `passed`."""
        self.checks.append({"what": what, "passed": bool(passed), "detail": str(detail)[:500]})
        return bool(passed)

    def target(self, what: str, measured: float, must: float, goal: float, unit: str) -> None:
        """Compares a measurement with the largest permitted value and with the goal."""
        self.figure(what, measured, unit)
        self.targets.append(
            {"what": what, "measured": measured, "must": must, "goal": goal, "unit": unit, "passed": measured <= must}
        )

    def model(self, what: str, modelled: float, measured: float, unit: str) -> None:
        """Compares a modelled time with the measured time; the error is relative to the measured time."""
        error = (modelled - measured) / measured if measured else float("nan")
        self.models.append({"what": what, "modelled": modelled, "measured": measured, "unit": unit, "error": error})

    def note(self, text: str) -> None:
        """Records a sentence, such as what was skipped and why."""
        self.notes.append(text)

    def write(self, file: Path) -> None:
        """Writes everything as JSON."""
        file.write_text(json.dumps(self.__dict__, indent=1), encoding="utf-8")
