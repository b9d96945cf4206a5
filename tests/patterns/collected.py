"""Collects the package's regular expressions from its sources, with their location and use."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nbtf
from nbtf.cli.checking.sanitizing import BUILT_IN, read_rules

ROOT = Path(nbtf.__file__).parent

ANCHORED = {"match", "fullmatch"}
FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}

NOT_SEARCHED = {
    "_ops/strings/kernels.py": "tf.strings.regex_replace and regex_full_match take patterns",
    "compat/_v1/_graph/graph.py": "tf.compat.v1.get_collection takes a pattern",
    "notebook/stills/esm.py": "reads the modules of the views, which are files of the package",
}
"""Files whose patterns users write for their own data, as with `re` itself, or that read only the user's own text."""


class Pattern(NamedTuple):
    """A pattern: its location, text and flags, and whether it is only tried at the beginning of a text."""

    source: str
    text: str
    flags: int = 0
    anchored: bool = False


def patterns(*readers: str) -> list[Pattern]:
    """Returns the patterns of the package and of the rules for outputs.

    Args:
      *readers: how the names of files begin, relative to the package; all files by default.
    """
    of_rules = [Pattern(BUILT_IN.name, rule.pattern.pattern) for rule in read_rules([BUILT_IN])]
    names = {file.relative_to(ROOT).as_posix(): file for file in sorted(ROOT.rglob("*.py"))}
    files = [file for name, file in names.items() if name.startswith(readers or "") and name not in NOT_SEARCHED]
    return [*of_rules, *(pattern for file in files for pattern in _patterns_of(file))]


def _patterns_of(file: Path) -> Iterator[Pattern]:
    text = file.read_text(encoding="utf-8")
    name = file.relative_to(ROOT).as_posix()
    if "re." not in text:
        return
    tree = ast.parse(text)
    uses = _uses(tree)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Call) and _function(statement) is not None:
            targets = _targets(tree, statement)
            function = _function(statement)
            ways = (
                {function} if function != "compile" else set().union(*(uses.get(target, {"sub"}) for target in targets))
            )
            evaluated = _evaluated(file, statement.args[0])
            if isinstance(evaluated, str):
                flags = _evaluated(file, statement.args[1]) if len(statement.args) > 1 and function == "compile" else 0
                flags = next(
                    (_evaluated(file, word.value) for word in statement.keywords if word.arg == "flags"), flags
                )
                at = f"{name}:{statement.lineno}"
                yield Pattern(at, evaluated, int(flags or 0), bool(ways) and ways <= ANCHORED)


def _function(call: ast.Call) -> str | None:
    function = call.func
    is_of_re = (
        isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
    )
    return function.attr if is_of_re and isinstance(function, ast.Attribute) and function.attr in FUNCTIONS else None


def _targets(tree: ast.Module, call: ast.Call) -> set[str]:
    """Returns the names of variables that contain a compiled pattern."""
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(inner is call for inner in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return names or {""}


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Returns the methods that are called for each name."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in FUNCTIONS:
            uses.setdefault(node.value.id, set()).add(node.attr)
    return uses


def _evaluated(file: Path, expression: ast.expr) -> Any:
    """Returns the value of an expression in a module; values that are only known at run time become names."""
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    try:
        module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
        return eval(compile(ast.Expression(expression), str(file), "eval"), vars(module))
    except (NameError, ImportError, AttributeError):
        if isinstance(expression, ast.JoinedStr):
            pieces = (piece.value if isinstance(piece, ast.Constant) else "name" for piece in expression.values)
            return "".join(map(str, pieces))
        return None
