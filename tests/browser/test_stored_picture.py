"""Does a notebook that a page saves have the picture of its last cell, and does the page go on showing its view?"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.browser.lab import NOTEBOOK, Lab

START = "import nbtf as tf\n_ = tf.runtime.simulate_gpus(2, model='Tesla K20m')\n%load_ext nbtf\na = tf.ones([64])"
NEGATIVE = "with tf.device('GPU:1'):\n    b = tf.negative(a)"
SQUARE = "with tf.device('GPU:1'):\n    c = tf.square(a)"
SVG = "image/svg+xml"

MARK_VIEWS = "() => document.querySelectorAll('.nbtf-view').forEach(view => (view.marked = true))"
MARKED_VIEWS = "() => [...document.querySelectorAll('.nbtf-view')].map(view => Boolean(view.marked))"
LAYOUT = f"""() => [{NOTEBOOK}.content.node, ...{NOTEBOOK}.content.node.querySelectorAll('*')]
    .map(node => node.scrollTop).filter(Boolean).concat(document.querySelectorAll('.nbtf-panel .nbtf-view').length)"""


def saved_pictures(lab: Lab, index: int) -> list[str]:
    """Saves the notebook, and returns the pictures that its file has of a cell, each with its form for nbconvert."""
    lab.page.evaluate(f"() => {NOTEBOOK}.context.save()")
    file = lab.server.notebooks / f"{lab.name}.ipynb"
    outputs = json.loads(file.read_text(encoding="utf-8"))["cells"][index]["outputs"]
    return ["".join(output["data"][SVG]) for output in outputs]


@pytest.mark.parametrize("options", ["", " --here"], ids=["docked", "here"])
@pytest.mark.parametrize("line", ["%devices --live", "%gpu_memory --live"], ids=["map", "memory"])
def test_file_has_the_picture_of_each_cell_and_the_view_is_not_drawn_again(
    new_lab: Callable[..., Lab], line: str, options: str
) -> None:
    lab = new_lab(viewport={"width": 1400, "height": 800})
    lab.open(START, line + options, NEGATIVE, SQUARE)
    lab.run(0, 1)
    lab.page.locator(f"{'.nbtf-panel' if not options else '.jp-Notebook'} .nbtf-view").wait_for()
    lab.page.evaluate(MARK_VIEWS)
    pictures = saved_pictures(lab, 1)
    for cell in (2, 3):
        lab.run(cell)
        pictures += saved_pictures(lab, 1)
    layouts: list[list[int]] = []
    for _ in range(3):  # at the first JupyterLab scrolls to the cell, and the view has a new op
        lab.run(3)
        lab.next_frame()
        layouts.append(lab.page.evaluate(LAYOUT))

    assert layouts[1] == layouts[2]
    assert 3 == len(set(pictures))
    assert "devices" not in line or ["Neg" in pictures[1], "Square" in pictures[2]] == [True, True]
    assert [True] == lab.page.evaluate(MARKED_VIEWS)


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
