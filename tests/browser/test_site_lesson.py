"""Does a lesson run in the browser's Python by key presses, and print what it printed when it was recorded?

`NBTF_SITE_PYODIDE` is a site built by `nbtf site --pyodide FOLDER`, which contains the browser's Python. Such a folder
needs NumPy's wheel for Pyodide, which no package index has; without one, the test is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.browser.test_site import site_server

LESSON = os.environ.get("NBTF_SITE_LESSON", "08_several_gpus_by_hand.ipynb")

TEXTS = """cell => [...cell.querySelectorAll('.jp-OutputArea-output pre')].map(each => each.textContent.trimEnd())"""


@pytest.fixture
def site() -> Path:
    """The folder of a site with Pyodide."""
    folder = os.environ.get("NBTF_SITE_PYODIDE", "")
    if not folder:
        pytest.skip("needs NBTF_SITE_PYODIDE: the folder of a site that `nbtf site --pyodide` has built")
    return Path(folder)


def printed(cell: dict[str, Any]) -> list[str]:
    """The texts that a cell printed or displayed when it was recorded, in order; not those of pictures and tables."""
    outputs = [
        output for output in cell["outputs"] if {"text/html", "image/svg+xml"}.isdisjoint(output.get("data", {}))
    ]
    texts = [output.get("text") or output.get("data", {}).get("text/plain") or "" for output in outputs]
    return ["".join(text).rstrip() for text in texts if text]


def test_a_lesson_runs_by_key_presses_without_another_host(site: Path, open_page: Callable[..., Any]) -> None:
    cells = json.loads((site / "files" / LESSON).read_text(encoding="utf-8"))["cells"]
    asked: set[str] = set()
    with site_server(site.parent) as address:
        page = open_page()
        page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
        page.goto(f"{address}/{site.name}/lab/index.html?path={quote(LESSON)}")
        page.locator(".jp-CodeCell .cm-content").first.wait_for()
        page.get_by_role("menuitem", name="Edit", exact=True).click()
        page.get_by_role("menuitem", name="Clear Outputs of All Cells").click()
        page.locator(".jp-Notebook-cell").first.click()
        page.keyboard.press("Escape")

        wrong: list[tuple[int, list[str], list[str]]] = []
        run = 0
        for number, cell in enumerate(cells):
            page.keyboard.press("Shift+Enter")
            if cell["cell_type"] != "code":
                continue
            run += 1
            shown = page.locator(f".jp-Notebook-cell[data-windowed-list-index='{number}']")
            shown.locator(".jp-InputArea-prompt", has_text=f"[{run}]").wait_for(timeout=300_000)
            texts = shown.evaluate(TEXTS)
            if texts != printed(cell):
                wrong.append((number, printed(cell), texts))
        page.close()

    assert [] == wrong
    assert run
    assert asked <= {urlsplit(address).netloc, ""}  # data: has no host
