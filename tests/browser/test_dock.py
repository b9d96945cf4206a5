"""Does a live view stay in sight, and move, while the documented presses run? And does its panel live and die well?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nbtf.cli.special_cells import IS_MISSING
from nbtf.notebook.stills import esm
from tests.browser.lab import NOTEBOOK, Lab
from tests.browser.lab_server import LabServer
from tests.conftest import ROOT
from tests.rings import with_nightly

WINDOWS = [
    (1920, 1080, True, "Light"),
    (1440, 900, False, "Dark"),
    (1366, 768, False, "Light"),
    (1280, 720, True, "Dark"),
    (1024, 700, False, "Light"),
]
"""Windows of people, whether they press Shift+Enter one at a time or three times quickly, and the theme."""

STEPS, PAUSE = "range(40)", "time.sleep(0.07)"
"""How often the third cell of the start page places an op, and how long it waits after each."""

ROW, PANEL, HERE = ".nbtf-row", ".nbtf-panel", "Show it here"
START = "import nbtf as tf\n_ = tf.runtime.simulate_gpus({}, model='Tesla K20m')\n%load_ext nbtf"

WATCH_ROWS = """() => {
    const inView = row => {
        const inner = row.getBoundingClientRect(), outer = row.closest('.nbtf-panel').getBoundingClientRect();
        const high = Math.min(inner.bottom, outer.bottom, innerHeight) - Math.max(inner.top, outer.top, 0);
        const wide = Math.min(inner.right, outer.right, innerWidth) - Math.max(inner.left, outer.left, 0);
        return Math.max(0, high) * Math.max(0, wide) / (inner.width * inner.height);
    };
    const look = () => {
        const panel = document.querySelector('.nbtf-panel');
        if (!panel?.clientHeight || !panel.querySelector('.nbtf-badge[data-state=live]')) return;
        const rows = [...panel.querySelectorAll('.nbtf-row')];
        __rows.looks += rows.length == 4;
        __rows.least = Math.min(__rows.least, ...rows.map(inView));
        rows.filter(row => row.dataset.running != null).forEach(row => __rows.ran.add(row.dataset.device));
    };
    let frame = null;
    window.__rows = {looks: 0, least: 1, ran: new Set()};
    new MutationObserver(() => {
        frame ??= requestAnimationFrame(() => { frame = null; look(); });
    }).observe(document.body, {subtree: true, attributes: true, childList: true});
}"""
"""Looks, in each frame that differs while a cell runs, how much of the rows is in sight and which device runs.

