"""Does a notebook that has only the pictures of its views show them, whether JupyterLab trusts it or not?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.lab import PYTHON, Lab, code_cell, notebook
from tests.browser.lab_server import LabServer
from tests.browser.saved import Saved

SVG = "image/svg+xml"
IMAGE = "document.querySelector('.jp-OutputArea-output img')"


def memory_output(saved: Saved) -> dict[str, Any]:
    """The output of the memory view of a notebook that ran, as its file has it."""
    outputs = [output for cell in saved.cells for output in cell.get("outputs", [])]
    return next(output for output in outputs if "Memory in use" in "".join(output.get("data", {}).get(SVG, ())))


def recorded(output: dict[str, Any]) -> dict[str, Any]:
    """The output as `nbtf notebooks record` leaves it."""
    return output | {"data": {mime: output["data"][mime] for mime in (SVG, "text/plain")}}


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_saved_notebook_shows_the_picture(
    new_lab: Callable[..., Lab], server: LabServer, saved: Saved, trusted: bool
) -> None:
    lab, output = new_lab(), memory_output(saved)
    file = server.notebooks / f"{lab.name}.ipynb"
    cells = [code_cell("view", [recorded(output) if trusted else output])]
    file.write_text(json.dumps(notebook(cells, PYTHON)), encoding="utf-8")
    if trusted:
        server.trust(file)

    lab.page.goto(server.page(file.name, lab.name))
    lab.wait(f"{IMAGE}?.complete && {IMAGE}.naturalWidth > 0")

    assert 690 == lab.page.evaluate(f"{IMAGE}.naturalWidth")
