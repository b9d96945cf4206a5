"""Does a short program with `tf.function` do what TensorFlow 2.21 did? Recorded are lines, errors and counts of traces.

Where TensorFlow is installed, this writes down anew what it does with the programs, new ones included:

    python -m tests.recorded.function_programs
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.recorded.judgement import Outcome, without_log
from tests.recorded.programs import same_text
from tests.recorded.replay import Replay

FILE = Path(__file__).parent / "function_programs.json"
Program = dict[str, str]

_CAUSE = re.compile(r"^    (\w+): (.*)$", re.MULTILINE)
"""The error inside the text `in user code:`."""


def load_function_programs() -> dict[str, Program]:
    """The recorded programs by name: their code, what they print on either stream, and how they end."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def case_of(program: Program) -> dict[str, Any]:
    """What `Replay` runs for a program; `tf` is there already."""
    return {"code": program["code"]}


def difference(program: Program, outcome: Outcome) -> str | None:
    """How an outcome differs from what was recorded, or None."""
    came = _record(program["code"], outcome)
    for part in ("out", "err", "error"):
        if not same_text(program[part], came[part]):
            return f"{part}\n  expected {program[part]!r}\n  came     {came[part]!r}"
    return None


def _record(code: str, outcome: Outcome) -> Program:
    return {
        "code": code,
        "out": outcome.stdout,
        "err": without_log(outcome.stderr) if "tf.print" in code else "",
        "error": _first_line(outcome),
    }


def _first_line(outcome: Outcome) -> str:
    """Class and first line of an error; of one in a trace the class and line of what has happened there."""
    if not outcome.bases:
        return ""
    lines = outcome.message.strip().splitlines() or [""]
    if lines[0] != "in user code:":
        return f"{outcome.bases[0]}: {lines[0]}"
    cause = _CAUSE.findall(outcome.message)[-1]
    return f"{outcome.bases[0]} in user code: {cause[0]}: {cause[1]}"


def main() -> None:
    """Records all programs with TensorFlow."""
    recorded: dict[str, Program] = {}
    with Replay("tensorflow") as replay:
        for name, program in load_function_programs().items():
            recorded[name] = _record(program["code"], replay.outcome(case_of(program)))
    rows = [f"{json.dumps(name)}: {json.dumps(program)}" for name, program in recorded.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
