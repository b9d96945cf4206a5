"""Does a key that is pressed after a click into a view ever reach the notebook around it?"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.lab import NOTEBOOK, Lab
from tests.browser.lab_server import LabServer
from tests.browser.test_recording import START, STEP, VIEW, wait_for_view
from tests.rings import with_nightly

KEYS = ("/", "r", "e", "l", "u", "Enter", "m", "a", "b", "x", "Delete", "Escape")
"""A search as the filter's placeholder suggests, then keys by which a notebook changes cells."""
CLICKS = int(os.environ.get("NBTF_CLICKS", "5"))
"""Clicks into each tab; `.ci/nightly` makes 20."""
TABS = ("Timeline", "Memory", "Stacked by holder", "Treemap", "Device map")
CELLS = """() => {
    const kept = output => [output.output_type, Object.keys(output.data ?? {})];
    const { cells } = window.watched.content.model.toJSON();
    return JSON.stringify(cells.map(cell => [cell.cell_type, cell.source, (cell.outputs ?? []).map(kept)]));
}"""
SPOT = """(node, [across, down]) => {
    const spot = () => {
        const box = node.getBoundingClientRect();
        return [box.left + across * box.width, box.top + down * box.height];
    };
    let pane = node.parentElement;
    while (pane && !/auto|scroll/.test(getComputedStyle(pane).overflowY)) pane = pane.parentElement;
    pane?.scrollBy(0, spot()[1] - pane.getBoundingClientRect().top - pane.clientHeight / 2);
    return spot();
}"""
"""Where a place of an element is, scrolled into sight."""


@pytest.fixture(params=with_nightly(["lab"], ["notebook"]))
def opened(request: pytest.FixtureRequest, new_lab: Callable[..., Lab], notebook_server: LabServer) -> Lab:
    """A page of JupyterLab, or of Notebook 7."""
    return new_lab(notebook_server if request.param == "notebook" else None)


def watch_cells(lab: Lab) -> Any:
    """Type, source and outputs of each cell, from now on."""
    lab.page.evaluate(f"() => {{ window.watched = {NOTEBOOK}; }}")
    return cells(lab)


def cells(lab: Lab) -> Any:
    """Type, source and outputs of each cell."""
    return json.loads(lab.page.evaluate(CELLS))


def points(selector: str, count: int, seed: int = 0) -> list[tuple[str, float, float]]:
    """Places in an element, as shares of its width and height."""
    generator = random.Random(f"{selector} {seed}")
    return [(selector, generator.uniform(0.01, 0.99), generator.uniform(0.01, 0.99)) for _ in range(count)]


def click(lab: Lab, selector: str, across: float, down: float) -> None:
    """Clicks at a place of an element, wherever the page has to be scrolled for it."""
    visible = lab.page.locator(selector).locator("visible=true").first
    spot = visible.evaluate(SPOT, [across, down])
    lab.page.mouse.click(*spot)


def press_keys(lab: Lab) -> None:
    for key in KEYS:
        lab.page.keyboard.press(key)


def test_click_into_a_recording_and_any_key_leave_the_notebook_as_it_is(opened: Lab) -> None:
    opened.open(START, STEP, "1 + 1")
    opened.run(0, 1, 2)
    wait_for_view(opened)
    before = watch_cells(opened)

    for tab in TABS:
        opened.page.locator(VIEW).get_by_role("tab", name=tab, exact=True).click()
        press_keys(opened)
        for place in points(f"{VIEW} [role=tabpanel]", CLICKS, TABS.index(tab)):
            click(opened, *place)
            press_keys(opened)
            assert before == cells(opened), (tab, place)

    assert 3 == len(before)


@pytest.mark.nightly
def test_search_typed_after_a_click_goes_into_the_filter(opened: Lab) -> None:
    opened.open(START, STEP)
    opened.run(0, 1)
    wait_for_view(opened)

    opened.page.locator(f"{VIEW} .nbtf-time [data-op]").last.click()
    opened.page.keyboard.type("/matmul")

    assert "matmul" == opened.page.locator(f"{VIEW} .nbtf-time-filter").input_value()
    opened.wait("document.querySelector('.nbtf-recording .nbtf-time-span').textContent.startsWith('matching: 20 of')")


LIVE_VIEWS = {
    "%devices --live --here": ".nbtf-map",
    "%gpu_memory --live --here": ".nbtf-memory",
    "%devices --live": ".nbtf-elsewhere",
}
"""What opens a live view, and what of it is in the notebook's outputs."""


@pytest.mark.nightly
@pytest.mark.parametrize("magic", with_nightly([*LIVE_VIEWS][:1], [*LIVE_VIEWS][1:]))
def test_click_into_a_live_view_and_any_key_leave_the_notebook_as_it_is(opened: Lab, magic: str) -> None:
    view = LIVE_VIEWS[magic]
    opened.open(START, magic, STEP.replace("\nrecord", ""))
    opened.run(0, 1, 2)
    opened.page.locator(view).first.wait_for()
    before = watch_cells(opened)

    for place in points(view, CLICKS):
        opened.page.evaluate("() => jupyterapp.shell.activateById(window.watched.id)")  # a click may open a recording
        if not opened.page.locator(view).count():
            break  # a click on the note has brought the whole view back
        click(opened, *place)
        press_keys(opened)
        assert before == cells(opened), place


def test_notebook_is_saved_and_its_cell_run_from_inside_a_view(opened: Lab) -> None:
    opened.open(START, STEP, "1 + 1")
    opened.run(0, 1)
    wait_for_view(opened)
    saved = opened.server.notebooks / f"{opened.name}.ipynb"

    opened.page.locator(f"{VIEW} .nbtf-time [data-op]").last.click()
    opened.page.keyboard.press("r")  # belongs to the view
    opened.page.keyboard.press("Control+s")
    opened.wait(f"!{NOTEBOOK}.context.model.dirty")
    opened.page.keyboard.press("Shift+Enter")
    opened.wait(f"{NOTEBOOK}.content.activeCellIndex == 2")

    assert "data-nbtf-recording" in saved.read_text(encoding="utf-8")


def test_view_that_is_called_back_into_its_cell_has_the_focus(opened: Lab) -> None:
    opened.open(START, "%devices --live", STEP.replace("\nrecord", ""))
    opened.run(0, 1, 2)
    before = watch_cells(opened)

    opened.page.locator(".nbtf-here").click()
    press_keys(opened)

    assert before == cells(opened)
    assert opened.page.evaluate("() => Boolean(document.activeElement.closest('.nbtf-map'))")
