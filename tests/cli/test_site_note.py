"""Do all pages of a site have the program of the note, with the address from which they load Pyodide?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtf.cli import site
from nbtf.cli.command_error import CommandError
from nbtf.cli.site_note import APPS, PROGRAM, TEXTS, add_note
from nbtf.notebook import catalogue
from tests.cli.site_pages import build_pages

CDN = "https://cdn.example/pyodide/v1/full/pyodide.mjs"


def note_in(output: Path) -> Any:
    first_line = (output / PROGRAM).read_text(encoding="utf-8").splitlines()[0]
    return json.loads(first_line.removeprefix("const NOTE = ").removesuffix(";"))


@pytest.mark.parametrize(
    ("settings", "expected"), [(None, CDN), ("./static/pyodide/pyodide.mjs",) * 2], ids=["kernel's own", "settings"]
)
def test_pages_ask_for_the_address_that_the_kernel_uses(tmp_path: Path, settings: str | None, expected: str) -> None:
    build_pages(tmp_path, settings, kernel=f'let a="{CDN}";')

    add_note(tmp_path, site.SETTINGS)

    assert expected == note_in(tmp_path)["address"]
    for app in APPS:
        page = (tmp_path / app / "index.html").read_text(encoding="utf-8")
        assert page == f'<body><main></main><script src="../{PROGRAM}"></script></body>'


def test_a_kernel_without_an_address_is_an_error(tmp_path: Path) -> None:
    build_pages(tmp_path)

    with pytest.raises(CommandError, match="does not name the address of Pyodide"):
        add_note(tmp_path, site.SETTINGS)


def test_the_note_speaks_the_languages_of_the_lessons() -> None:
    assert {catalogue.ENGLISH, *catalogue.LANGUAGES} == set(TEXTS)
