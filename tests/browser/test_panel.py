"""Are recordings and views shown in Panel, which has no notebook?

`NBTF_PANEL` is a Python that has Panel and nbtf; `.ci/nightly front_ends` makes one. Panel's pages load anywidget's
program from another host; here the program of the installed package answers.
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

APP = """\
import panel as pn
import nbtf as tf

pn.extension("ipywidgets")
tf.runtime.simulate_gpus(2)
tf.notebook.placement_log("clear")
with tf.runtime.recording() as record:
    with tf.device("GPU:1"):
        c = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
views = tf.notebook.RecordingView(record), tf.notebook.DeviceMap()
pn.Column(*map(pn.panel, (*views, record, tf.runtime.explain_placement(c), tf.notebook.devices()))).servable()
"""

WIDGETS = re.compile(r"https://[^/]+/(?:npm/)?anywidget@[^/]+/dist/index(?:\.js)?$")


@pytest.fixture
def page(open_page: Callable[..., Any], tmp_path: Path) -> Iterator[Any]:
    """A page with the app."""
    python = os.environ.get("NBTF_PANEL", "")
    if not python:
        pytest.skip("needs NBTF_PANEL: a Python with Panel")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    command = [python, "-m", "panel", "serve", "app.py", "--port", "0", "--address", "127.0.0.1"]
    command.append("--allow-websocket-origin=*")  # the port is not known before
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = next(found[1] for line in server.stdout if (found := re.search(r"http://[\w.]+:(\d+)/app", line)))
            page = open_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.route(WIDGETS, lambda route: route.fulfill(body=_anywidget(python), content_type="text/javascript"))
            page.goto(f"http://127.0.0.1:{port}/app")
            yield page
            page.close()
            assert [] == errors
        finally:
            server.kill()  # Panel does not end at SIGTERM while a page is connected


def _anywidget(python: str) -> str:
    """Returns the program of the installed anywidget, as a page loads it."""
    code = "import anywidget, pathlib; print(pathlib.Path(anywidget.__file__).with_name('nbextension') / 'index.js')"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()).read_text(encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="Panel's server is ended by a signal")
def test_panel_shows_what_displays_itself(page: Any) -> None:
    recording, device_map = page.locator(".nbtf-recording"), page.locator(".nbtf-map.nbtf-view")
    for view in (recording, device_map):
        view.first.wait_for()
    pictures = page.locator("img[src^='data:image/svg+xml']")  # the recording and the explanation
    for picture in (pictures.first, pictures.nth(1)):
        picture.wait_for()
        assert picture.evaluate("image => image.naturalWidth") > 100
    page.get_by_role("cell", name="GPU:1").first.wait_for()

    assert "MatMul" in device_map.first.inner_text()
    assert "not live" in device_map.locator(".nbtf-badge").inner_text()
    assert "running now" not in device_map.first.inner_text()
    code = recording.locator("text").get_by_text("app.py, line").last
    assert "monospace" in code.evaluate("text => getComputedStyle(text).fontFamily")
    assert "load_ext" not in page.locator("body").inner_text()
