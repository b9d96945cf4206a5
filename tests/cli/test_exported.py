"""Do programs that show notebooks without running them show the views? By what nbconvert writes without a network."""

from __future__ import annotations

import base64
import re
import warnings
from typing import Any
from xml.etree import ElementTree

import pytest

from nbtf import cli

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
exporters = pytest.importorskip("nbconvert.exporters", reason='needs the extra "lab"')
pytest.importorskip("anywidget", reason='needs the extra "lab"')

CELLS = (
    "import nbtf as tf\n_ = tf.runtime.simulate_gpus(2, memory='64MiB')\n%load_ext nbtf",
    "%devices --live",
    "%gpu_memory --live",
    "with tf.device('GPU:1'), tf.runtime.recording() as record:\n    a = tf.ones([512, 9]) @ tf.ones([9, 512])\nrecord",
    "tf.runtime.explain_placement(a)",
)
SVG = "http://www.w3.org/2000/svg"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook with every view, as `nbtf notebooks record` leaves it."""
    path = tmp_path_factory.mktemp("recorded") / "views.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS]), path)
    assert 0 == cli.main(["notebooks", "record", str(path)])
    return nbformat.read(path, as_version=4)


def converted(notebook: Any, **options: Any) -> str:
    """The page that nbconvert makes of a notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        return exporters.HTMLExporter(**options).from_notebook_node(notebook)[0]


def test_page_of_nbconvert_shows_every_view(recorded: Any) -> None:
    page = converted(recorded)

    images = [base64.b64decode(data) for data in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)]
    stills = [ElementTree.fromstring(image) for image in images if b"nbtf-still" in image]
    titles = [still.get("aria-label", "") for still in stills]
    assert len(CELLS) - 1 == len(list(filter(None, titles)))
    assert ["Device map", "Memory in use"] == [titles[0][:10], titles[1][:13]]
    assert "widget-view+json" not in page.partition("<body")[2]


def test_stored_pictures_are_whole_without_their_style(recorded: Any) -> None:
    """A page that shows strangers' notebooks leaves out scripts and styles, as GitHub does."""
    pictures = [cell.outputs[0].data["image/svg+xml"] for cell in recorded.cells[1:]]

    for picture in pictures:
        root = ElementTree.fromstring(re.sub(r"<style>.*?</style>", "", picture, flags=re.DOTALL))
        painted = [mark for name in ("rect", "path", "line", "text") for mark in root.iter(f"{{{SVG}}}{name}")]
        assert len(painted) > 5
        groups = [group for group in root.iter(f"{{{SVG}}}g") if "fill" in group.attrib]
        coloured = {mark for group in groups for mark in group.iter()}
        assert [] == [mark.attrib for mark in painted if "fill" not in mark.attrib and mark not in coloured]
        assert [] == re.findall(r"<script|\bon\w+=|href|@import|url\((?!#)", picture)


def test_recorded_notebook_is_small_and_can_be_compared(recorded: Any) -> None:
    pictures = [cell.outputs[0].data["image/svg+xml"] for cell in recorded.cells[1:]]

    assert [] == [len(picture) for picture in pictures if len(picture) > 30_000]
    assert [] == [line for picture in pictures for line in picture.split("\n") if len(line) > 4_000]
    assert "widgets" not in recorded.metadata
