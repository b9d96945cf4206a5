"""Are the tutorials fit to be kept: run from top to bottom, small, and without a trace of one computer?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted(Path(__file__).parent.parent.glob("notebooks/*.ipynb"))
LARGEST = 220_000
"""Bytes; what is larger is slow to open and to compare."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[Any]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_there_are_some() -> None:
    assert NOTEBOOKS


@each_notebook
def test_every_cell_was_run_in_order(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path)]

    assert counts == list(range(1, len(counts) + 1))


@each_notebook
def test_it_names_its_kernel(path: Path) -> None:
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]

    assert metadata["kernelspec"]["name"] == "python3"


@each_notebook
def test_it_is_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@each_notebook
def test_no_output_has_a_path_of_one_computer(path: Path) -> None:
    shown = json.dumps([cell["outputs"] for cell in cells(path)])

    assert re.findall(r"(?:/home/|/tmp/|/Users/|/root/|ipykernel_|site-packages|\w:\\\\Users)[^\"\\ ]*", shown) == []
    assert re.findall(r"File \S*/nbtf/\S+", shown) == []


@each_notebook
def test_only_marked_cells_end_in_an_error(path: Path) -> None:
    failed = [cell for cell in cells(path) if any(output["output_type"] == "error" for output in cell["outputs"])]

    assert [cell for cell in failed if "raises-exception" not in cell["metadata"].get("tags", [])] == []


@each_notebook
def test_a_cell_that_needs_a_library_lists_it_in_its_metadata(path: Path) -> None:
    firsts = [("".join(cell["source"]).partition("\n")[0].split(), cell["metadata"]) for cell in cells(path)]
    needs = [
        (words[1:], metadata.get("nbtf", {}).get("needs")) for words, metadata in firsts if words[:1] == ["%%needs"]
    ]

    assert [modules for modules, _ in needs] == [listed for _, listed in needs]
