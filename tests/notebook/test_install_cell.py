"""Does the first cell of a lesson install nbtf where it is missing, and nothing where it is there?"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from nbtf.cli.special_cells import install_cell
from tests.notebook.conftest import Shell

ADDRESS = "git+https://github.com/me/nbtf"


def installed_by(shell: Shell, cell: str) -> list[str]:
    """What the cell gives to pip."""
    lines: list[str] = []
    shell.ip.register_magic_function(lines.append, "line", "pip")
    assert shell.run(cell).error is None
    return lines


@pytest.mark.parametrize("source", ["", ADDRESS, "nbtf"])
def test_nothing_is_installed_where_nbtf_is(bare: Shell, source: str) -> None:
    assert [] == installed_by(bare, install_cell(source))


@pytest.mark.parametrize(
    ("source", "expected"),
    [(ADDRESS, f'install -q "nbtf[views] @ {ADDRESS}"'), ("nbtf", 'install -q "nbtf[views]"')],
)
def test_it_comes_from_where_it_is(bare: Shell, monkeypatch: pytest.MonkeyPatch, source: str, expected: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    assert [expected] == installed_by(bare, install_cell(source))


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/ja"])
def test_without_an_address_it_comes_from_the_folder_above(
    bare: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    for name in ("nbtf", folder):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    assert [f'install -q "{tmp_path}[views]"'] == installed_by(bare, install_cell(""))
