"""Do the buttons lead where the project says it lives, and are there none where it does not say?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nbtf.cli import main
from nbtf.cli.badges import BINDER, COLAB, address_in, badges, with_badges

ROOT = Path(__file__).parents[2]
HERE = address_in(ROOT / "pyproject.toml")
ADDRESS = "https://github.com/me/course"


def lesson() -> Any:
    return new_notebook(cells=[new_code_cell("1"), new_markdown_cell("# Title\n\n*3 minutes*")])


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/", f"{ADDRESS}.git"])
def test_buttons_lead_to_the_notebook(address: str) -> None:
    line = badges(address, "notebooks/my lesson.ipynb")

    assert f"({BINDER}/v2/gh/me/course/main?urlpath=lab/tree/notebooks/my%20lesson.ipynb)" in line
    assert f"({COLAB}/github/me/course/blob/main/notebooks/my%20lesson.ipynb)" in line


@pytest.mark.parametrize("address", ["", "https://example.org/me/course", "https://github.com/me"])
def test_without_an_address_on_github_there_are_none(address: str) -> None:
    assert "" == badges(address, "a.ipynb")


def test_address_is_that_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(f'[project.urls]\nDocs = "https://example.org"\nSource = "{ADDRESS}"\n')

    assert ADDRESS == address_in(project)


def test_buttons_stand_below_the_title_once() -> None:
    line = badges(ADDRESS, "a.ipynb")
    twice = with_badges(with_badges(lesson(), badges(ADDRESS, "old.ipynb")), line)

    assert f"# Title\n\n{line}\n\n*3 minutes*" == twice.cells[1].source
    assert lesson().cells[1].source == with_badges(twice, "").cells[1].source


def test_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project.urls]\nSource = "{ADDRESS}"\n')
    path = tmp_path / "notebooks" / "a.ipynb"
    path.parent.mkdir()
    nbformat.write(lesson(), path)

    assert 0 == main(["notebooks", "badges", str(path)])
    assert badges(ADDRESS, "notebooks/a.ipynb") in nbformat.read(path, as_version=4).cells[1].source


def test_command_says_where_an_address_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    path = tmp_path / "a.ipynb"
    nbformat.write(lesson(), path)

    assert 2 == main(["notebooks", "badges", str(path)])
    assert "[project.urls]" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").rglob("*.ipynb")), ids=lambda path: path.stem)
def test_lessons_have_those_of_this_project(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert badges(HERE, path.relative_to(ROOT).as_posix()) in text
    assert bool(HERE) == (f"({COLAB}/github" in text)


def test_readme_has_those_of_this_project() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert badges(HERE, "notebooks/00_start_here.ipynb") in text
    assert bool(HERE) == ("badge_logo.svg" in text)
