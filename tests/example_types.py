"""Checks that type checkers accept the examples of nbtf's own namespaces: `python -m tests.example_types`."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.test_docstrings import WITH_EXAMPLES, public_members

# Examples use optional values without a check, and their lines are bare expressions: readers see the values.
RULES = ("OptionalMemberAccess", "OptionalOperand", "OptionalSubscript", "OptionalIterable", "UnusedExpression")
HEAD = """\
# pyright: basic, {rules}
from __future__ import annotations
from typing import Any
import numpy as np
import nbtf as tf

def get_ipython() -> Any: ...
"""


def main() -> int:
    """Prints the problems; returns 1 if there are any and 2 if there are no examples."""
    sources = {f"{namespace}.{name}": code for namespace in WITH_EXAMPLES for name, code in examples(namespace)}
    problems = list(refused(sources))
    print("\n".join(problems) or f"{len(sources)} examples have the types that they should have")
    return 2 if not sources else int(bool(problems))


def examples(namespace: str) -> Iterator[tuple[str, str]]:
    """Yields the examples of a namespace as code, with the name that each belongs to."""
    for name, member in public_members(importlib.import_module(namespace)).items():
        lines = doctest.DocTestParser().get_examples(member.__doc__ or "")
        if lines:
            yield name, "".join(line.source for line in lines)


def refused(sources: Mapping[str, str]) -> Iterator[str]:
    """Yields basedpyright's messages about examples as sentences.

    Args:
      sources: the code of the examples, by name.
    """
    text, names = HEAD.format(rules=", ".join(f"report{rule}=false" for rule in RULES)), dict[int, str]()
    for number, (name, code) in enumerate(sources.items()):
        names[text.count("\n")] = name
        text += f"\ndef example_{number}() -> None:\n{textwrap.indent(code, '    ')}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "examples.py")
        path.write_text(text, encoding="utf-8")
        command = ["basedpyright", "--outputjson", "--pythonversion", "3.11", str(path)]
        report: Any = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    if not report["summary"]["filesAnalyzed"]:
        yield "basedpyright checked no files"
    for problem in report["generalDiagnostics"]:
        line = problem["range"]["start"]["line"]
        first = max((begin for begin in names if begin <= line), default=-1)
        yield f"{names.get(first, 'the head')}, line {line - first - 1}: {problem['message']}"


if __name__ == "__main__":
    sys.exit(main())
