"""What did one stage find? Facts, figures, checks, targets and comparisons with a model, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Record:
    """The findings of one stage; `check.py` makes tables of them."""

    def __init__(self, quick: bool = False, fake: bool = False) -> None:
        """Starts empty.

        Args:
          quick: fewer repetitions.
          fake: there is no GPU: the stage only shows that it runs, with tiny sizes; no figure means anything.
        """
        self.quick, self.fake = quick, fake
        self.facts: dict[str, Any] = {}
        self.figures: dict[str, list[Any]] = {}
        self.checks: list[dict[str, Any]] = []
        self.targets: list[dict[str, Any]] = []
        self.models: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def size(self, usual: int, quick: int, fake: int) -> int:
        """Returns how large or how often."""
        return fake if self.fake else quick if self.quick else usual

    def fact(self, name: str, value: Any) -> None:
        """Takes down what is no figure: a name, a version."""
        self.facts[name] = value if isinstance(value, str | int | float | bool | None) else str(value)

    def figure(self, name: str, value: float, unit: str) -> None:
        """Takes down a figure."""
        self.figures[name] = [value, unit]

    def check(self, what: str, passed: bool, detail: object = "") -> bool:
        """Takes down whether something is as it must be; returns it."""
        self.checks.append({"what": what, "passed": bool(passed), "detail": str(detail)[:500]})
        return bool(passed)

    def target(self, what: str, measured: float, must: float, goal: float, unit: str) -> None:
        """Compares a figure with the most it may be, and with the most that was hoped for."""
        self.figure(what, measured, unit)
        self.targets.append(
            {"what": what, "measured": measured, "must": must, "goal": goal, "unit": unit, "passed": measured <= must}
        )

    def model(self, what: str, modelled: float, measured: float, unit: str) -> None:
        """Compares what a simulated card of this kind says with what the card does; the error is of the measured."""
        error = (modelled - measured) / measured if measured else float("nan")
        self.models.append({"what": what, "modelled": modelled, "measured": measured, "unit": unit, "error": error})

    def note(self, text: str) -> None:
        """Takes down a sentence: what was left out and why."""
        self.notes.append(text)

    def write(self, file: Path) -> None:
        """Writes everything as JSON."""
        file.write_text(json.dumps(self.__dict__, indent=1), encoding="utf-8")
