"""What short programs answer, as text: recorded with TensorFlow on two logical CPUs, and compared with nbtf.

A table of programs is a function that takes `tf` and yields names and programs; a command of its own records it, and
compares all of it; pytest takes a share.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Cases = Callable[[Any], Iterator[tuple[str, Callable[[], Any]]]]

_MODULES = re.compile(r"\b(?:tensorflow|nbtf)(?:\.\w+)*\.")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def two_cpus(tf: Any) -> None:
    """Splits the CPU into two logical devices."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def answer_of(program: Callable[[], Any]) -> str:
    """Returns a program's value as text, or the class and the last line of its error."""
    try:
        return _text(program())
    except Exception as error:
        return f"!{type(error).__name__}: {_reason(str(error))}"


def _reason(text: str) -> str:
    """Returns an error's text without the lines and nodes around it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    if lines[0] == "in user code:":
        lines = [line.partition(": ")[2] for line in lines if re.match(r"\w+(Error|Exception|Iteration): ?", line)] or [
            ""
        ]
    if lines[0].startswith(("Graph execution error", "{{function_node")) or "root error(s) found" in lines[0]:
        return "at run time"
    return _plain(lines[0].removeprefix("Tried to convert 'tensor' to a tensor and failed. Error: "))


def _plain(text: str) -> str:
    return _ADDRESS.sub("0x", _MODULES.sub("", text)).replace("_DefaultDistributionStrategy", "_DefaultStrategy")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key}: {_text(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_text(item) for item in value]) + "]"
    if hasattr(value, "_values") and hasattr(value, "values") and not hasattr(value, "numpy"):
        return f"{type(value).__name__}{_text(list(value.values))}"
    if hasattr(value, "values") and hasattr(value, "assign"):
        return f"{type(value).__name__}{_text([copy.numpy() for copy in value.values])}"
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray | np.generic):
        return json.dumps(np.asarray(value).round(4).tolist())
    return _plain(str(value))


def is_same(recorded: str | None, answered: str) -> bool:
    """Returns whether two answers agree; TensorFlow's errors without a text, or by accident, agree with any error."""
    if recorded == "!AssertionError: ":
        return answered.startswith(recorded)
    if recorded is not None and answered.startswith("!ValueError: It looks like you are using a PerReplica object"):
        return recorded.startswith(("!AttributeError: 'PerReplica'", "!TypeError: unsupported operand", answered))
    return recorded == answered


def run_command(cases: Cases, file: Path, text: str) -> int:
    """Records a table with TensorFlow, or compares nbtf's answers with it; returns the exit status."""
    parser = argparse.ArgumentParser(description=text.partition("\n")[0])
    parser.add_argument("--module", default="nbtf", help="tensorflow records what it answers")
    parser.add_argument("--only", default="", help="a pattern that names must match")
    chosen = parser.parse_args()
    tf = importlib.import_module(chosen.module)
    two_cpus(tf)
    tf.config.threading.set_inter_op_parallelism_threads(16)  # with two, TensorFlow's replicas wait for each other
    began = time.perf_counter()
    answers = {name: answer_of(program) for name, program in cases(tf) if re.search(chosen.only, name)}
    if chosen.module == "tensorflow":
        rows = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
        file.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    recorded: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    differences = {name: answer for name, answer in answers.items() if not is_same(recorded.get(name), answer)}
    for name, answer in differences.items():
        print(f"{name}\n  recorded {recorded.get(name)}\n  answered {answer}")
    places = Counter(name.rpartition(".")[2] for name in differences)
    print(f"{len(answers)} programs, {len(differences)} differ {dict(places)}, {time.perf_counter() - began:.0f} s")
    return min(1, len(differences))


if __name__ == "__main__":
    sys.exit(str(__doc__))
