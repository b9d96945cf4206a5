"""Did a cell print its recorded output, and if it failed, what is missing?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nbtf._as_tensorflow.modules import MISSING as MISSING
from nbtf._counts import counted
from nbtf._missing import hint, instead_of
from nbtf.cli.execution import DEATH, CellError, CellRun, Output
from nbtf.cli.line_changes import changed_lines

LINES_SHOWN = 8

_PLACED = re.compile(r"Executing op (\S+) in device (\S+)")
# TensorFlow's log in the recorded output: prefixed lines from its C++ code, and the placer's line for a new kernel.
_NOISE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] |[IWEF]\d{4} [\d:. ]+|\S+: \(\S+\): /job:\S+$"
    r"|WARNING: All log messages before absl|To enable the following instructions"
)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_NO_ATTRIBUTE = re.compile(r"module 'nbtf((?:\.\w+)*)' has no attribute '(\w+)'(?:\. It is not in nbtf yet\.)?")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '(?:nbtf|tensorflow)((?:\.\w+)*)'.*")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def is_recorded(cell: Any) -> bool:
    """Whether the cell was run before it was saved: it has an execution number, or outputs."""
    return cell.get("execution_count") is not None or bool(cell.get("outputs"))


def recorded_error(cell: Any) -> str | None:
    """The class name of the error in the cell's recorded outputs, or None."""
    return next((out["ename"] for out in cell.get("outputs", []) if out["output_type"] == "error"), None)


def may_raise(cell: Any, error: CellError) -> bool:
    """Whether the notebook expects this error: it is recorded, or the cell carries the tag that allows it."""
    tags: Sequence[str] = cell.get("metadata", {}).get("tags", [])
    return recorded_error(cell) == error.name or "raises-exception" in tags


def difference(cell: Any, run: CellRun) -> list[str]:
    """Returns the differences from the recorded output as lines marked - and +; empty if there are none.

    Compares printed text, the text of results, and the placement log if it was recorded. Pictures, warnings on stderr
    and memory addresses are ignored.
    """
    if _texts(cell.get("outputs", [])) == _texts(run.outputs):
        return []
    recorded, printed_now = printed(cell.get("outputs", [])), printed(run.outputs)
    recorded_placements, placements_now = placements(cell.get("outputs", [])), placements(run.outputs)
    if recorded_placements:
        recorded, printed_now = recorded + recorded_placements, printed_now + placements_now
    changed = changed_lines(recorded, printed_now)
    if len(changed) > LINES_SHOWN:
        changed[LINES_SHOWN:] = [f"… {counted(len(changed) - LINES_SHOWN, 'more line')}"]
    return changed


def printed(outputs: Iterable[Output]) -> list[str]:
    """Returns the lines of printed text and of results, without log lines or parts that vary between runs."""
    text = "\n".join(_text(output) for output in outputs if output.get("name") != "stderr")
    lines = [_ADDRESS.sub("0x…", _COLOUR.sub("", line.rpartition("\r")[2])).rstrip() for line in text.split("\n")]
    return [line for line in lines if line and not _PLACED.search(line) and not _NOISE.match(line)]


def placements(outputs: Iterable[Output]) -> list[str]:
    """Returns the lines of the placement log from both streams, without their prefixes."""
    return [match[0] for output in outputs for match in _PLACED.finditer(_text(output))]


def _texts(outputs: Iterable[Output]) -> list[tuple[bool, str]]:
    """Returns the texts of outputs unchanged, each with whether it comes from an error stream."""
    return [(output.get("name") == "stderr", _text(output)) for output in outputs]


def _text(output: Output) -> str:
    """The text of an output. The pieces of a stream have been joined by now; a recorded text may be a list."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return (text if isinstance(text, str) else "".join(text)).rstrip("\n")


def what_is_missing(error: CellError) -> str:
    """Returns the error as a sentence: what nbtf or this computer lacks, or what was raised.

    >>> what_is_missing(CellError("AttributeError", "module 'nbtf.image' has no attribute 'resize'"))
    'tf.image.resize is not in nbtf yet'
    """
    if match := _NO_ATTRIBUTE.fullmatch(error.text):
        advice = _advice(match[1], match[2])
        return f"{error.name}: {error.text}. {advice}" if advice else f"tf{match[1]}.{match[2]}{MISSING}"
    if match := _NO_NAME.fullmatch(error.text):
        return f"tf{match[2]}.{match[1]}{MISSING}"
    if match := _NO_MODULE.match(error.text):
        name = match[1]
        return f"tf{name.removeprefix('nbtf')}{MISSING}" if name.startswith("nbtf.") else f"{name} is not installed"
    if error.text.endswith(MISSING) or error is DEATH:
        return error.text
    first, _, further_lines = error.text.strip().partition("\n")
    return f"{error.name}: {first}{' …' if further_lines else ''}" if first else error.name


def _advice(namespace: str, name: str) -> str:
    """The advice in the error's note, which a kernel does not send; empty without a note."""
    if not namespace:
        return hint(name)
    within = namespace.removeprefix(".compat.v1")
    return instead_of(f"{within}.{name}".lstrip(".")) if within != namespace else ""
