"""Did a case behave as recorded? Compares its outcome with the expected one.

expect.stdout          printed text, without log lines and trailing blanks
expect.log             [[op, device], ...], the placement log, in order, on either stream
expect.info            [[level, text], ...], lines of Python loggers; the recorded text is contained in the line
expect.stderr_has      texts that appear on stderr
expect.exception_type  a class name anywhere among the bases of the error, with
expect.message         its text: message_is exact (default), prefix, contains or regex; {{function_node ...}} is dropped
session                the case is one of sessions, whose log lines are part of what it prints
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case's output and error; `bases` are the class names of the error, its own first."""

    stdout: str = ""
    stderr: str = ""
    message: str = ""
    bases: list[str] = field(default_factory=list)


_PLACED = re.compile(r"Executing op (\S+) in device (\S+)")
_PYTHON_LOG = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):[A-Za-z_][\w.]*:(.*)")
_LOG_LINE = re.compile(
    r".*Executing op \S+ in device \S+"
    r"|\S+: \(\S+\): /job:\S+$"  # the placer's lines for a new kernel
    r"|[IWEF]\d{4} [\d:. ]+|WARNING: All log messages before absl|To enable the following"  # TensorFlow's C++ log
    rf"|{_PYTHON_LOG.pattern}"
)
_FUNCTION_NODE = re.compile(r"\{\{function_node [^}]*\}\} ?")
_NO_SUCH_NAME = re.compile(r"module '[\w.]+' has no attribute")
_ANNOUNCEMENT = "Using MirroredStrategy eagerly has significant overhead"  # only TensorFlow logs it, once per process


def difference(case: Case, outcome: Outcome) -> str | None:
    """Returns the first difference between an outcome and the case's expectation, or None."""
    expect = case["expect"]
    if _lacks_a_name(outcome) and not _NO_SUCH_NAME.match(case.get("tf_message", "")):
        return f"missing: {outcome.message}"
    if case.get("session"):
        return _difference_in_error(expect, outcome) or _unequal(
            "printed", expect.get("stdout", ""), outcome.stdout, str
        )
    return (
        _difference_in_error(expect, outcome)
        or _unequal("printed", expect.get("stdout"), outcome.stdout, without_log)
        or _unequal("placement log", expect.get("log"), outcome.stderr + "\n" + outcome.stdout, placements)
        or _difference_in_log(expect.get("info"), outcome)
        or _lacking_on_stderr(expect.get("stderr_has", []), outcome)
    )


def without_log(text: str) -> str:
    """Returns printed text without log lines, trailing blanks, and empty lines at both ends."""
    return "\n".join(line.rstrip() for line in text.split("\n") if not _LOG_LINE.match(line)).strip("\n")


def placements(text: str | list[list[str]]) -> list[list[str]]:
    """Returns the `[op, device]` pairs of a placement log; returns a recorded list unchanged."""
    return [list(pair) for pair in _PLACED.findall(text)] if isinstance(text, str) else text


def _lacks_a_name(outcome: Outcome) -> bool:
    return outcome.bases[:1] == ["AttributeError"] and _NO_SUCH_NAME.match(outcome.message) is not None


def _difference_in_error(expect: Mapping[str, Any], outcome: Outcome) -> str | None:
    raised = f"{outcome.bases[0]}: {outcome.message}" if outcome.bases else "nothing"
    if "exception_type" not in expect:
        return f"raised {raised}" if outcome.bases else None
    kind, wanted, how = expect["exception_type"], expect.get("message", ""), expect.get("message_is", "exact")
    if kind not in outcome.bases:
        return f"raised {raised}; expected {kind}: {wanted}"
    if "message" not in expect:
        return None
    came = _FUNCTION_NODE.sub("", outcome.message)
    agrees = {
        "exact": lambda: came == wanted,
        "prefix": lambda: came.startswith(wanted),
        "contains": lambda: wanted in came,
        "regex": lambda: re.search(wanted, came, re.DOTALL) is not None,
    }[how]()
    return None if agrees else f"text of the {kind} ({how})\n  expected {wanted!r}\n  came     {came!r}"


def _unequal(what: str, wanted: Any, came: Any, normal: Callable[[Any], Any]) -> str | None:
    if wanted is None or normal(wanted) == normal(came):
        return None
    return f"{what}\n  expected {normal(wanted)!r}\n  came     {normal(came)!r}"


def _difference_in_log(wanted: list[list[str]] | None, outcome: Outcome) -> str | None:
    lines = (outcome.stderr + "\n" + outcome.stdout).split("\n")
    came = [match.groups() for line in lines if (match := _PYTHON_LOG.match(line)) and _ANNOUNCEMENT not in line]
    if wanted is None or (
        len(wanted) == len(came) and all(w[0] == c[0] and w[1] in c[1] for w, c in zip(wanted, came, strict=True))
    ):
        return None
    return f"log lines\n  expected {wanted}\n  came     {came}"


def _lacking_on_stderr(wanted: Iterable[str], outcome: Outcome) -> str | None:
    return next((f"stderr lacks {text!r}" for text in wanted if text not in outcome.stderr), None)