A panel without height has just come into the page: its shell lays it out before anything of it is painted.
"""

LEAST_SHARE = 0.8
"""Of each row, in each frame."""


def first_cells() -> list[str]:
    """Returns the start page's first cells.

    The third runs until it is interrupted, because a panel may open slowly. Its pauses grow, so that even a slow page
    comes to show each device while it is the one that runs.
    """
    page = json.loads((ROOT / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in page["cells"] if cell["cell_type"] == "code"]
    first, live, loop = [cell for cell in cells if IS_MISSING not in cell][:3]
    assert STEPS in loop
    assert PAUSE in loop
    return [first, live, loop.replace(STEPS, "range(4000)").replace(PAUSE, "time.sleep(0.07 + step / 50)")]


def press(lab: Lab, times: int, each: bool) -> None:
    """Presses Shift+Enter as a person does: in a cell, quickly or one press at a time."""
    lab.page.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
    for number in range(times):
        lab.page.keyboard.press("Shift+Enter")
        if each and number < times - 1:
            lab.wait(f"{NOTEBOOK}.content.widgets[arg].model.executionCount > 0", number)
            lab.wait(f"{lab.kernel}.status == 'idle'")


def assert_rows_were_in_sight(lab: Lab) -> None:
    """All rooms were looked at, and none was ever out of sight."""
    looks, least = lab.page.evaluate("() => [__rows.looks, __rows.least]")
    assert looks > 0
    assert least >= LEAST_SHARE


@pytest.mark.parametrize(("width", "height", "each", "theme"), with_nightly(WINDOWS[2:3], WINDOWS[:2] + WINDOWS[3:]))
def test_rooms_are_in_sight_and_run_while_the_third_cell_runs(
    new_lab: Callable[..., Lab], width: int, height: int, each: bool, theme: str
) -> None:
    lab = new_lab(viewport={"width": width, "height": height})
    lab.server.theme(theme)
    lab.open(*first_cells())
    lab.page.evaluate(WATCH_ROWS)

    press(lab, 3, each)
    lab.wait("window.__rows.ran.size == 4")
    lab.interrupt()

    assert_rows_were_in_sight(lab)
    assert lab.page.evaluate(f"() => {NOTEBOOK}.content.node.contains(document.activeElement)")


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "height", "each", "theme"), with_nightly(WINDOWS[1:2], WINDOWS[:1] + WINDOWS[2:]))
def test_rooms_are_in_sight_in_notebook_7_too(
    new_lab: Callable[..., Lab], notebook_server: LabServer, width: int, height: int, each: bool, theme: str
) -> None:
    lab = new_lab(notebook_server, viewport={"width": width, "height": height})
    notebook_server.theme(theme)
    lab.open(*first_cells())
    lab.page.evaluate(WATCH_ROWS)

    press(lab, 3, each)
    lab.wait("window.__rows.ran.size == 4")
    lab.interrupt()

    assert_rows_were_in_sight(lab)


@pytest.mark.parametrize(("devices", "most"), with_nightly([(8, 560)], [(4, 320)]))
def test_rows_take_little_room(new_lab: Callable[..., Lab], devices: int, most: int) -> None:
    lab = new_lab(viewport={"width": 1440, "height": 900})
    lab.open(START.format(devices), "%devices --live")
    lab.run(0, 1)
    lab.page.locator(f"{PANEL} {ROW}").nth(devices - 1).wait_for()

    foot = lab.page.locator(".nbtf-rows-foot").bounding_box()
    top = lab.page.locator(f"{PANEL} .nbtf-map").bounding_box()

    assert foot is not None
    assert top is not None
    assert foot["y"] + foot["height"] - top["y"] <= most
    assert [] == lab.unreadable(".nbtf-map")
    assert [] == lab.axe(".nbtf-map")


def test_the_head_of_a_narrow_panel_is_whole_while_a_cell_runs(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 400, "height": 900})
    views = ".nbtf-map", ".nbtf-memory"
    lab.open(START.format(1), "%devices --live", "%gpu_memory --live", "x = tf.ones([2])\nwhile True:\n    x = x + x")
    lab.run(0, 1, 2)

    lab.start(3)
    for view in views:
        lab.page.locator(f"{PANEL} {view} .nbtf-badge[data-state=live]").wait_for()
    overflows, unreadable = [lab.overflow(f"{PANEL} {view}") for view in views], lab.unreadable(".nbtf-map .nbtf-head")
    lab.interrupt()

    assert ([0, 0], []) == (overflows, unreadable)


def test_names_and_figures_of_many_devices_begin_in_line(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 1440, "height": 900})
    fill = "xs = []\nfor number in range(64):\n    with tf.device(f'GPU:{number}'):\n        xs += [tf.ones([64])]"
    lab.open(START.format(64), "%devices --live", fill)
    lab.run(0, 1, 2)
    lab.page.locator(f"{PANEL} {ROW} .nbtf-row-amount", has_text="B").nth(63).wait_for()

    begins = """texts => {
        const range = document.createRange();
        return texts.map(text => (range.selectNodeContents(text), Math.round(range.getBoundingClientRect().x)));
    }"""
    names, figures = (
        lab.page.locator(f"{PANEL} {ROW} {part}").evaluate_all(begins)
        for part in (".nbtf-row-name", ".nbtf-row-amount")
    )

    assert 64 == len(names)
    assert names == figures
    assert [] == lab.unreadable(".nbtf-map")


def test_what_ran_elsewhere_than_asked_stands_below_the_rows(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 1440, "height": 900})
    ask = "with tf.device('GPU:7'):\n    x = tf.negative(tf.ones([2]))"
    lab.open(START.format(2), "%devices --live", "tf.config.set_soft_device_placement(True)", ask, "x + x")
    lab.run(0, 1, 2)
    line = lab.page.locator(f"{PANEL} .nbtf-surprise")
    before = line.is_visible()
    lab.run(3, 4)
    line.filter(has_text="Neg").wait_for()

    assert (False, "Neg: asked for GPU:7, soft placement → GPU:0") == (before, line.text_content())
    assert [] == lab.unreadable(".nbtf-map")


@pytest.mark.parametrize(("width", "height"), with_nightly([(1366, 768)], [(1920, 1080), (1024, 700)]))
def test_memory_of_the_chosen_device_stands_below_the_rows(
    new_lab: Callable[..., Lab], width: int, height: int
) -> None:
    lab = new_lab(viewport={"width": width, "height": height})
    fill = "held = []\nfor n in range(9):\n    with tf.device('GPU:1'): held.append(tf.ones([2**18]))\nx = held[0] + 1"
    lab.open(START.format(2), "%devices --live", fill, "%gpu_memory --live")
    lab.run(0, 1)
    memory = lab.page.locator(f"{PANEL} .nbtf-row-memory")
    before = memory.is_visible()
    lab.run(2)
    lab.page.locator(f"{PANEL} {ROW}[data-device='GPU:1'][data-op]").wait_for()
    lab.page.locator(f"{PANEL} {ROW}").first.focus()
    titles: list[str | None] = []
    for _ in range(2):
        lab.next_frame()
        titles.append(memory.get_by_role("button").text_content())
        lab.page.keyboard.press("ArrowDown")
    curves = memory.locator(".nbtf-mem-scale").all_text_contents()
    told = memory.get_by_role("img").get_attribute("aria-label")
    unreadable, axe = lab.unreadable(".nbtf-map"), lab.axe(".nbtf-map")
    lab.run(3)
    lab.page.locator(f"{PANEL} .nbtf-memory").wait_for()
    beside = memory.is_visible()
    lab.output(3).get_by_role("button", name=HERE).click()
    memory.get_by_role("button").press("Enter")
    lab.page.locator(".nbtf-recording").first.wait_for()

    assert ["Memory of GPU:0", "Memory of GPU:1"] == titles
    assert (False, False) == (before, beside)  # nothing to show, and the whole of it
    assert "at most 9 MiB in use" in (told or "")
    assert ["in use · peak 9 MiB of 4.5 GiB"] == curves  # a pool of many GiB would have no place beside it
    assert ([], []) == (unreadable, axe)


@pytest.fixture
def docked(new_lab: Callable[..., Lab]) -> Lab:
    """A notebook whose two views stand in a panel on the right."""
    lab = new_lab(viewport={"width": 1400, "height": 800})
    lab.open(START.format(2), "%devices --live", "%gpu_memory --live", "x = tf.ones([2])\nwhile True:\n    x = x + x")
    lab.run(0, 1, 2)
    lab.page.locator(f"{PANEL} .nbtf-memory").wait_for()
    lab.page.locator(f"{PANEL} .nbtf-map").wait_for()
    return lab


def views_in(lab: Lab, selector: str) -> int:
    return lab.page.locator(f"{selector} .nbtf-view").count()


def test_both_views_of_a_notebook_stand_in_one_panel(docked: Lab) -> None:
    assert (1, 2, 0) == (
        docked.page.locator(PANEL).count(),
        views_in(docked, PANEL),
        views_in(docked, ".jp-Notebook"),
    )


def test_a_view_is_put_back_and_the_panel_goes_with_the_last_one(docked: Lab) -> None:
    for left in (1, 0):
        docked.page.get_by_role("button", name=HERE).first.click()
        docked.wait(f"document.querySelectorAll('{PANEL} .nbtf-view').length == {left}")

    assert (2, 0) == (views_in(docked, ".jp-Notebook"), docked.page.locator(PANEL).count())


def test_cleared_outputs_leave_no_panel(docked: Lab) -> None:
    docked.page.evaluate("() => jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")

    docked.wait(f"!document.querySelector('{PANEL}')")


def test_a_closed_notebook_leaves_no_panel(docked: Lab) -> None:
    docked.page.evaluate(f"() => {NOTEBOOK}.context.save().then(() => {NOTEBOOK}.dispose())")

    docked.wait(f"!document.querySelector('{PANEL}')")


def test_views_come_back_after_a_reload_in_the_middle_of_a_run(docked: Lab) -> None:
    # JupyterLab may render a saved output before the kernel has listed its widgets, and again afterwards.
    docked.expected.append("Error: widget model not found")
    docked.page.evaluate(f"() => {NOTEBOOK}.context.save()")
    docked.start(3)
    docked.wait(f"{docked.kernel}.status == 'busy'")

    docked.reload()
    docked.wait(f"{NOTEBOOK}?.sessionContext?.session?.kernel")
    docked.interrupt()  # JupyterLab asks a kernel for its widgets, and has no answer before the cell is over
    docked.page.locator(f"{PANEL} {ROW}[data-op]").first.wait_for()

    assert 1 == docked.page.locator(f"{PANEL} .nbtf-map").count()


LATE_OUTPUT = """async () => {
    const model = { get: () => true, widget_manager: { get_model: async () => (searches++, { views: {} }) } };
    let searches = 0;
    const { heard } = dock({ model, el: document.createElement("div") });
    for (let update = 0; update < 3; update++) {
        heard();
        await new Promise((done) => setTimeout(done));
    }
    return searches;
}"""
"""Three updates of a view whose output JupyterLab has not attached yet; returns how often it looked for its output."""


def test_a_view_looks_for_its_output_until_it_is_attached(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.set_content("<title>shell</title><div id=main class=lm-Widget></div>")
    page.add_script_tag(content=esm.joined(esm.in_order("dock")))

    assert 3 == page.evaluate(LATE_OUTPUT)
    page.close()


def test_after_a_restart_the_panel_says_that_it_is_not_live(docked: Lab) -> None:
    docked.restart()

    docked.page.locator(f"{PANEL} .nbtf-map.nbtf-stale").wait_for()


def test_asked_for_here_a_view_stays_in_its_cell(new_lab: Callable[..., Any]) -> None:
    lab = new_lab(viewport={"width": 1400, "height": 800})
    lab.open(START.format(2), "%devices --live --here", "x = tf.ones([2])")
    lab.run(0, 1, 2)
    lab.wait_for_more(".nbtf-map", than=0)

    assert (0, 1) == (lab.page.locator(PANEL).count(), lab.output(1).locator(".nbtf-stage").count())


def test_a_view_shows_the_last_cell_or_all_as_its_reader_chooses(docked: Lab) -> None:
    view = docked.page.locator(f"{PANEL} .nbtf-map")
    docked.page.evaluate("() => jupyterapp.commands.execute('notebook:insert-cell-below')")
    cell = f"{NOTEBOOK}.content.activeCell.model.sharedModel"
    docked.page.evaluate(f"() => {cell}.setSource('y = tf.reduce_sum(tf.ones([9]))')")
    docked.run(3)

    for scope, said in (("cell", "cell 4, "), ("here", "cell 2, "), ("all", "")):
        view.get_by_role("combobox", name="Show").select_option(scope)
        docked.wait(f"/^{said}\\d/.test(document.querySelector('{PANEL} .nbtf-map .nbtf-total').textContent)")

    assert [] == docked.unreadable(".nbtf-map")
    assert [] == docked.axe(".nbtf-map")
