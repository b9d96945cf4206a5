"""Do names say what they hold? Words that fit anything are counted, folder by folder, and may only become fewer."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbtf

PACKAGE = Path(nbtf.__file__).parent

VAGUE = frozenset(
    """
    after again all_of already another anything asked before began begun done early ended enough few found given
    given_by heard held here how kept kind kinds known late later least made many meant mine more most much one
    ones other others ours own part parts place places ready rest said same seen settled shown some something
    still stuff such taken that theirs there these thing things this those todo told wanted way ways what when
    where which who whole whose why
    """.split()
)
"""Whole names that do not say what was found or made. As a part of a name each is welcome: `device_wanted`."""

TENSORFLOWS = frozenset({"ones", "where"})
"""Public functions of TensorFlow that are called so."""

FINISHED = """
    _as_tensorflow _cluster _devices _error_texts _frameworks _snapshots _storage _traces autodiff autograph cli config
    data distribute experimental io keras lookup nn python random saved_model simulate summary train
    """.split()
"""Folders in which no name is vague any more."""

AT_MOST = {
    "": 0,
    "_graph": 32,
    "_ops": 37,
    "_record": 4,
    "_runtime": 10,
    "compat": 13,
    "notebook": 29,
    "runtime": 1,
    "test": 1,
}
"""How many vague names there may be in the other folders; the empty name stands for the files beside them."""


def names_in(tree: ast.AST) -> Iterator[str]:
    """The names of variables, parameters and functions; not those that TensorFlow or Python has given."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store()) if node.id not in TENSORFLOWS:
                yield node.id
            case ast.arg() if node.arg != "other":  # the second operand is called so
                yield node.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name not in TENSORFLOWS:
                yield node.name
            case _:
                pass


def vague_names(folder: str) -> Counter[str]:
    """The vague names of a folder of the package, with how often each is given."""
    files = (PACKAGE / folder).rglob("*.py") if folder else PACKAGE.glob("*.py")
    names = (name.strip("_") for file in files for name in names_in(ast.parse(file.read_text(encoding="utf-8"))))
    return Counter(name for name in names if name in VAGUE)


def test_every_folder_is_counted() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    assert folders == {*FINISHED, *AT_MOST} - {""}


@pytest.mark.parametrize("folder", FINISHED)
def test_finished_folders_stay_so(folder: str) -> None:
    assert {} == dict(vague_names(folder)), "say what was found, asked for, or made: its noun in the field"


@pytest.mark.parametrize("folder", AT_MOST, ids=lambda folder: folder or "files")
def test_vague_names_become_fewer(folder: str) -> None:
    count = vague_names(folder).total()

    assert count <= AT_MOST[folder], (
        "say what it is; if other names of this folder got better, lower its number instead"
    )


def test_vague_names_are_found() -> None:
    program = "def _made(one, *, other=1):\n    for place in one: found: int = place\n    return lambda kind: kind"

    assert ["_made", "found", "kind", "one", "place"] == sorted(names_in(ast.parse(program)))
