"""Do the views live while a cell runs, and do they say so when they do not?"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer

START = """\
import numpy as np
import nbtf as tf
_ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
%load_ext nbtf
x = one = tf.constant(1.0)"""
VIEWS = ["%devices --live", "%gpu_memory --live"]
MAP, MEMORY = ".nbtf-map", ".nbtf-memory"
MISSING = "the live view did not load. Install anywidget where JupyterLab runs, not only in this kernel"

MOST_MESSAGES = 12
"""Widget messages in a second."""
MOST_WORK = 80.0
"""Milliseconds of a page's own work for a message: with so many of them a second, more would be a page that hangs."""


def test_views_grow_while_the_cell_runs(lab: Lab) -> None:
    lab.open(START, *VIEWS, "while True:\n    x = tf.add(x, one)")
    lab.run(0, 1, 2)

    lab.start(3)
    for _ in range(2):
        for view in (MAP, MEMORY):
            lab.wait_for_more(view)
    during = lab.status(), lab.badge(MAP), lab.badge(MEMORY)
    lab.interrupt()

    assert ("busy", "live", "live") == during


def test_views_are_live_while_the_cell_is_in_numpy(lab: Lab) -> None:
    lab.open(START, *VIEWS, "a = np.ones((800, 800))\nwhile True:\n    a = a @ a / 800")
    lab.run(0, 1, 2)
    shown = "window.__nbtf.wall"

    lab.start(3)
    lab.wait(f"{lab.kernel}.status == 'busy'")
    for _ in range(2):  # heartbeats: nothing else is there to tell
        lab.wait(f"{shown} > arg", lab.page.evaluate(shown))
    during = lab.status(), lab.badge(MAP), lab.badge(MEMORY)
    lab.interrupt()

    assert ("busy", "live", "live") == during


def test_views_say_that_they_are_not_live_after_a_restart(lab: Lab) -> None:
    lab.open(START, *VIEWS)
    lab.run(0, 1, 2)

    lab.restart()
    for view in (MAP, MEMORY):
        lab.page.locator(f"{view}.nbtf-stale").wait_for()  # after three heartbeats of 2 s

    assert lab.badge(MAP).startswith("◌ not live – last update ")
    assert lab.badge(MAP) == lab.badge(MEMORY)


@pytest.fixture
def server_without_anywidget(server: LabServer) -> Iterator[None]:
    server.disable("anywidget")
    yield
    server.disable()


@pytest.mark.usefixtures("server_without_anywidget")
def test_without_the_front_end_the_next_cell_shows_the_table_and_says_why(lab: Lab) -> None:
    lab.open(START, *VIEWS, "1 + 1", "2 + 2")
    lab.run(0, 1, 2)

    lab.let_seconds_pass(10)
    lab.run(3)
    told = lab.output(3).text_content() or ""
    tables = lab.output(3).locator("table").count()
    lab.run(4)

    _, errors = lab.forget()
    assert (2, 2) == (tables, told.count(MISSING))
    assert MISSING not in (lab.output(4).text_content() or "")
    assert ["No version of module anywidget is registered" in error for error in errors] == [True] * len(errors)


@pytest.mark.nightly
def test_a_hundred_thousand_ops_are_few_messages_and_no_page_that_hangs(lab: Lab) -> None:
    lab.open(START, *VIEWS, "for _ in range(100_000):\n    x = tf.add(x, one)")
    lab.run(0, 1, 2)

    began, messages, work = time.monotonic(), lab.messages(), lab.work()
    lab.run(3)
    lab.wait_for_more(MAP, than=99_999)
    messages, work, seconds = lab.messages() - messages, lab.work() - work, time.monotonic() - began

    assert 0 < messages <= MOST_MESSAGES * (seconds + 1)
    assert work <= MOST_WORK * messages
    assert "message rate exceeded" not in (lab.page.locator(".jp-Notebook").text_content() or "")


LENGTHS = """region => [...region.querySelectorAll('.nbtf-mem-chunk')].map(node => [
    node.nbtf.size, node.getBoundingClientRect().width, node.dataset.wider != null,
    getComputedStyle(node).borderBottomStyle,
])"""


