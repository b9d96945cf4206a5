"""Do the images of a notebook come along with its copies, and nothing else?"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from nbtf.cli.images import copy_images, images_of


def notebook(*texts: str) -> Any:
    return {"cells": [{"cell_type": "markdown", "source": text} for text in texts]}


@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "../secret.svg",
        "a/../../secret.svg",
        "%2e%2e/secret.svg",
        "https://e.org/a.svg",
        "attachment:a.svg",
    ],
)
def test_an_image_elsewhere_stays_there(target: str) -> None:
    assert images_of(notebook(f"![a]({target})")) == []


def test_each_image_is_named_once_and_code_shows_none() -> None:
    shown = notebook("# Title\n\n![a](a%20b.svg)", "![a](a%20b.svg) and ![b](deep/b.png)")
    shown["cells"].append({"cell_type": "code", "source": "'![c](c.svg)'"})

    assert images_of(shown) == ["a b.svg", "deep/b.png"]


def test_copies_lie_as_the_originals_do_and_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "from" / "deep" / "a.svg").write_text("new")
    (tmp_path / "from" / "b.svg").write_text("new")
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "b.svg").write_text("mine")

    copy_images(notebook("![a](deep/a.svg) ![b](b.svg) ![c](missing.svg)"), tmp_path / "from", tmp_path / "to")

    copies = {path.name: path.read_text() for path in (tmp_path / "to").rglob("*.svg")}
    assert copies == {"a.svg": "new", "b.svg": "mine"}


def test_a_page_gets_the_same_drawing_in_plain_letters(tmp_path: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><text>100 × コピー</text></svg>'
    (tmp_path / "a.svg").write_text(svg, encoding="utf-8")

    copy_images(notebook("![a](a.svg)"), tmp_path, tmp_path / "page", for_page=True)

    copy = (tmp_path / "page" / "a.svg").read_bytes()
    assert copy.isascii()
    assert [*ET.fromstring(copy).itertext()] == [*ET.fromstring(svg).itertext()]
