"""Does everything that graphs say of an op stand in the op's own block?"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from nbtf import _graph
from nbtf._ops.op import OPS

FILES = sorted(Path(_graph.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_table_of_graphs_has_ops_for_keys(file: Path) -> None:
    tables = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Dict)]
    keys = {key.value for table in tables for key in table.keys if isinstance(key, ast.Constant)}

    assert len(FILES) > 30
    assert keys.isdisjoint(OPS)


def test_rules_of_misfits_take_what_their_ops_take() -> None:
    with_rules = {name: op for name, op in OPS.items() if op.form.misfit is not None}
    for name, op in with_rules.items():
        rule: Any = op.form.misfit
        code = rule.__code__
        names = code.co_varnames[: code.co_argcount]
        assert code.co_flags & 8 or names[len(op.inputs) :] == op.attrs, name  # 8: takes any attribute

    assert 18 == len(with_rules)
