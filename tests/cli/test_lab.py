"""Are the tutorials copied once, an edited copy kept, and the right notebook opened, in the right language?"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

import pytest

from nbtf import cli
from nbtf._install import pip_install
from nbtf.cli import lab
from nbtf.cli.command_error import CommandError


@pytest.fixture
def originals(tmp_path: Path) -> list[lab.Lesson]:
    folder = tmp_path / "originals"
    found: list[lab.Lesson] = []
    for place in ("01_first.ipynb", "02_second.ipynb", "ja/01_first.ipynb", "zh_CN/01_first.ipynb"):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": [], "metadata": {"place": place}, "nbformat": 4, "nbformat_minor": 5}))
        found.append(lab.Lesson(path, place))
    return found


@pytest.fixture
def started(originals: list[lab.Lesson], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that `nbtf lab` started instead of JupyterLab."""
    commands: list[list[str]] = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())  # JupyterLab counts as installed
    monkeypatch.setattr(lab, "lessons", lambda: originals)
    monkeypatch.setattr(lab, "start", lambda command: commands.append(command) or 0)
    monkeypatch.setenv(lab.VARIABLE, "")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return commands


def test_tutorials_are_copied_into_a_new_folder(originals: list[lab.Lesson], tmp_path: Path) -> None:
    copies = lab.copy_tutorials(originals, tmp_path / "a" / "b")

    assert ["new"] * 4 == [copy.state for copy in copies]
    assert '"ja/01_first.ipynb"' in (tmp_path / "a" / "b" / "ja" / "01_first.ipynb").read_text()


def test_second_copy_changes_nothing(originals: list[lab.Lesson], tmp_path: Path) -> None:
    lab.copy_tutorials(originals, tmp_path / "mine")

    assert ["same"] * 4 == [copy.state for copy in lab.copy_tutorials(originals, tmp_path / "mine")]


def test_edited_copy_is_kept_and_told(originals: list[lab.Lesson], tmp_path: Path) -> None:
    edited = tmp_path / "mine" / "ja" / "01_first.ipynb"
    lab.copy_tutorials(originals, tmp_path / "mine")
    edited.write_text("my work")
    copies = lab.copy_tutorials(originals, tmp_path / "mine")

    assert "my work" == edited.read_text()
    assert "Kept with your changes: ja/01_first.ipynb." in lab.describe_copies(
        copies, tmp_path / "mine", "01_first.ipynb"
    )


@pytest.mark.usefixtures("started")
def test_jupyter_trusts_copies_but_not_what_somebody_has_changed(tmp_path: Path) -> None:
    nbformat, sign = pytest.importorskip("nbformat"), pytest.importorskip("nbformat.sign")
    mine = tmp_path / "mine"
    cli.main(["lab", "--dir", str(mine)])
    edited = json.loads((mine / "01_first.ipynb").read_text()) | {"cells": [nbformat.v4.new_code_cell("1 + 1")]}
    (mine / "01_first.ipynb").write_text(json.dumps(edited))

    cli.main(["lab", "--dir", str(mine)])

    notary = sign.NotebookNotary()
    trusted = {
        name: notary.check_signature(nbformat.read(mine / name, 4)) for name in ("01_first.ipynb", "02_second.ipynb")
    }
    notary.store.close()
    assert {"01_first.ipynb": False, "02_second.ipynb": True} == trusted


def test_copy_begins_with_the_lesson_and_not_with_an_installation(tmp_path: Path) -> None:
    lesson = next(lesson for lesson in lab.lessons() if lesson.relative_path == "00_start_here.ipynb")
    cells = json.loads(lesson.original.read_text(encoding="utf-8"))["cells"]

    lab.copy_tutorials([lesson], tmp_path)
    copied = json.loads((tmp_path / lesson.relative_path).read_text(encoding="utf-8"))["cells"]

    assert cells[1:] == copied
    assert ["import nbtf as tf", "%devices --live", "import time"] == [
        cell["source"][0].strip() for cell in copied if cell["cell_type"] == "code"
    ][:3]


def test_no_copy_installs_what_is_here(tmp_path: Path) -> None:
    lessons = lab.lessons()

    lab.copy_tutorials(lessons, tmp_path)

    copies = {lesson.relative_path: (tmp_path / lesson.relative_path).read_text(encoding="utf-8") for lesson in lessons}
    assert [place for place, text in copies.items() if "%pip install -q" in text] == []