def test_what_is_drawn_of_memory_is_to_scale_or_marked_and_devices_share_a_scale(lab: Lab) -> None:
    lab.open(
        "import nbtf as tf\n_ = tf.runtime.simulate_gpus(2, memory='64MiB')\n%load_ext nbtf",
        "%gpu_memory --live --here",
        "with tf.device('GPU:1'): b = tf.ones([9])\na = [tf.zeros([2**20, 1 + n % 3]) for n in range(5)]\ndel a[1]",
    )
    lab.run(0, 1, 2)
    lab.wait_for_more(MEMORY, than=9)
    chunks = lab.page.locator(f"{MEMORY} .nbtf-mem-track").first.evaluate(LENGTHS)

    drawn_to_scale = [(size, width) for size, width, wider, _ in chunks if not wider]
    ratio = sum(width for _, width in drawn_to_scale) / sum(size for size, _ in drawn_to_scale)
    assert len(drawn_to_scale) >= 5
    assert [] == [(size, width) for size, width in drawn_to_scale if abs(width - ratio * size) > 1]
    assert {"dotted"} == {edge for _, _, wider, edge in chunks if wider}
    scales = [label.get_attribute("title") for label in lab.page.locator(f"{MEMORY} .nbtf-mem-scale").all()]
    assert (2, 1) == (len(scales), len(set(scales)))


SCRUB_TO = """(scrub, step) => {
    scrub.value = step;
    scrub.dispatchEvent(new Event('input'));
}"""


def test_a_replay_runs_over_the_whole_scene_and_says_how_much_is_here(lab: Lab) -> None:
    lab.open(START, "%devices --live --here", "for _ in range(3_000):\n    x = tf.add(x, one)\ny = tf.negative(x)")
    lab.run(0, 1, 2)
    lab.wait_for_more(MAP, than=3_000)
    line, place, stored = (lab.page.locator(f"{MAP} .nbtf-{name}") for name in ("line", "place", "stored"))
    scrub = lab.page.locator(f"{MAP} .nbtf-scrub")

    lab.press(MAP, "Step")
    lab.wait(f"/step 1 of 3,001$/.test(document.querySelector('{MAP} .nbtf-place').textContent)")
    first = line.text_content() or ""
    scrub.evaluate(SCRUB_TO, 1_500)
    lab.wait(f"/step 1,\\d+ of 3,001$/.test(document.querySelector('{MAP} .nbtf-place').textContent)")
    middle = place.text_content() or ""
    ran = lab.page.locator(f"{MAP} .nbtf-doors [data-device='GPU:0'] .nbtf-door").get_attribute("aria-label") or ""
    number = middle.split("step ")[1].split(" ")[0]
    said = stored.text_content() or ""
    scrub.evaluate(SCRUB_TO, 10_000)
    lab.wait(f"/Neg ran/.test(document.querySelector('{MAP} .nbtf-line').textContent)")

    assert first.startswith("Step 1: Add")
    assert f"{number} times" in ran or f"× {number}" in ran or f"{number} ×" in ran
    assert said.startswith("750 of 3,00")
    assert (place.text_content() or "").endswith("step 3,001 of 3,001")


def test_a_click_on_an_arrow_says_from_where_to_where_and_how_much(lab: Lab) -> None:
    lab.open(
        START, "%devices --live --here", "x = tf.ones([1024, 1024])\nwith tf.device('GPU:1'):\n    y = tf.identity(x)"
    )
    lab.run(0, 1, 2)
    arrow, said = (
        lab.page.locator(".nbtf-stage [data-from='GPU:0']").first,
        lab.page.locator(".nbtf-stage + [role=status]"),
    )

    arrow.wait_for(state="attached")
    before = said.is_visible()
    arrow.dispatch_event("click")
    said.wait_for()

    assert (False, "GPU:0 → GPU:1: 1 copy · 4 MiB") == (before, said.inner_text())
