"""Do the views show what is so: failed requests, peaks, reasons, names, and the end of a kernel?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.browser.test_dock import PANEL, WINDOWS
from tests.rings import with_nightly

MAP, MEMORY = ".nbtf-map", ".nbtf-memory"
PLANE = ".nbtf-mem-refused:not([hidden])"
CARD = "import nbtf as tf\n_ = tf.runtime.simulate_gpus({}, memory='64MiB')\n%load_ext nbtf"
FRAGMENTED = "held = [tf.ones([2**20]) for _ in range(15)]\nfor n in (3, 6, 9, 12): held[n] = None"
TOO_LARGE = "big = tf.ones([2**21])"
FIT = """\
with tf.distribute.MirroredStrategy().scope():
    layers = [tf.keras.layers.Dense(64, name='hidden_1'), tf.keras.layers.Dense(1, name='out')]
    model = tf.keras.Sequential(layers)
    model.compile('adam', 'mse')
model.fit(tf.ones([8, 100]), tf.ones([8, 1]), batch_size=4, verbose=0)
del layers"""

SIDES = """node => {
    const rects = [...node.querySelectorAll('rect')].map(rect => ({
        height: Number(rect.getAttribute('height')), dashed: rect.hasAttribute('stroke-dasharray'),
        title: rect.querySelector('title')?.textContent ?? '',
    }));
    return {
        request: rects.find(({dashed}) => dashed)?.height,
        piece: rects.find(({title}) => title.startsWith('held[0]'))?.height,
        red: node.querySelectorAll("line[stroke='var(--nbtf-hot)']").length,
        words: [...node.querySelectorAll('text')].map(text => text.textContent).join(' '),
        smallest: Math.min(...[...node.querySelectorAll('text')].map(text => (
            parseFloat(text.getAttribute('font-size')) * node.querySelector('svg').getBoundingClientRect().width
            / node.querySelector('svg').viewBox.baseVal.width))),
    };
}"""
"""Heights of the request and of a piece in the plane, its red lines, its words, and the px of its smallest letters."""


@pytest.mark.parametrize(("width", "height", "_", "theme"), with_nightly(WINDOWS[1:2], [WINDOWS[0], *WINDOWS[2:]]))
def test_a_failed_request_stays_in_the_panel_until_the_next_cell(
    new_lab: Callable[..., Lab], server: LabServer, width: int, height: int, _: bool, theme: str
) -> None:
    server.theme(theme)
    lab = new_lab(viewport={"width": width, "height": height})
    lab.is_altered = True
    lab.open(CARD.format(1), "%gpu_memory --live", FRAGMENTED, TOO_LARGE, "x = 1")
    lab.run(0, 1, 2)
    before = lab.page.locator(f"{PANEL} {PLANE}").count()

    lab.start(3)
    plane = lab.page.locator(f"{PANEL} {PLANE}")
    plane.wait_for()
    lab.wait(f"document.querySelector('{MEMORY} .nbtf-badge').dataset.state == 'full'")
    seen, told = plane.evaluate(SIDES), plane.get_attribute("aria-label") or ""
    badge, hot = lab.badge(MEMORY), lab.page.locator(f"{MEMORY} .nbtf-mem-hot:not([hidden])").all_text_contents()
    unreadable, axe = lab.unreadable(f"{PANEL} .nbtf-head"), lab.axe(MEMORY)
    lab.run(4)
    plane.wait_for(state="detached")
    lab.wait(f"document.querySelector('{MEMORY} .nbtf-badge').dataset.state == 'idle'")

    assert 0 == before
    assert seen["request"] == pytest.approx(2 * seen["piece"], abs=2)
    assert 1 == seen["red"]
    assert seen["smallest"] >= 10.9
    assert all(
        words in seen["words"] for words in ("8 MiB needed", "held[0]", "held[14]", "free 16 MiB, largest 4 MiB")
    )
    assert "8 MiB requested, 48 of 64 MiB in use" in told
    assert ("out of memory", ["out of memory"]) == (badge, hot)
    assert ([], []) == (unreadable, axe)


IS_NAMED = "[...document.querySelectorAll('.nbtf-mem-chunk')].some(node => node.ariaLabel.includes('velocity'))"


def test_after_a_fit_reasons_and_names_are_those_of_the_program(lab: Lab) -> None:
    lab.open(CARD.format(2), "%devices --live --here", "%gpu_memory --live --here", FIT, "%gpu_memory --who")
    lab.run(0, 1, 2, 3)
    lab.wait_for_more(MAP, than=100)
    lab.press(MAP, "Table")
    reasons = lab.page.locator(f"{MAP} .nbtf-tables").inner_text()
    for _ in range(20):  # the search for names has little time, and is repeated after the next cell
        lab.run(4)
        if lab.page.evaluate(IS_NAMED):
            break
    lab.wait(IS_NAMED)
    labels = " ".join(
        node.get_attribute("aria-label") or "" for node in lab.page.locator(f"{MEMORY} .nbtf-mem-chunk").all()
    )
    who = lab.output(4).text_content() or ""

    assert "update, placed by the strategy" in reasons
    assert "tf.device" not in reasons
    assert all(f"hidden_1/kernel · {slot}" in labels for slot in ("momentum", "velocity"))
    assert "optimizer slot" not in labels
    assert "model: weights (4 tensors): 2 × 25.8 KiB, one on each GPU" in who
    assert "hidden_1/kernel · velocity: 2 × 25 KiB, one on each GPU" in who


def test_a_recording_says_what_its_time_leaves_out_and_its_treemap_that_it_shows_the_peak(lab: Lab) -> None:
    cell = "with tf.runtime.recording() as record:\n    x = [tf.ones([2**20]) for _ in range(4)]\n    del x\nrecord"
    lab.open(CARD.format(1), cell)
    lab.run(0, 1)
    view = lab.page.locator(".nbtf-recording")
    view.wait_for()
    view.scroll_into_view_if_needed()
    lab.wait("document.querySelector('.nbtf-recording svg text')")
    head = view.inner_text()
    view.get_by_role("tab", name="Treemap").click()
    lab.next_frame()
    at_end = "at the peak" in view.inner_text()
    lab.page.locator(".nbtf-recording [role=slider]:visible").press("PageUp")
    lab.next_frame()

    assert "device time only: waiting for the host is left out" in head
    assert (False, True) == (at_end, "at the peak" in view.inner_text())


CAPTION = f"() => document.querySelector(\"{MEMORY} [data-device='GPU:0'] .nbtf-mem-caption\").textContent"


def test_a_history_says_its_peak_and_does_not_grow_while_nothing_changes(lab: Lab) -> None:
    on_host = "with tf.device('CPU:0'): z = tf.ones([9])"
    lab.open(CARD.format(1), "%gpu_memory --live --here", "x = tf.ones([2**20])\ny = x + 1\ndel y", on_host)
    lab.run(0, 1, 2)
    lab.wait_for_more(MEMORY, than=3)
    lab.wait(f"({CAPTION})().includes('change')")
    scale = lab.page.locator(f"{MEMORY} [data-device='GPU:0'] .nbtf-mem-scale").first.text_content() or ""
    before = lab.page.evaluate(CAPTION)
    for _ in range(3):
        seen = lab.page.evaluate("() => window.__nbtf.wall")
        lab.run(3)
        lab.wait("window.__nbtf.wall > arg", seen)  # a state that was made later

    assert "peak 8 MiB of 64 MiB" in scale
    assert before == lab.page.evaluate(CAPTION)


def test_a_view_says_at_once_that_its_kernel_has_ended(lab: Lab) -> None:
    lab.open(CARD.format(1), "%devices --live --here", "x = tf.ones([9])")
    lab.run(0, 1, 2)
    lab.wait(f"document.querySelector('{MAP} .nbtf-badge').textContent == 'idle'")

    lab.shut_down()

    assert lab.badge(MAP).startswith("◌ not live – last update ")
