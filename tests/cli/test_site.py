"""Does `nbtf site` refuse what it cannot do, and give JupyterLite the lessons, the wheels and the settings?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from nbtf import cli
from nbtf._install import pip_install
from nbtf.cli import command_error, site
from nbtf.cli.command_error import CommandError
from nbtf.cli.lab import Lesson
from tests.cli.checking.cells import cell, result, save, stream
from tests.cli.site_pages import build_pages


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    path = tmp_path / "my lesson.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("import nbtf")]), path)
    return path


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that was given to JupyterLite, which does nothing here; pip brings one wheel."""
    kept = tmp_path / "lite"

    def build(folder: Path, output: Path) -> None:
        folder.rename(kept)
        folder.mkdir()
        build_pages(output, pyodide="./static/pyodide/pyodide.mjs")

    monkeypatch.setattr(command_error.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(site, "has_digits", lambda: False)
    monkeypatch.setattr(site, "fetch_wheels", lambda folder: (folder / "comm-1-py3-none-any.whl").touch())
    monkeypatch.setattr(site, "own_wheel", lambda folder: (folder / "nbtf-1-py3-none-any.whl").touch())
    monkeypatch.setattr(site, "build", build)
    return kept


def settings(folder: Path) -> Any:
    config = json.loads((folder / "jupyter-lite.json").read_text())
    return config["jupyter-config-data"]["litePluginSettings"][site.SETTINGS]


def test_lessons_and_wheels_are_where_jupyterlite_looks(built: Path, lesson: Path, tmp_path: Path) -> None:
    assert 0 == cli.main(["site", "-o", str(tmp_path / "out"), str(lesson)])

    assert ["my lesson.ipynb"] == [path.name for path in (built / "contents").iterdir()]
    assert 2 == len(list((built / "wheels").iterdir()))
    assert {"disablePyPIFallback": False} == settings(built)


def test_stored_outputs_are_one_text_as_a_page_shows_them(tmp_path: Path) -> None:
    table = "a  b\n1  2\n3  4"
    original = save(tmp_path / "a.ipynb", cell("1", result(table), stream("x\ny\n")))

    site.copy_notebooks([Lesson(original, "a.ipynb")], tmp_path / "contents")

    copied = json.loads((tmp_path / "contents" / "a.ipynb").read_text(encoding="utf-8"))
    first, second = copied["cells"][0]["outputs"]
    assert (first["data"]["text/plain"], second["text"]) == (table, "x\ny\n")


def test_root_leads_to_the_first_lesson(built: Path, lesson: Path, tmp_path: Path) -> None:
    cli.main(["site", "-o", str(tmp_path / "out"), str(lesson)])

    assert "url=lab/index.html?path=my%20lesson.ipynb" in (tmp_path / "out" / "index.html").read_text()


def test_all_languages_of_the_course_are_in_it(built: Path, lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "lessons", lambda: [Lesson(lesson, "00.ipynb"), Lesson(lesson, "ja/00.ipynb")])
    cli.main(["site", "-o", str(built.parent / "out")])

    assert (built / "contents" / "ja" / "00.ipynb").is_file()


def test_with_pyodide_brought_along_no_package_index_is_asked(
    built: Path, lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site, "copy_pyodide", lambda folder, place: ["numpy"])
    cli.main(["site", "-o", str(tmp_path / "out"), "--pyodide", str(tmp_path), "--", str(lesson)])

    assert {"disablePyPIFallback": True} == settings(built)
    assert "no other host is contacted" in capsys.readouterr().out


def test_each_step_is_said_before_it_is_done(
    built: Path, lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(site, "fetch_wheels", lambda folder: said.append(capsys.readouterr().out))

    cli.main(["site", "-o", str(tmp_path / "out"), str(lesson)])

    said.append(capsys.readouterr().out)
    assert "Copying 1 notebook ...\npip fetches what a page's Python needs ...\n" == said[0]
    assert ["Packing nbtf itself ...", "JupyterLite builds the pages; this takes about half a minute ..."] == (
        said[1].splitlines()[:2]
    )


def test_missing_digits_are_said(built: Path, lesson: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["site", "-o", str(built.parent / "out"), str(lesson)])

    assert "it needs scikit-learn, which is not installed" in capsys.readouterr().out


def test_folder_that_is_not_empty_is_refused(
    built: Path, lesson: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["site", "-o", str(tmp_path), str(lesson)])
    assert "already exists and is not empty" in capsys.readouterr().err


def test_two_notebooks_of_one_name_are_refused(built: Path, lesson: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"two notebooks are called a\.ipynb"):
        site.prepare(tmp_path / "new", [Lesson(lesson, "a.ipynb"), Lesson(lesson, "a.ipynb")], offline=False)


def test_missing_jupyterlite_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_error.importlib.util, "find_spec", lambda name: None if "lite" in name else object())

    assert 2 == cli.main(["site", "-o", str(tmp_path / "out")])
    assert pip_install("site") in capsys.readouterr().err


def test_what_a_program_said_is_told_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "PURE", ("--no-index", "no-such-package-at-all"))

    with pytest.raises(CommandError, match=r"pip could not get the wheels:\n[^$]*no-such-package-at-all"):
        site.fetch_wheels(tmp_path)
