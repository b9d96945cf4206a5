"""Are the lessons' files small and suited to diffs? They store pictures of views, but no programs of views."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbtf.cli.recording import LARGEST
from tests.course.scenarios import NOTEBOOKS

FILES = sorted(NOTEBOOKS.rglob("*.ipynb"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(NOTEBOOKS).as_posix())

LARGEST_PICTURE, LONGEST_LINE = 80_000, 2_000
"""Bytes of a picture in its wide and narrow forms, and characters of its longest line, which is a curve."""


@each_file
def test_file_is_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@each_file
def test_file_has_pictures_of_views_and_no_program(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    pictures = [data["image/svg+xml"] for data in outputs if "image/svg+xml" in data]

    assert "widgets" not in notebook["metadata"]
    assert [] == [data for data in outputs if "application/vnd.jupyter.widget-view+json" in data]
    assert [] == [len("".join(picture)) for picture in pictures if len("".join(picture)) > LARGEST_PICTURE]
    assert [] == [len(line) for picture in pictures for line in picture if len(line) > LONGEST_LINE]
