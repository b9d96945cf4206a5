"""What docstrings say is there: arguments that exist, something about every public class, examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf

ROOT = Path(nbtf.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
NAMESPACES = [
    f"nbtf.keras.{name}"
    for name in (
        "callbacks constraints initializers layers losses metrics models optimizers optimizers.schedules regularizers"
    ).split()
] + ["nbtf.compat._v1", "nbtf.compat._v1.train"]

WITH_EXAMPLES = ["nbtf.config", "nbtf.notebook", "nbtf.runtime"]
"""Namespaces in which every function, class and method has an example."""


def documented_arguments(docstring: str) -> list[str]:
    """Returns the names in the section *Args* of a docstring."""
    _, _, section = inspect.cleandoc(docstring).partition("Args:\n")
    section = re.split(r"\n\n|\n\S", section)[0]
    entries = re.findall(r"^  ([\w*][\w*, ]*): ", section, re.MULTILINE)
    return [name for entry in entries for name in entry.split(", ")]


def parameters(definition: ast.FunctionDef) -> set[str]:
    """Returns the names of a function's parameters, with stars."""
    arguments = definition.args
    names = {argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
    starred = [("*", arguments.vararg), ("**", arguments.kwarg)]
    return names | {stars + argument.arg for stars, argument in starred if argument}


def wrong_arguments(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        docstring = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and docstring:
            for name in set(documented_arguments(docstring)) - parameters(node):
                yield f"{path.name}:{node.lineno} {node.name}: {name}"


@pytest.mark.parametrize("folder", sorted({path.parent.relative_to(ROOT).parts[:1] for path in FILES}), ids=str)
def test_documented_arguments_exist(folder: tuple[str, ...]) -> None:
    paths = [path for path in FILES if path.parent.relative_to(ROOT).parts[:1] == folder]

    assert [] == [text for path in paths for text in wrong_arguments(path)]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_public_class_and_method_says_what_it_is(namespace: str) -> None:
    module = importlib.import_module(namespace)
    classes = [value for value in (getattr(module, name) for name in dir(module)) if inspect.isclass(value)]
    ours = [value for value in classes if value.__module__.startswith("nbtf.")]
    members = [
        (f"{value.__name__}.{name}", member)
        for value in ours
        for name, member in inspect.getmembers(value)
        if not name.startswith("_") and callable(member)
    ]

    assert ours
    assert [] == [value.__name__ for value in ours if not value.__doc__]
    assert [] == [name for name, member in members if not inspect.getdoc(member)]


def public_members(owner: Any) -> dict[str, Any]:
    """The functions, classes and methods of a namespace, and theirs, by their names."""
    offered = {name: getattr(owner, name) for name in dir(owner)} if inspect.ismodule(owner) else dict(vars(owner))
    members: dict[str, Any] = {}
    for name, value in offered.items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if name.startswith("_") or not (inspect.isfunction(function) or inspect.isclass(function)):
            continue
        members[name] = function
        if inspect.isclass(function):
            members |= {f"{name}.{member}": below for member, below in public_members(function).items()}
    return members


def has_example_that_runs(member: Any) -> bool:
    """Whether a docstring has an example that the tests do not skip."""
    examples = doctest.DocTestParser().get_examples(member.__doc__ or "")
    return any(not example.options.get(doctest.SKIP) for example in examples)


@pytest.mark.parametrize("namespace", WITH_EXAMPLES)
def test_every_public_name_has_an_example_that_runs(namespace: str) -> None:
    members = public_members(importlib.import_module(namespace))

    assert len(members) > 7
    assert [] == [name for name, member in members.items() if not has_example_that_runs(member)]


@pytest.mark.parametrize(
    ("example", "runs"), [("", False), (">>> 1\n1", True), (">>> 1  # doctest: +SKIP\n1", False), ("1 + 1", False)]
)
def test_an_example_that_is_skipped_does_not_count(example: str, runs: bool) -> None:
    class Documented:
        __doc__ = example

    assert runs == has_example_that_runs(Documented)
