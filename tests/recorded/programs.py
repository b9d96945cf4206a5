"""Does a short program print what TensorFlow 2.21 printed? Numbers may differ a little, names of modules more.

A program's text imports `tensorflow`; here that word becomes `nbtf`. Recorded are the printed lines, the last exception
as `!!Class: text`, and the placement log and the placer's view where the program switches them on.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.recorded.judgement import Outcome

HERE = Path(__file__).parent
Program = dict[str, Any]

_IMPORT = re.compile(r"^(\s*)(import|from) tensorflow\b", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+(?:e[+-]?\d+)?|-?\.\d+")
_EXECUTED = re.compile(r"Executing op (\S+) in device (\S+)")
_PLACED = re.compile(r"^(\S+: \(\w+\): /job\S+)(?: \(simulated\))?$", re.MULTILINE)
_PLACER_LINE = re.compile(r"^.*\([A-Z_]\w+\): /job:\S+.*\n", re.MULTILINE)
_ABSENCE = ("AttributeError", "ImportError", "ModuleNotFoundError", "NotImplementedError", "UnimplementedError")


def load_programs() -> dict[str, Program]:
    """Returns the recorded programs by name."""
    return json.loads((HERE / "programs.json").read_text(encoding="utf-8"))


def case_of(program: Program, folder: Path) -> dict[str, Any]:
    """Returns the case that `Replay` runs for a program: its text, in an empty folder."""
    begin = f"import os\nos.chdir({str(folder)!r})\ndel os\n__name__ = '__main__'\n"
    return {"code": begin + _IMPORT.sub(r"\1\2 nbtf", program["code"])}


def difference(program: Program, outcome: Outcome) -> str | None:
    """Returns the difference between an outcome and the recording, or None."""
    came = _EXECUTED.sub("", outcome.stdout)
    if outcome.bases:
        came += f"\n!!{outcome.bases[0]}: {outcome.message.strip()}\n"
    both = outcome.stderr + outcome.stdout
    if not same_text(program["out"], came):
        return f"printed\n  expected {_plain(program['out'])!r}\n  came     {_plain(came)!r}"
    if "set_log_device_placement(True)" in program["code"]:
        executed = [list(pair) for pair in _EXECUTED.findall(both)]
        if executed != program["log"]:
            return f"placement log\n  expected {program['log']}\n  came     {executed}"
    if "log_device_placement=True" in program["code"] and _PLACED.findall(both) != program["placed"]:
        return f"placer's view\n  expected {program['placed']}\n  came     {_PLACED.findall(both)}"
    return None


def names_an_absence(outcome: Outcome) -> bool:
    """Returns whether a program ended with an error that names a missing feature."""
    return (
        outcome.bases[:1] != [] and any(base in _ABSENCE for base in outcome.bases) and "no" in outcome.message.lower()
    )


def _plain(text: str) -> str:
    """Returns a text without addresses, blanks and the placer's lines, and with TensorFlow's names for nbtf's."""
    text = _PLACER_LINE.sub("", text).replace("MissingDeviceError", "InvalidArgumentError")
    text = text.replace("nbtf", "tensorflow").replace("tensorflow.python.", "")
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "0x", text)).strip()


def same_text(expected: str, came: str) -> bool:
    expected, came = _plain(expected), _plain(came)
    if _NUMBER.sub("#", expected) != _NUMBER.sub("#", came):
        return False
    pairs = zip(map(float, _NUMBER.findall(expected)), map(float, _NUMBER.findall(came)), strict=True)
    return all(abs(x - y) <= 2e-3 * max(abs(x), abs(y)) + 2e-5 for x, y in pairs)
