"""Do type checkers see what is fetched on first use, and nothing else?"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nbtf
from nbtf import compat, keras, notebook
from tests.compat.v1_types import FOLDER, stubs


def statements(text: str) -> set[str]:
    """The lines of a stub, whatever their order and length."""
    return set(map(ast.unparse, ast.parse(text).body))


@pytest.mark.parametrize("file", stubs())
def test_the_stub_is_what_the_tables_say(file: str) -> None:
    """Where this fails: `python -m tests.compat.v1_types`."""
    text = (FOLDER / file).read_text(encoding="utf-8")

    assert statements(stubs()[file]) == statements(text)


@pytest.mark.parametrize("module", [nbtf, keras, notebook, compat], ids=lambda module: module.__name__)
def test_what_is_fetched_on_first_use_is_imported_for_type_checkers(module: object) -> None:
    tree = ast.parse(Path(str(vars(module)["__file__"])).read_text(encoding="utf-8"))
    bound = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    assert set(dir(module)) - bound - {"annotations"} == set()


@pytest.mark.parametrize("module", [nbtf, keras, compat], ids=lambda module: module.__name__)
def test_no_other_name_is_promised_to_them(module: object) -> None:
    tree = ast.parse(Path(str(vars(module)["__file__"])).read_text(encoding="utf-8"))

    assert "__getattr__" not in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
