"""Does the doctor find the browser's half of the live views, and say where it cannot look?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbtf._install import pip_install
from nbtf.cli import front_end
from nbtf.cli.finding import Finding

ELSEWHERE = "the live views need anywidget where JupyterLab runs, not only in this kernel"


def put(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def findings(home: Path) -> list[Finding]:
    return list(front_end.front_end([home / "share"], [home / "etc"]))


def anywidget_is_there(home: Path) -> Path:
    folder = home / "share" / "labextensions" / "anywidget"
    put(folder / "package.json", {"name": "anywidget", "version": "0.11.0"})
    return folder


def test_lab_extensions_that_are_not_there_are_missing(tmp_path: Path) -> None:
    found = findings(tmp_path)

    assert ["missing", "missing", "note"] == [finding.state for finding in found]
    assert f"its lab extension, for the live views: {pip_install('lab')}" == found[0].text


def test_lab_extension_is_told_with_version_and_folder(tmp_path: Path) -> None:
    folder = anywidget_is_there(tmp_path)

    assert Finding("ok", "anywidget in JupyterLab", f"0.11.0 in {folder}") == findings(tmp_path)[0]


def test_lab_extension_that_is_switched_off_comes_with_the_line_that_switches_it_on(tmp_path: Path) -> None:
    anywidget_is_there(tmp_path)
    put(tmp_path / "etc" / "labconfig" / "page_config.json", {"disabledExtensions": {"anywidget": True}})

    wrong = Finding("wrong", "anywidget in JupyterLab", "switched off: jupyter labextension enable anywidget")
    assert wrong == findings(tmp_path)[0]


def test_lab_extension_that_was_switched_on_again_is_ok(tmp_path: Path) -> None:
    anywidget_is_there(tmp_path)
    put(tmp_path / "etc" / "labconfig" / "page_config.json", {"disabledExtensions": {"anywidget": False}})

    assert "ok" == findings(tmp_path)[0].state


def test_what_cannot_be_seen_from_here_is_said(tmp_path: Path) -> None:
    assert findings(tmp_path)[-1].text.startswith(ELSEWHERE)
