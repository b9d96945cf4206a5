"""Do short programs with `tf.function` behave as in TensorFlow 2.21? Compares output, errors and numbers of traces.

If TensorFlow is installed, this command records its behaviour again, including programs that are new:

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
"""The original error below `in user code:`."""


def load_function_programs() -> dict[str, Program]:
    """Returns the recorded programs by name: their code, output on both streams, and how they end."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def case_of(program: Program) -> dict[str, Any]:
    """Returns the case that `Replay` runs for a program, in which `tf` is already imported."""
    return {"code": program["code"]}


def difference(program: Program, outcome: Outcome) -> str | None:
    """Returns how an outcome differs from the recording, or None."""
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
    """Returns class and first line of an error; for an error in a trace, those of its original error."""
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
