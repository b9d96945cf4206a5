"""What does a newcomer see after `nbtf lab`? The first lesson, saved, without a pop-up, and cards that fill."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab import NOTEBOOK
from tests.browser.lab_server import LabServer, environment, free_port, wait_until_it_answers


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