def test_no_copy_shows_an_answer_before_its_cell_is_run(tmp_path: Path) -> None:
    lab.copy_tutorials(lab.lessons(), tmp_path)

    for path in sorted(tmp_path.rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        asked = [index for index, cell in enumerate(cells) if "choice" in cell["metadata"].get("nbtf", {})]
        assert [cells[index + 1]["outputs"] for index in asked] == [[]] * len(asked)
        assert not any(cell["metadata"].get("jupyter", {}).get("outputs_hidden") for cell in cells)


def test_drawings_come_along(tmp_path: Path) -> None:
    lab.copy_tutorials(lab.lessons(), tmp_path)

    for folder in (tmp_path, tmp_path / "ja", tmp_path / "zh_CN"):
        lessons = sorted(path.stem for path in folder.glob("*.ipynb"))
        assert lessons == sorted(path.stem for path in (folder / "drawings").glob("*.svg"))


def test_folder_that_cannot_be_made_is_refused(
    originals: list[lab.Lesson], started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["lab", "--dir", str(originals[0].original / "below a file")])

    assert (2, []) == (status, started)
    assert "Choose another --dir." in capsys.readouterr().err


def test_the_course_opens_at_its_door() -> None:
    assert "00_start_here.ipynb" == lab.lessons()[0].relative_path


@pytest.mark.parametrize(
    ("asked", "usual", "language"),
    [
        (None, "", ""),
        (None, "ja", "ja"),
        (None, "fr", ""),
        ("ja", "zh_CN", "ja"),
        ("zh-CN", "", "zh_CN"),
        ("zh", "", "zh_CN"),
        (None, "zh_CN.UTF-8", "zh_CN"),
        (None, "zh_TW", ""),
        ("ja-JP", "", "ja"),
        ("en_GB", "ja", ""),
        ("en", "ja", ""),
    ],
)
def test_language_is_the_one_asked_for_or_the_usual_one(
    asked: str | None, usual: str, language: str, originals: list[lab.Lesson]
) -> None:
    assert language == lab.choose_language(originals, asked, usual)


def test_language_that_nobody_translated_into_is_refused(originals: list[lab.Lesson]) -> None:
    with pytest.raises(CommandError, match=r"no tutorials in 'fr'. Available languages: en, ja, zh_CN"):
        lab.choose_language(originals, "fr", "")


def test_asked_language_is_opened_and_is_that_of_the_views(started: list[list[str]], tmp_path: Path) -> None:
    cli.main(["lab", "--language", "ja", "--dir", str(tmp_path / "mine")])

    assert "--LabApp.default_url=/doc/tree/ja/01_first.ipynb" in started[0]
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in started[0]
    assert "ja" == os.environ[lab.VARIABLE]


def test_usual_language_is_opened(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(lab.VARIABLE, "zh_CN")
    cli.main(["lab", "--dir", str(tmp_path / "mine")])

    assert "Opening zh_CN/01_first.ipynb in JupyterLab" in capsys.readouterr().out


def test_lab_says_what_it_opens_and_that_gpus_are_simulated(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["lab", "--dir", str(tmp_path / "mine")])
    said = capsys.readouterr().out

    assert 0 == status
    assert "Opening 01_first.ipynb" in said
    assert "simulated" in said
    assert [sys.executable, "-m", "jupyterlab"] == started[0][:3]


def test_jupyterlab_starts_in_the_folder_and_on_the_first_tutorial(started: list[list[str]], tmp_path: Path) -> None:
    cli.main(["lab", "--dir", str(tmp_path / "mine")])

    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in started[0]
    assert "--LabApp.default_url=/doc/tree/01_first.ipynb" in started[0]


def test_default_folder_is_below_the_current_one(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.main(["lab"])

    assert (tmp_path / "nbtf-tutorials" / "01_first.ipynb").exists()


def test_options_reach_jupyterlab(started: list[list[str]], tmp_path: Path) -> None:
    cli.main(["lab", "--no-browser", "--dir", str(tmp_path / "mine"), "--", "--port=9000"])

    assert "--no-browser" in started[0]
    assert "--port=9000" == started[0][-1]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no root user")
@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_root_is_let_in(user: int, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)

    assert allowed == ("--allow-root" in lab.jupyter_command(Path(), "a.ipynb", no_browser=True, options=[]))


def test_missing_jupyterlab_is_named_before_anything_is_copied(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    status = cli.main(["lab", "--dir", str(tmp_path / "mine")])

    assert (2, [], False) == (status, started, (tmp_path / "mine").exists())
    assert pip_install("lab") in capsys.readouterr().err


def test_copies_have_what_the_kernel_would_add_when_it_starts(tmp_path: Path) -> None:
    language = {"name": "python", "file_extension": ".py"}
    original = tmp_path / "a.ipynb"
    original.write_text(json.dumps({"cells": [], "metadata": {"language_info": language}}), encoding="utf-8")
    lab.copy_tutorials([lab.Lesson(original, "a.ipynb")], tmp_path / "mine")

    metadata = json.loads((tmp_path / "mine" / "a.ipynb").read_text())["metadata"]
    assert {**language, "version": platform.python_version()} == metadata["language_info"]


def test_defaults_of_jupyterlab_are_in_the_package() -> None:
    [defaults] = lab._CONFIG.glob("labconfig/*.json")

    assert json.loads(defaults.read_text())["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
