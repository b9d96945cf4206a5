"""Does any import lead back to where it began? A file of a circle cannot be read, moved or tested alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "nbtf"


def module_name(file: Path, root: Path) -> str:
    parts = file.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_at_load(body: list[ast.stmt], package: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The imports that run when the file is loaded: those in functions and for type checkers are left out."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield origin, tuple(alias.name for alias in node.names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not for_type_checkers(node):
            for block in ("body", "orelse", "finalbody"):
                yield from imports_at_load(getattr(node, block, []), package)
            for handler in getattr(node, "handlers", []):
                yield from imports_at_load(handler.body, package)


def for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def import_graph(root: Path) -> dict[str, set[str]]:
    """For each module of a package the modules of the package that it loads; a name may be a module, too."""
    files = {module_name(file, root): file for file in sorted(root.rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        targets = graph.setdefault(module, set())
        for origin, names in imports_at_load(ast.parse(file.read_text(encoding="utf-8")).body, package):
            below = {f"{origin}.{name}" for name in names} & set(files)
            targets |= below or {origin} & set(files)
            if names and len(below) < len(names):
                targets |= {origin} & set(files)
        targets.discard(module)
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected modules, by Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        path.append(module)
        for target in sorted(graph.get(module, ())):
            if target not in numbers:
                visit(target)
            if target in path:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == numbers[module]:
            start = path.index(module)
            components.append(sorted(path[start:]))
            del path[start:]

    for module in sorted(graph):
        if module not in numbers:
            visit(module)
    return [component for component in components if len(component) > 1]


def test_no_import_leads_back() -> None:
    assert [] == circles(import_graph(PACKAGE))


@pytest.mark.parametrize(
    ("text", "circle"),
    [
        ("from pack import b", True),
        ("from pack.b import f", True),
        ("from . import b", True),
        ("import pack.b", True),
        ("try:\n    from .b import f\nexcept ImportError:\n    pass", True),
        ("def late():\n    from pack import b", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack import b", False),
        ("import json", False),
    ],
)
def test_a_circle_is_seen(tmp_path: Path, text: str, circle: bool) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    for name, content in (("__init__", ""), ("a", text), ("b", "from pack.a import g")):
        (package / f"{name}.py").write_text(content)

    assert ([["pack.a", "pack.b"]] if circle else []) == circles(import_graph(package))
