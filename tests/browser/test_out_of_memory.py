"""Does the picture of a full card stand below the error by itself, in windows of every size?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.rings import with_nightly

SETUP = "import nbtf as tf; tf.runtime.simulate_gpus(1, memory='64MiB'); %load_ext nbtf"
CELLS = (
    SETUP.replace("; ", "\n"),
    "held = [tf.zeros([2**8, 2**12]) for _ in range(15)]\ndel held[4:12:2]",
    "big = tf.zeros([2**9, 2**12])",
)
WINDOWS = ((1920, 1080), (1440, 900), (1280, 720), (1024, 700), (640, 800))
IMAGE = "document.querySelector('.jp-OutputArea-output img')"


@pytest.mark.parametrize("theme", with_nightly(["Dark"], ["Light"]))
def test_picture_stands_below_the_error(new_lab: Callable[..., Lab], server: LabServer, theme: str) -> None:
    server.theme(theme)
    lab = new_lab(viewport={"width": 1440, "height": 900})
    lab.open(*CELLS, afresh=True)
    lab.run(0, 1, 2)
    lab.wait(f"{IMAGE}?.complete && {IMAGE}.naturalWidth > 0")

    outputs = lab.output(2).locator(".jp-OutputArea-output")
    error = outputs.nth(0).inner_text()
    assert error.index("8 MiB requested, 48 of 64 MiB in use.") < error.index("{{function_node")
    assert "creation.py" not in error
    assert outputs.nth(1).locator("img").count() == 1
    assert "would fit after: del held[3]" in (outputs.nth(1).locator("img").get_attribute("alt") or "")
    for width, height in WINDOWS:
        lab.page.set_viewport_size({"width": width, "height": height})
        lab.next_frame()
        image, cell = outputs.nth(1).locator("img").bounding_box(), outputs.nth(1).bounding_box()
        assert image is not None
        assert cell is not None
        assert image["x"] + image["width"] <= cell["x"] + cell["width"] + 1
        assert image["width"] >= min(690, cell["width"]) - 40
