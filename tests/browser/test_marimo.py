"""Are recordings and views shown in marimo, which has no kernel of Jupyter and puts widgets in shadow roots?

`NBTF_MARIMO` is a Python that has marimo and nbtf; `.ci/nightly front_ends` makes one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

THEMES = ("light", "dark")

NOTEBOOK = """\
# /// script
# [tool.marimo.display]
# theme = "{theme}"
# ///
import marimo
app = marimo.App()

@app.cell
def _():
    import nbtf as tf
    tf.runtime.simulate_gpus(2)
    tf.notebook.placement_log("clear")
    with tf.runtime.recording() as record:
        with tf.device("GPU:1"):
            c = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
    return c, record, tf

@app.cell
def _(record):
    record
    return

@app.cell
def _(record, tf):
    tf.notebook.RecordingView(record)
    return

@app.cell
def _(record, tf):
    tf.notebook.DeviceMap()
    return

@app.cell
def _(c, tf):
    tf.runtime.explain_placement(c)
    return

@app.cell
def _(record, tf):
    tf.notebook.devices()
    return

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(params=THEMES)
def page(request: pytest.FixtureRequest, open_page: Callable[..., Any], tmp_path: Path) -> Iterator[Any]:
    """A page with the notebook, in a theme."""
    python = os.environ.get("NBTF_MARIMO", "")
    if not python:
        pytest.skip("needs NBTF_MARIMO: a Python with marimo")
    (tmp_path / "notebook.py").write_text(NOTEBOOK.format(theme=request.param), encoding="utf-8")
    command = [python, "-m", "marimo", "run", "notebook.py", "--headless", "--no-token", "--host", "127.0.0.1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\w.]+:\d+", line)))
            page = open_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(address.replace("localhost", "127.0.0.1"))
            yield page
            page.close()
            assert [] == errors
        finally:
            server.terminate()


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="marimo's server is ended by a signal")
def test_marimo_shows_what_displays_itself_in_the_theme_of_its_page(page: Any, request: pytest.FixtureRequest) -> None:
    theme = request.node.callspec.params["page"]
    recording, device_map = page.locator(".nbtf-recording"), page.locator(".nbtf-map.nbtf-view")
    for view in (recording, device_map):
        view.first.wait_for()
        assert view.first.evaluate("view => view.getRootNode() instanceof ShadowRoot")
        view.first.and_(page.locator(f"[data-theme={theme}]")).wait_for()
    page.locator("img[alt^='Where the time went']").first.wait_for()
    page.locator("img[alt^='GPU:1']").first.wait_for()
    page.get_by_role("cell", name="GPU:1").first.wait_for()

    assert "MatMul" in device_map.first.inner_text()
    assert "not live" in device_map.locator(".nbtf-badge").inner_text()
    assert "load_ext" not in page.locator("body").inner_text()


@pytest.mark.nightly
def test_keys_and_styles_work_inside_a_shadow_root(page: Any) -> None:
    tabs = page.locator(".nbtf-recording [role=tab]")
    tabs.first.click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    page.locator(".nbtf-recording [role=tab][aria-selected=true]:text-is('Memory')").wait_for()
    assert "flex" in page.locator(".nbtf-recording [role=tablist]").evaluate("list => getComputedStyle(list).display")
