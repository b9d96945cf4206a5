"""The table of programs and ways: TensorFlow's recorded answers, and nbtf's differences."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.gradients.programs import PROGRAMS
from tests.gradients.ways import WAYS, answer

FILE = Path(__file__).parents[1] / "recorded" / "gradient_ways.json"
RECORDED: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
REASONS: dict[str, list[str]] = tomllib.loads(FILE.with_suffix(".toml").read_text(encoding="utf-8"))
EXCUSED = {cell for cells in REASONS.values() for cell in cells}
"""Known differences, as `program way`."""


def answers(tf: Any, ways: Iterable[str], programs: Iterable[str]) -> dict[str, Any]:
    """Returns each program's answer in each way, by `program way`."""
    return {f"{program} {way}": answer(tf, WAYS[way], PROGRAMS[program]) for way in ways for program in list(programs)}


def recorded(cell: str) -> Any:
    """Returns TensorFlow's recorded answers."""
    program, way = cell.split()
    return RECORDED[program][way]


def agree(expected: Any, answered: Any) -> bool:
    """Returns whether two answers are equal; numbers may differ slightly."""
    if isinstance(expected, float) and isinstance(answered, float):
        return abs(expected - answered) <= 2e-4 * max(1.0, abs(expected))
    if type(expected) is not type(answered):
        return False
    if isinstance(expected, list):
        return len(expected) == len(answered) and all(map(agree, expected, answered))
    if isinstance(expected, dict):
        return expected.keys() == answered.keys() and all(agree(expected[key], answered[key]) for key in expected)
    return bool(expected == answered)


def record(tf: Any, version: str) -> None:
    """Records TensorFlow's answers."""
    table: dict[str, dict[str, Any]] = {program: {} for program in PROGRAMS}
    for cell, value in answers(tf, WAYS, PROGRAMS).items():
        program, way = cell.split()
        table[program][way] = value
    lines = [f"{json.dumps(program)}: {json.dumps(row)}" for program, row in table.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(table)} programs, {len(WAYS)} ways, TensorFlow {version}")
