"""Can a notebook run on TensorFlow itself? Its imports of nbtf then mean TensorFlow."""

from __future__ import annotations

import ast
import copy
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import packages_distributions
from importlib.metadata import version as version_of
from typing import Any

import nbtf
from nbtf._counts import counted
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.execution import code_cells

_IMPORT = re.compile(r"^(\s*import\s+)(.*)$", re.MULTILINE)
_FROM = re.compile(r"^(\s*from\s+)nbtf\b", re.MULTILINE)
_IMPORTS_TENSORFLOW = re.compile(r"^\s*(?:import|from)\s+tensorflow\b", re.MULTILINE)

_MISSING = """\
import functools, json, sys
import tensorflow

def is_missing(name):
    try:
        functools.reduce(getattr, name.split("."), tensorflow)
    except AttributeError:
        return True
    return False

print(json.dumps([name for name in json.load(sys.stdin) if is_missing(name)]))
"""
"""A program that reads names as JSON and prints those that TensorFlow lacks."""

_SHOWN = 5


def version() -> str:
    """Returns the version of the installed TensorFlow.

    Raises:
      CommandError: if it is not installed.
    """
    require(["tensorflow"], "nbtf run --with tensorflow", "pip install tensorflow")
    names = packages_distributions().get("tensorflow", ())
    return next((version_of(name) for name in sorted(names) if name.startswith("tensorflow")), "")


def on_tensorflow(notebook: Any) -> Any:
    """Returns a notebook whose imports of nbtf import TensorFlow; unchanged if it imports both.

    Raises:
      CommandError: if it uses functions that only nbtf has.
    """
    cells = code_cells(notebook)
    if any(_IMPORTS_TENSORFLOW.search(cell.source) for _, cell in cells):
        return notebook
    result = copy.deepcopy(notebook)
    for _, cell in code_cells(result):
        cell.source = renamed(cell.source)
    _reject_own_functions([cell.source for _, cell in cells])
    return result


def renamed(source: str) -> str:
    r"""Returns a cell whose imports of nbtf import TensorFlow under the same name.

    >>> renamed("import nbtf as tf, numpy as np")
    'import tensorflow as tf, numpy as np'
    >>> renamed("import nbtf\nfrom nbtf.keras import layers")
    'import tensorflow as nbtf\nfrom tensorflow.keras import layers'
    """
    source = _FROM.sub(r"\1tensorflow", source)
    return _IMPORT.sub(lambda match: match[1] + ",".join(map(_renamed_module, match[2].split(","))), source)


def _renamed_module(clause: str) -> str:
    """Returns one of the modules of an import statement, with its name in the program."""
    renamed_clause = re.sub(r"^(\s*)nbtf\b(?=[\w.]*\s+as\b)", r"\1tensorflow", clause)
    return re.sub(r"^(\s*)nbtf\b[\w.]*(?=\s*(?:#|;|$))", r"\1tensorflow as nbtf", renamed_clause)


def _reject_own_functions(sources: Sequence[str]) -> None:
    uses = [(number, name) for number, source in enumerate(sources, start=1) for name in _names(source, sources)]
    missing = _missing_in_tensorflow(sorted({name for _, name in uses}))
    lines = list(dict.fromkeys(f"cell {number} uses tf.{name}" for number, name in uses if name in missing))
    if lines:
        further = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        raise CommandError(
            f"The notebook needs {counted(len(missing), 'function')} that only nbtf has: "
            f"{', '.join(lines[:_SHOWN])}{further}. Remove these lines, or run it on nbtf."
        )


def _names(source: str, sources: Iterable[str]) -> Iterator[str]:
    """Yields the dotted names of nbtf that a cell uses and that nbtf has."""
    aliases = _aliases(tuple(sources))
    splits = [_dotted(node).partition(".") for node in ast.walk(_parsed(source))]
    names = [name for alias, _, name in splits if alias in aliases and name]
    whole_names = [name for name in names if not any(longer.startswith(f"{name}.") for longer in names)]
    yield from filter(_is_in_nbtf, whole_names)


@functools.cache
def _aliases(sources: tuple[str, ...]) -> frozenset[str]:
    """Returns the names under which a notebook knows nbtf."""
    imports = [node for source in sources for node in ast.walk(_parsed(source)) if isinstance(node, ast.Import)]
    clauses = [clause for node in imports for clause in node.names if clause.name == "nbtf"]
    return frozenset(clause.asname or clause.name for clause in clauses)


def _parsed(source: str) -> ast.AST:
    """Returns the Python part of a cell; empty if it has no valid Python."""
    lines = [line if line.lstrip()[:1] not in ("%", "!") else "" for line in source.split("\n")]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        return ast.Module([], [])


def _dotted(node: ast.AST) -> str:
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(attributes)]) if isinstance(node, ast.Name) and attributes else ""


def _is_in_nbtf(name: str) -> bool:
    try:
        functools.reduce(getattr, name.split("."), nbtf)
    except AttributeError:
        return False
    return True


def _missing_in_tensorflow(names: Sequence[str]) -> frozenset[str]:
    """Returns the names that TensorFlow lacks; asks in another process, because importing it takes seconds."""
    if not names:
        return frozenset()
    environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.run(
        [sys.executable, "-c", _MISSING],
        input=json.dumps(names),
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise CommandError(f"TensorFlow cannot be imported: {(process.stderr.strip() or 'no reason').splitlines()[-1]}")
    return frozenset(json.loads(process.stdout.splitlines()[-1]))
