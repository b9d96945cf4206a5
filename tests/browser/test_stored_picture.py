"""Does a notebook that a page saves have the picture of its last cell, and does the page go on showing its view?"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from urllib.parse import unquote

import pytest

from tests.browser.lab import NOTEBOOK, Lab
from tests.rings import with_nightly

START = "import nbtf as tf\n_ = tf.runtime.simulate_gpus(2, model='Tesla K20m')\n%load_ext nbtf\na = tf.ones([64])"
NEGATIVE = "with tf.device('GPU:1'):\n    b = tf.negative(a)"
SQUARE = "with tf.device('GPU:1'):\n    c = tf.square(a)"
SVG = "image/svg+xml"

MARK_VIEWS = """() => {
    document.querySelectorAll('.nbtf-view').forEach(view => (view.marked = true));
    window.__outputs = [];
    const watch = new MutationObserver(changes => __outputs.push(...changes.map(({target}) => target.className)));
    const area = document.querySelectorAll('.jp-Notebook .jp-Cell')[1].querySelector('.jp-OutputArea');
    watch.observe(area, {childList: true});
    for (const output of area.children) watch.observe(output, {childList: true});
}"""
"""Marks what is drawn, and takes down what of the cell that showed a view is drawn again."""
MARKED_VIEWS = "() => [...document.querySelectorAll('.nbtf-view')].map(view => Boolean(view.marked))"
SCROLLED = f"() => {NOTEBOOK}.content.node.scrollTop"


def saved_pictures(lab: Lab, index: int) -> list[str]:
    """Saves the notebook, and returns the pictures that its file has of a cell, each with its form for nbconvert."""
    lab.page.evaluate(f"() => {NOTEBOOK}.context.save()")
    file = lab.server.notebooks / f"{lab.name}.ipynb"
    outputs = json.loads(file.read_text(encoding="utf-8"))["cells"][index]["outputs"]
    pictures = ["".join(output["data"][SVG]) for output in outputs]
    images = [unescape("".join(output["data"]["text/html"])) for output in outputs]
    assert [True] * len(pictures) == [svg in unquote(image) for svg, image in zip(pictures, images, strict=True)]
    return pictures


@pytest.mark.parametrize("program", with_nightly(["server"], ["notebook_server"]))
@pytest.mark.parametrize("line", with_nightly(["%devices --live --here"], ["%gpu_memory --live", "%devices --live"]))
def test_file_has_the_picture_of_each_cell_and_nothing_is_drawn_again(
    new_lab: Callable[..., Lab], request: pytest.FixtureRequest, line: str, program: str
) -> None:
    lab = new_lab(request.getfixturevalue(program), viewport={"width": 1400, "height": 800})
    lab.open(START, line, NEGATIVE, SQUARE)
    lab.run(0, 1)
    lab.page.locator(f"{'.jp-Notebook' if 'here' in line else '.nbtf-panel'} .nbtf-view").wait_for()
    lab.page.evaluate(MARK_VIEWS)
    pictures = saved_pictures(lab, 1)
    scrolled = [lab.page.evaluate(SCROLLED)]
    for cell in (2, 3):
        lab.run(cell)
        pictures += saved_pictures(lab, 1)
        scrolled.append(lab.page.evaluate(SCROLLED))

    assert 3 == len(set(pictures))
    assert "devices" not in line or ["Neg" in pictures[1], "Square" in pictures[2]] == [True, True]
    assert ([True], []) == (lab.page.evaluate(MARKED_VIEWS), lab.page.evaluate("window.__outputs"))
    assert "here" in line or 1 == len(set(scrolled))  # a whole view is higher than the window
    assert [] == lab.axe(".nbtf-view")


def test_file_has_the_last_picture_of_cells_that_ended_before_the_view_was_there(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 1400, "height": 800})
    lab.open(START, "%devices --live", NEGATIVE, SQUARE)
    lab.page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
    stored = f"{NOTEBOOK}.context.model.sharedModel.cells[1].outputs[0]?.data['{SVG}']"
    lab.wait(f"({stored} || '').includes('Square')")

    assert "Square" in saved_pictures(lab, 1)[0]


def test_picture_of_a_cell_stays_once_the_view_was_shown_in_another(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 1400, "height": 800})
    lab.open(START, "%devices --live --here", "%devices --live --here", SQUARE)
    lab.run(0, 1)
    (first,) = saved_pictures(lab, 1)
    lab.run(2)
    lab.page.locator(".nbtf-view").nth(1).wait_for()
    lab.run(3)

    assert [first] == saved_pictures(lab, 1)
    assert "Square" in saved_pictures(lab, 2)[0]
