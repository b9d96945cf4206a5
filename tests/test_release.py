"""Do all places name the same release, and does the release check find the places that do not?"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.release import notes, problems

ADDRESS = "https://github.com/me/nbtf"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = ("nbtf/_install.py", ".github/CITATION.cff", "CHANGELOG.md", "pyproject.toml")


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A repository that is ready for release 3.1.0."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    change(tmp_path, "nbtf/_install.py", r'^VERSION = ".*"$', 'VERSION = "3.1.0"')
    change(tmp_path, "nbtf/_install.py", r'^SOURCE = ".*"$', f'SOURCE = "git+{ADDRESS}"')
    change(tmp_path, ".github/CITATION.cff", r"^version: .*$", "version: 3.1.0")
    change(tmp_path, ".github/CITATION.cff", r"^date-released: .*$", "date-released: 2027-01-31")
    change(
        tmp_path, "CHANGELOG.md", r"^## \[Unreleased\]\n", "## [Unreleased]\n\n## [3.1.0] - 2027-01-31\n\n- A line.\n"
    )
    change(
        tmp_path,
        "pyproject.toml",
        r"^\[project.scripts\]",
        f'[project.urls]\nSource = "{ADDRESS}"\n\n[project.scripts]',
    )
    return tmp_path


def change(root: Path, name: str, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, (root / name).read_text(encoding="utf-8"), count=1, flags=re.M)
    assert 1 == count, name
    (root / name).write_text(text, encoding="utf-8")


def test_what_is_ready_has_no_problems(ready: Path) -> None:
    assert [] == list(problems(ready, "v3.1.0", ADDRESS))
    assert notes(ready, "v3.1.0").startswith("- A line.")


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "sentence"),
    [
        ("nbtf/_install.py", r'"3\.1\.0"', '"3.0.0"', "_install.py has version 3.0.0, the tag has 3.1.0"),
        (
            ".github/CITATION.cff",
            r"^version: .*$",
            "version: 2",
            ".github/CITATION.cff has version 2, the tag has 3.1.0",
        ),
        ("CHANGELOG.md", r"\[3\.1\.0\]", "[3.2.0]", "CHANGELOG.md has no section [3.1.0]"),
        ("CHANGELOG.md", r" - 2027-01-31", "", "the section [3.1.0] of CHANGELOG.md has no date"),
        (
            "CHANGELOG.md",
            r"2027-01-31",
            "2027-02-01",
            "is dated 2027-01-31, the section [3.1.0] of CHANGELOG.md 2027-02-01",
        ),
        ("nbtf/_install.py", r'^SOURCE = ".*"$', 'SOURCE = ""', "nbtf/_install.py does not give the address"),
        ("pyproject.toml", r"/me/nbtf", "/you/nbtf", f"pyproject.toml does not name {ADDRESS}"),
    ],
)
def test_what_does_not_agree_is_said(ready: Path, name: str, pattern: str, replacement: str, sentence: str) -> None:
    change(ready, name, pattern, replacement)

    [problem] = problems(ready, "v3.1.0", ADDRESS)
    assert sentence in problem


def test_recipe_of_conda_needs_what_the_package_needs() -> None:
    recipe = (ROOT / ".github" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.M)
    assert run is not None
    needed = {
        f"python {PROJECT['requires-python']}",
        *(re.sub(r"([<>=])", r" \1", name, count=1) for name in PROJECT["dependencies"]),
    }

    assert needed == set(re.findall(r"- (.*)", run[1]))
    assert f"- nbtf = {PROJECT['scripts']['nbtf']}" in recipe
    assert PROJECT["license"] in recipe


def test_files_of_the_licence_are_there() -> None:
    names: list[str] = PROJECT["license-files"]

    assert ["LICENSE", ".github/NOTICE"] == names
    assert all((ROOT / name).is_file() for name in names)
