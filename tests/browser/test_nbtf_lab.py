"""Does `nbtf lab` open lessons that are worth watching, and do key presses produce their recorded outputs?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf.cli.execution import CellError, CellRun
from nbtf.cli.needs import missing_modules
from nbtf.cli.notebook_file import read
from nbtf.cli.streams import joined_streams
from tests.browser.lab import NOTEBOOK
from tests.browser.lab_server import LabServer, environment, free_port, wait_until_it_answers
from tests.course.served import differences_of_runs, lessons
from tests.rings import with_nightly

LESSONS = [lesson.relative_path for lesson in lessons("")]
SHARE = "04_the_device_is_not_there.ipynb"
IS_IDLE = f"""() => {{
    const {{ content, sessionContext }} = {NOTEBOOK};
    return sessionContext.session?.kernel?.status == 'idle' && content.widgets.every(each => each.prompt != '*');
}}"""
"""Whether no cell waits or runs."""


@pytest.fixture
def address(browser: str, tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab that `nbtf lab` has started; no settings were made before."""
    port, token = free_port(), "newcomer"
    command = [sys.executable, "-m", "nbtf", "lab", "--dir", str(tmp_path / "lessons"), "--no-browser", "--"]
    command += [f"--ServerApp.port={port}", f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True"]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment(tmp_path), cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT
        )
    server = LabServer(tmp_path, f"http://127.0.0.1:{port}", token, process)
    try:
        wait_until_it_answers(server)
        yield f"{server.address}/?token={token}"
    finally:
        server.stop()


def test_the_first_lesson_opens_saved_and_is_worth_watching(address: str, open_page: Callable[..., Any]) -> None:
    page = open_page({"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_function(f"() => {NOTEBOOK}?.context?.isReady")
    page.wait_for_function(f"() => {NOTEBOOK}.sessionContext.session?.kernel?.status == 'idle'")

    assert "00_start_here.ipynb" == page.evaluate(f"{NOTEBOOK}.context.path")
    assert page.evaluate("jupyterapp.shell.leftCollapsed")
    assert not page.evaluate(f"{NOTEBOOK}.context.model.dirty")

    page.locator(".jp-Notebook .jp-CodeCell").first.click()
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    shares = "[...document.querySelectorAll('.nbtf-row-share')].map(each => parseFloat(each.textContent))"
    page.wait_for_function(
        f"() => {{ const shares = {shares}; return shares.length == 4 && shares.every(n => n > 25); }}"
    )
    page.wait_for_function(f"() => {NOTEBOOK}.sessionContext.session.kernel.status == 'idle'")
    page.wait_for_function("() => document.querySelector('.nbtf-surprise')?.textContent.includes('GPU:7')")
    assert 0 == page.locator(".Toastify__toast, .jp-Dialog").count()
    page.close()


@pytest.mark.parametrize("name", with_nightly([SHARE], [each for each in LESSONS if each != SHARE]))
def test_key_presses_produce_the_recorded_outputs(name: str, address: str, open_page: Callable[..., Any]) -> None:
    stored = read(next(each.original for each in lessons("") if each.relative_path == name))
    missing = missing_modules(stored.metadata)
    if missing:
        pytest.skip(f"{name} needs {', '.join(missing)}")
    page = open_page({"width": 1440, "height": 900})
    page.goto(address.replace("/?", f"/lab/tree/{name}?"))
    page.wait_for_function(f"() => {NOTEBOOK}?.context?.isReady && {NOTEBOOK}.context.path == {name!r}")
    page.wait_for_function(f"() => {NOTEBOOK}.sessionContext.session?.kernel?.status == 'idle'")

    page.locator(".jp-Notebook .jp-Cell").first.click()
    last_cell = page.evaluate(
        f"{NOTEBOOK}.context.model.toJSON().cells.findLastIndex(each => each.cell_type == 'code')"
    )
    for index in range(last_cell + 1):
        assert index == page.evaluate(f"{NOTEBOOK}.content.activeCellIndex")
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(IS_IDLE, timeout=120_000)
    runs = _runs(page.evaluate(f"{NOTEBOOK}.context.model.toJSON().cells"))
    page.close()

    assert len(runs) > 1
    assert [] == differences_of_runs(stored, runs)


def _runs(cells: list[dict[str, Any]]) -> dict[str, CellRun]:
    """Returns the code cells that can run here as the checker describes runs, by cell name."""
    code = [(index, cell) for index, cell in enumerate(cells) if cell["cell_type"] == "code" and cell["source"].strip()]
    return {
        cell["id"]: CellRun(
            number, index, cell["source"], joined_streams(cell["outputs"]), error=_error(cell["outputs"])
        )
        for number, (index, cell) in enumerate(code, 1)
        if not missing_modules(cell["metadata"])
    }


def _error(outputs: list[dict[str, Any]]) -> CellError | None:
    errors = [each for each in outputs if each["output_type"] == "error"]
    return CellError(errors[0]["ename"], errors[0]["evalue"]) if errors else None
