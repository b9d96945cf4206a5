"""Is nobody sent to an index that does not have nbtf, and does every text agree on where it is installed from?"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from nbtf import _install
from nbtf._install import INDEX, SOURCE, pip_install
from nbtf.cli.special_cells import install_cell, is_install_cell
from tests.conftest import ROOT

FROM_INDEX = re.compile(r"""pip install (?:-\S+ )*["'\\]*nbtf(?:\[[\w,]+\])?["'\\]*(?! @)(?:\s|$)""")
"""What asks an index for nbtf."""

PAGE_INDEX = {"nbtf/cli/in_browser.py", "tests/cli/test_in_browser.py"}
"""A page without a server brings an index of its own along, in which nbtf is."""

LESSONS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def texts() -> list[Path]:
    """The files that people or programs read for how to install."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    suffixes = {".py", ".md", ".ipynb", ".toml", ".js", ".po", ".yml", ".txt", ".sh", ".rst", ".html"}
    return [ROOT / name for name in listed if Path(name).suffix in suffixes and name not in PAGE_INDEX]


def sends_to_index(text: str) -> bool:
    return FROM_INDEX.search(text) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip install nbtf", True),
        ('    "    %pip install -q \\"nbtf[views]\\""', True),
        ("pip install 'nbtf[lab]' ", True),
        ('pip install -e ".[lab]"', False),
        ('pip install "nbtf[lab] @ git+https://github.com/me/nbtf"', False),
        ("pip install nbtflow", False),
    ],
)
def test_text_that_asks_an_index_is_seen(text: str, expected: bool) -> None:
    assert expected == sends_to_index(text)


@pytest.mark.skipif(SOURCE == INDEX, reason="an index has it")
def test_no_text_asks_an_index_for_a_package_that_it_does_not_have() -> None:
    files = [path for path in texts() if path.exists() and path != Path(__file__)]
    asking = [str(path.relative_to(ROOT)) for path in files if sends_to_index(path.read_text(encoding="utf-8"))]

    assert len(files) > 500
    assert [] == asking


def test_message_says_what_pip_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    for source in ("", "git+https://github.com/me/nbtf", INDEX):
        monkeypatch.setattr(_install, "SOURCE", source)
        said.append(pip_install("lab"))

    assert [
        'pip install ".[lab]", in the folder of nbtf',
        'pip install "nbtf[lab] @ git+https://github.com/me/nbtf"',
        'pip install "nbtf[lab]"',
    ] == said


ORIGINS = {
    "wheel": ({"url": "file:///tmp/nbtf.whl", "archive_info": {}}, "nbtf[lab] @ file:///tmp/nbtf.whl"),
    "folder": ({"url": "file:///home/me/nbtf", "dir_info": {}}, "nbtf[lab] @ file:///home/me/nbtf"),
    "git": (
        {"url": "https://example.org/nbtf", "vcs_info": {"vcs": "git", "requested_revision": "main"}},
        "nbtf[lab] @ git+https://example.org/nbtf@main",
    ),
    "git without a revision": (
        {"url": "https://example.org/nbtf", "vcs_info": {"vcs": "git", "commit_id": "1234"}},
        "nbtf[lab] @ git+https://example.org/nbtf",
    ),
    "index": (None, "nbtf[lab]"),
}
"""What an installer writes about a package (PEP 610), and what pip takes again."""


@pytest.mark.skipif(bool(SOURCE), reason="nbtf has one source")
@pytest.mark.parametrize("origin", ORIGINS)
def test_message_of_an_installed_package_says_how_it_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    written, expected = ORIGINS[origin]
    about = tmp_path / f"nbtf-{_install.VERSION}.dist-info"
    about.mkdir()
    if written is not None:
        (about / "direct_url.json").write_text(json.dumps(written), encoding="utf-8")
    monkeypatch.setattr(_install, "__file__", str(tmp_path / "nbtf" / "_install.py"))

    assert f'pip install "{expected}"' == pip_install("lab")


def test_message_of_an_installed_package_with_a_damaged_record_names_the_folder(tmp_path: Path) -> None:
    about = tmp_path / f"nbtf-{_install.VERSION}.dist-info"
    about.mkdir()
    (about / "direct_url.json").write_text("{", encoding="utf-8")

    assert "" == _install.installed_from(str(tmp_path))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_lesson_installs_nbtf_from_there(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]

    assert [install_cell()] == ["".join(cell["source"]) for cell in cells if is_install_cell(cell)]


def test_every_upper_bound_has_its_reason_beside_it() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[tool.", 1)[0].splitlines()
    bounded = [line for line in lines if re.search(r'"[\w.\[\]-]+[^"]*<\d', line)]

    assert len(bounded) >= 8
    assert [line for line in bounded if "#" not in line] == []


def test_the_package_says_what_it_is_for() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]

    assert {"Framework :: Pytest", "Framework :: Jupyter"} <= set(classifiers)
    assert any(classifier.startswith("Topic :: ") for classifier in classifiers)
