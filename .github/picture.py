"""Makes the README's picture of the live view, from a real run in JupyterLab: `python .github/picture.py`.

Requires the extras `lab` and `test`, and Chromium, as the browser tests do.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import FloatRect, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import ARGUMENTS  # noqa: E402
from tests.browser.lab import Lab  # noqa: E402
from tests.browser.lab_server import start_lab  # noqa: E402
from tests.conftest import browser_or_outcome  # noqa: E402

PICTURE = Path(__file__).with_name("live_view.png")
CELLS = (
    """\
import time

import nbtf as tf

tf.runtime.simulate_gpus(4, model="Tesla K20m")
%load_ext nbtf
%devices --live""",
    """\
with tf.device("/CPU:0"):
    batches = [tf.ones([256, 784]) for _ in range(4)]
weights = tf.ones([784, 128])

for step in range(1000):
    hidden = []
    for number, batch in enumerate(batches):
        with tf.device(f"/GPU:{number}"):
            for _ in range(number + 1):
                layer = tf.nn.relu(tf.matmul(batch, weights))
            hidden.append(layer)
        time.sleep(0.1)
    with tf.device("/GPU:7"):
        total = tf.add_n(hidden)""",
)
EVENTS = 3_000
"""Number of events before the picture is taken: enough for heartbeats as long as their rows."""
WINDOW = {"width": 1280, "height": 704}


def main() -> None:
    """Runs the cells, and takes a screenshot while the last one is running."""
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        server = start_lab(Path(home))
        try:
            browser = playwright.chromium.launch(executable_path=browser_or_outcome(), args=ARGUMENTS)
            context = browser.new_context(viewport=WINDOW, device_scale_factor=2)
            lab = Lab(context.new_page(), server, "live_view")
            lab.open(*CELLS)
            lab.run(0)
            lab.start(1)
            lab.wait_for_more(".nbtf-map", than=EVENTS)
            lab.page.locator(".nbtf-row").first.click()  # what ran on GPU:0, and why
            lab.next_frame()
            picture = lab.page.screenshot(clip=clip(lab.page))
            lab.interrupt()
            browser.close()
        finally:
            server.stop()
    Image.open(BytesIO(picture)).convert("RGB").quantize(256).save(PICTURE, optimize=True)
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} B\n")


def clip(page: Page) -> FloatRect:
    """Returns the part of the page with the notebook and the panel, without menu and status bar."""
    notebook = page.locator(".jp-NotebookPanel").bounding_box()
    panel = page.locator(".nbtf-panel").bounding_box()
    assert notebook is not None
    assert panel is not None
    width, height = panel["x"] + panel["width"], notebook["y"] + notebook["height"]
    return {"x": notebook["x"], "y": panel["y"], "width": width - notebook["x"], "height": height - panel["y"]}


if __name__ == "__main__":
    main()
