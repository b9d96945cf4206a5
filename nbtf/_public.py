"""Which names does a module show? Those that it defines, and those that it re-exports.

`from a import b as b` and `as c` re-export a name; `from a import b` does not. Source: PEP 484, "Stub Files".
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from functools import cache


@cache
def public_names(module: str) -> list[str]:
    """Returns the names that a module's `dir` shows: public ones, and those that Python adds.

    Args:
      module: the module's name.
    """
    spec = sys.modules[module].__spec__
    if spec is None or spec.origin is None or not os.path.exists(spec.origin):
        return sorted(vars(sys.modules[module]))  # a module without source text, such as one in a zip file
    with open(spec.origin, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names = {name for statement in tree.body for name in _defined(statement) if name[0] != "_"}
    return sorted(names | {name for name in vars(sys.modules[module]) if name.startswith("__")})


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ImportFrom):
        yield from (alias.asname for alias in statement.names if alias.asname)
    elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
