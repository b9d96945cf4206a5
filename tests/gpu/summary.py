"""Writes the results of `check.py` as one page: targets, stages, failures, the cost model and all figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def summary(told: dict[str, Any]) -> str:
    """Returns the results as a Markdown page."""
    stages: list[dict[str, Any]] = told["stages"]
    facts = {name: value for one in stages for name, value in one.get("facts", {}).items()}
    how = ", quick" if told["quick"] else ""
    lines = [f"# {told['card']}, {told['date']}", ""]
    lines += [f"{len(stages)} stages in {told['seconds']:.0f} s{how}: `python tests/gpu/check.py`.", ""]
    if told["fake"]:
        lines += ["**A fake GPU: no GPU code was executed, so all figures are meaningless.**", ""]
    lines += _section("Targets", ("target", "measured", "must", "goal", ""), map(_target, _all(stages, "targets")))
    lines += _section("Stages", ("", "stage", "seconds", "checks", ""), map(_stage, stages))
    lines += _section("Failures", ("stage", "check", "observed"), _failures(stages))
    head = ("operation", "modelled", "measured", "error of the model")
    lines += _section("Model of the simulated card", head, map(_model, _all(stages, "models")))
    lines += _section("Environment", ("", ""), ((name, str(value)) for name, value in facts.items()))
    lines += _section("Figures", ("stage", "figure", "value"), _figures(stages))
    notes = dict.fromkeys(note for one in stages for note in one.get("notes", ()))
    lines += ["## Notes", "", *(f"- {note}" for note in notes), *UNTESTED, ""]
    return "\n".join(lines)


UNTESTED = (
    "- One card is not enough to test copies between cards, NCCL between cards, contexts with several cards, and the "
    "order of cards under `CUDA_VISIBLE_DEVICES`.",
)


def _all(stages: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [entry for one in stages for entry in one.get(kind, ())]


def _section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a heading and a table; an empty list if the table has no rows."""
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    if not lines:
        return []
    return [f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines, ""]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def number(value: float) -> str:
    """Returns a figure rounded to its significant digits.

    >>> number(12345.6), number(3.14159), number(0.00012)
    ('12,346', '3.14', '0.00012')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _target(one: dict[str, Any]) -> tuple[str, ...]:
    measured, must, goal = (f"{number(one[key])} {one['unit']}" for key in ("measured", "must", "goal"))
    return one["what"], measured, f"≤ {must}", f"≤ {goal}", "pass" if one["passed"] else "**fail**"


def _stage(one: dict[str, Any]) -> tuple[str, ...]:
    entries = [*one["checks"], *one["targets"]]
    passed = sum(entry["passed"] for entry in entries)
    word = "pass" if one["passed"] else "**fail**"
    return str(one["number"]), one["name"], f"{one['seconds']:.1f}", f"{passed} of {len(entries)}", word


def _failures(stages: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for one in stages:
        name = one["name"]
        found += [(name, check["what"], check["detail"]) for check in one["checks"] if not check["passed"]]
        if one["error"]:
            found.append((name, "the process", one["error"].strip().splitlines()[-1]))
    return found


def _model(one: dict[str, Any]) -> tuple[str, ...]:
    unit = one["unit"]
    return one["what"], f"{number(one['modelled'])} {unit}", f"{number(one['measured'])} {unit}", f"{one['error']:+.0%}"


def _figures(stages: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [
        (one["name"], name, f"{number(value)} {unit}")
        for one in stages
        for name, (value, unit) in one.get("figures", {}).items()
    ]
