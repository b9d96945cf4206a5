"""Which notebooks of a folder are taken, and is it said which are not?"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nbtf.cli.command_error import CommandError
from nbtf.cli.notebook_choice import notebooks_in

FILES = (
    "a.ipynb",
    "course/b.ipynb",
    "course/deep/c.ipynb",
    "course/.ipynb_checkpoints/b-checkpoint.ipynb",
    ".hidden/d.ipynb",
    ".venv/lib/nbtf/_tutorials/e.ipynb",
    "environment/pyvenv.cfg",
    "environment/lib/f.ipynb",
    "build/g.ipynb",
    "drafts/h.ipynb",
    "notes.txt",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return folder


def git(folder: Path, *words: str) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout


def chosen(folder: Path, *exclude: str) -> tuple[list[str], list[str]]:
    """The notebooks that a folder means, and what is said."""
    said: list[str] = []
    paths = notebooks_in([folder], exclude, said.append)
    return [path.relative_to(folder).as_posix() for path in paths], said


def test_elsewhere_hidden_folders_and_environments_are_left_out(project: Path) -> None:
    names, said = chosen(project)

    assert names == ["a.ipynb", "build/g.ipynb", "course/b.ipynb", "course/deep/c.ipynb", "drafts/h.ipynb"]
    assert said == ["left out: 3 notebooks in hidden folders and Python environments"]


def test_in_a_repository_a_folder_means_what_git_tracks(project: Path) -> None:
    git(project, "init", "-q")
    (project / ".gitignore").write_text(".venv\nbuild/\nenvironment\n")
    (project / "link.ipynb").symlink_to("a.ipynb")
    (project / "outside").symlink_to(project.parent, target_is_directory=True)
    git(project, "add", "-A")
    (project / "new.ipynb").write_text("{}")
    (project / "course/deep/c.ipynb").unlink()

    names, said = chosen(project)

    tracked = git(project, "ls-files", "*.ipynb").split()
    checkpoint = "course/.ipynb_checkpoints/b-checkpoint.ipynb"
    assert names == sorted(set(tracked) - {"course/deep/c.ipynb", checkpoint}, key=lambda name: name.split("/"))
    assert ".hidden/d.ipynb" in names
    assert said == ["left out: 4 notebooks that Git does not track"]


@pytest.mark.parametrize("folder", ["build", ".venv", "environment", ".hidden", "course/deep"])
def test_a_folder_that_is_named_is_taken(project: Path, folder: str) -> None:
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*\n")

    assert len(notebooks_in([project / folder])) == 1


def test_patterns_leave_out_notebooks_and_folders_but_not_what_is_named(project: Path) -> None:
    names, said = chosen(project, "drafts", "course/d*/*", "g.ipynb")

    assert names == ["a.ipynb", "course/b.ipynb"]
    assert said == ["left out: 3 notebooks in hidden folders and Python environments; 3 notebooks excluded"]
    assert notebooks_in([project / "drafts/h.ipynb"], ["drafts"]) == [project / "drafts/h.ipynb"]
    assert notebooks_in([project / "drafts"], ["drafts", "project"]) == [project / "drafts/h.ipynb"]


def test_nothing_left_is_an_error_with_the_reason(project: Path) -> None:
    with pytest.raises(CommandError, match=r"found no notebook at .*drafts; left out: 1 notebook excluded"):
        notebooks_in([project / "drafts"], ["*.ipynb"])
    with pytest.raises(CommandError, match=r"found no notebook at .*none\.ipynb$"):
        notebooks_in([project / "none.ipynb"])


def test_without_git_a_repository_is_a_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(project, "init", "-q")
    git(project, "add", "a.ipynb")
    assert chosen(project)[0] == ["a.ipynb"]

    monkeypatch.setenv("PATH", "")

    assert len(chosen(project)[0]) == 5
