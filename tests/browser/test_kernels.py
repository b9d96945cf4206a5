"""Does a view follow its own kernel, beside another notebook and in a kernel that was used before?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.lab import NOTEBOOK, Lab, code_cell
from tests.browser.test_dock import PANEL, ROW, START, WATCH_ROWS, assert_rows_were_in_sight, first_cells, press

WIDE = {"width": 1440, "height": 900}
VIEWS = ["%devices --live", "%gpu_memory --live"]
FOREVER = "x = tf.ones([9])\nwhile True:\n    x = tf.{}(x)"

PANELS = f"""() => [...document.querySelectorAll('{PANEL}')].map(panel => ({{
    shown: panel.checkVisibility(), badge: panel.querySelector('.nbtf-badge').textContent,
    ops: [...panel.querySelectorAll('{ROW}')].map(row => row.querySelector('.nbtf-row-op').textContent),
    events: Number(panel.querySelector('.nbtf-total').textContent.replace(/\\D/g, '')),
}}))"""
"""What the panel of each notebook shows, in the order in which they came."""


def open_beside(lab: Lab, *cells: str) -> None:
    """Opens another notebook at the right of the first, with a kernel of its own; it is the current one then."""
    name = f"{lab.name}-beside.ipynb"
    lab.write(name, [code_cell(cell) for cell in cells])
    beside = "{path, options: {mode: 'split-right'}}"
    lab.page.evaluate(f"path => void jupyterapp.commands.execute('docmanager:open', {beside})", name)
    lab.wait(f"{NOTEBOOK}?.context?.path == arg && {NOTEBOOK}.context.isReady", name)
    lab.page.evaluate(f"() => {NOTEBOOK}.sessionContext.ready")
    lab.wait(f"{lab.kernel}?.status == 'idle'")


def test_each_of_two_notebooks_has_a_panel_that_follows_its_kernel(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport=WIDE)
    lab.open(START.format(2), "%devices --live", FOREVER.format("negative"))
    lab.run(0, 1)
    first = lab.page.evaluate(f"() => {NOTEBOOK}.id")
    open_beside(lab, START.format(3), "%devices --live", FOREVER.format("square"))
    lab.run(0, 1)
    second = lab.page.evaluate(f"() => {NOTEBOOK}.id")
    lab.start(2)
    lab.page.evaluate("id => jupyterapp.shell.activateById(id)", first)
    lab.start(2)
    lab.wait(f"({PANELS})().length == 2")
    lab.wait(f"({PANELS})().every(({{ops}}) => ops[0] == 'Neg' || ops[0] == 'Square')")
    before = lab.page.evaluate(PANELS)
    lab.wait(f"({PANELS})().every(({{events}}, n) => events > arg[n].events)", before)
    lab.interrupt()
    lab.wait(f"({PANELS})()[0].badge == 'idle'")
    first_ended = lab.page.evaluate(PANELS)
    lab.page.evaluate("id => jupyterapp.shell.activateById(id)", second)
    lab.wait(f"({PANELS})()[1].shown")
    other = lab.page.evaluate(PANELS)
    lab.interrupt()

    assert [["Neg", ""], ["Square", "", ""]] == [panel["ops"] for panel in first_ended]
    assert [("idle", True), ("live", False)] == [(panel["badge"], panel["shown"]) for panel in first_ended]
    assert [False, True] == [panel["shown"] for panel in other]


@pytest.mark.nightly
def test_rooms_are_in_sight_in_a_kernel_that_was_used_before(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport=WIDE)
    lab.open(*first_cells(), *VIEWS, "x = tf.ones([9]) + 1")
    lab.run(0, 3, 4, 5, 3, 5)
    lab.page.evaluate(WATCH_ROWS)

    press(lab, 3, each=False)
    for _ in range(5):  # two views share the messages: in one run not each of four rooms in turn need be in one
        lab.start(2)
    lab.wait("window.__rows.ran.size == 4")
    lab.interrupt()

    assert_rows_were_in_sight(lab)
    assert (1, 2) == (lab.page.locator(PANEL).count(), lab.page.locator(f"{PANEL} .nbtf-view").count())
