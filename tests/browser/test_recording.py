"""Does a recording come alive in a notebook, and stay readable when the kernel is busy, gone, or was never there?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.lab import NOTEBOOK, Lab
from tests.browser.lab_server import environment
from tests.rings import with_nightly

START = """\
import numpy as np
import nbtf as tf
_ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
%load_ext nbtf"""
STEP = """\
with tf.runtime.recording() as record:
    with tf.device("GPU:1"):
        a = tf.random.normal([256, 256])
        for _ in range(20):
            a = tf.matmul(a, a)
        b = tf.identity(a)
    del a
record"""
VIEW, STILL = ".nbtf-recording", "[data-nbtf-recording]"
SPAN, DETAIL = f"{VIEW} .nbtf-time-span", f"{VIEW} .nbtf-plane-detail"
WHOLE = r"0 ns to (\S+ .s).*"


@pytest.fixture
def shown(lab: Lab) -> Lab:
    """A notebook whose last cell shows a recording."""
    lab.open(START, STEP, "import time\nwhile True: time.sleep(0.01)")
    lab.run(0, 1)
    wait_for_view(lab)
    return lab


def wait_for_view(lab: Lab) -> None:
    lab.page.locator(f"{VIEW} .nbtf-time svg text").first.wait_for()
    lab.page.locator(VIEW).first.scroll_into_view_if_needed()


def span(lab: Lab) -> str:
    lab.next_frame()
    return lab.page.locator(SPAN).inner_text()


def brush(lab: Lab) -> None:
    """Chooses half of the time by mouse."""
    sides = lab.page.locator(f"{VIEW} .nbtf-time-overview").bounding_box()
    assert sides is not None
    middle = sides["y"] + sides["height"] / 2
    lab.page.mouse.move(sides["x"] + sides["width"] / 4, middle)
    lab.page.mouse.down()
    lab.page.mouse.move(sides["x"] + sides["width"] * 3 / 4, middle, steps=3)
    lab.page.mouse.up()


def zoom(lab: Lab) -> None:
    """Zooms in by key."""
    lab.page.locator(f"{VIEW} .nbtf-time-lane").last.focus()
    lab.page.keyboard.press("+")


@pytest.mark.nightly
@pytest.mark.parametrize("choose", with_nightly([brush], [zoom]), ids=lambda choose: choose.__name__)
def test_reader_chooses_what_is_shown(shown: Lab, choose: Callable[[Lab], None]) -> None:
    before, cells = span(shown), shown.page.locator(".jp-Notebook .jp-Cell").count()

    choose(shown)

    assert re.fullmatch(WHOLE, before)
    assert not re.fullmatch(WHOLE, span(shown))
    assert cells == shown.page.locator(".jp-Notebook .jp-Cell").count()  # no key went to the notebook


def test_block_says_op_shape_reason_and_line(shown: Lab) -> None:
    shown.page.locator(f"{VIEW} .nbtf-time [data-op]").last.click()
    shown.next_frame()

    texts = " ".join(shown.page.locator(f"{VIEW} .nbtf-time text").all_text_contents())
    assert re.search(r"MatMul +GPU:1 +\[256, 256\] float32, 256 KiB", texts)
    assert re.search("why: .*tf.device", texts)
    assert "cell 2, line 5: a = tf.matmul(a, a)" in texts


@pytest.mark.nightly
def test_memory_is_gone_through_step_by_step(shown: Lab) -> None:
    shown.page.locator(VIEW).get_by_role("tab", name="Memory").click()
    plane = shown.page.locator(f"{VIEW} .nbtf-plane")
    plane.focus()
    last = int(plane.get_attribute("aria-valuenow") or "")

    for _ in range(3):
        shown.page.keyboard.press("ArrowLeft")
    for key in ("ArrowUp", "ArrowUp", "Enter"):  # the lowest is TensorFlow's scratch
        shown.page.keyboard.press(key)
    shown.next_frame()

    assert str(last - 3) == plane.get_attribute("aria-valuenow")
    assert re.search("256 KiB.*created in cell 2, line", shown.page.locator(DETAIL).inner_text())


@pytest.mark.nightly
def test_device_map_says_what_ran_where_and_is_chosen_with_the_timeline(shown: Lab) -> None:
    shown.page.locator(f"{VIEW} .nbtf-time [data-op]").last.click()
    shown.page.locator(VIEW).get_by_role("tab", name="Device map").click()
    shown.next_frame()

    rooms = shown.page.locator(f"{VIEW} .nbtf-places")
    assert "MatMul" in " ".join(rooms.locator("text").all_text_contents())
    assert shown.page.locator(f"{VIEW} .nbtf-plane-detail").last.inner_text().startswith("GPU:1: ")


def test_view_zooms_while_a_cell_runs(shown: Lab) -> None:
    shown.start(2)
    shown.wait(f"{shown.kernel}.status == 'busy'")
    brush(shown)
    during = shown.status(), span(shown)
    shown.interrupt()

    assert "busy" == during[0]
    assert not re.fullmatch(WHOLE, during[1])


def test_view_comes_back_after_a_reload(shown: Lab) -> None:
    shown.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    shown.reload()
    shown.wait(f"{NOTEBOOK}?.context?.isReady")
    shown.page.evaluate(f"() => {NOTEBOOK}.sessionContext.ready")

    wait_for_view(shown)

    assert 0 == shown.page.locator(STILL).count()


@pytest.mark.nightly
@pytest.mark.parametrize("end", with_nightly([Lab.restart], [Lab.shut_down]), ids=lambda end: end.__name__)
def test_view_stays_when_the_kernel_goes_and_says_so(shown: Lab, end: Callable[[Lab], None]) -> None:
    end(shown)
    shown.wait("document.querySelector('.nbtf-recording .nbtf-note').textContent.startsWith('As of')")
    brush(shown)

    assert not re.fullmatch(WHOLE, span(shown))


def test_stored_notebook_shows_the_picture_and_has_nothing_else(shown: Lab) -> None:
    shown.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    file = shown.server.notebooks / f"{shown.name}.ipynb"
    text = file.read_text(encoding="utf-8")
    data = json.loads(text)["cells"][1]["outputs"][-1]["data"]
    shown.shut_down()
    shown.reload()
    shown.page.locator(STILL).wait_for()

    assert {"image/svg+xml", "text/html", "text/plain"} == data.keys()
    assert not re.search("timelineScene|_esm|widget-view", text)
    assert shown.page.locator(STILL).evaluate("still => still.complete && still.naturalWidth > 600")
    assert 0 == shown.page.locator(VIEW).count()


@pytest.mark.nightly
def test_page_of_nbconvert_shows_the_picture_without_a_network(shown: Lab, open_page: Callable[..., Any]) -> None:
    shown.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    file = shown.server.notebooks / f"{shown.name}.ipynb"
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", str(file)]
    subprocess.run(command, env=environment(shown.server.home), check=True, capture_output=True)

    page = open_page(offline=True)
    page.goto(file.with_suffix(".html").as_uri())
    picture = page.locator(STILL)

    assert picture.evaluate("still => still.complete && still.naturalWidth > 600")
    assert "GPU:1" in (picture.get_attribute("alt") or "")
    page.close()


LONG = """\
with tf.runtime.recording() as record:
    a = tf.ones([64, 64])
    for _ in range(5000):
        a = a + 1.0
record"""


@pytest.mark.nightly
def test_long_recording_has_each_op_of_a_part_that_is_zoomed_into(lab: Lab) -> None:
    lab.open(START, LONG)
    lab.run(0, 1)
    wait_for_view(lab)
    before = span(lab)

    for _ in range(16):
        lab.press(VIEW, "zoom in")
    lab.wait("document.querySelectorAll('.nbtf-recording .nbtf-time [data-op]').length > 3")
    lab.page.locator(f"{VIEW} .nbtf-time [data-op]").nth(1).click()
    lab.next_frame()

    assert re.fullmatch(WHOLE + r"\d,\d+ ops narrower than 2 px are drawn as density", before)
    assert "density" not in span(lab)
    assert "AddV2" in " ".join(lab.page.locator(f"{VIEW} .nbtf-time text").all_text_contents())


RARE = """\
with tf.runtime.recording() as record:
    a = tf.ones([64, 64])
    for number in range(5000):
        a = a + 1.0
        if number % 700 == 0:
            tf.reduce_max(a)
record"""


def test_search_finds_ops_that_the_page_of_a_long_recording_lacks(lab: Lab) -> None:
    lab.open(START, RARE)
    lab.run(0, 1)
    wait_for_view(lab)
    lab.page.locator(f"{VIEW} .nbtf-time-lane").last.focus()

    lab.page.keyboard.press("/")
    lab.page.keyboard.type("max")
    lab.page.locator(SPAN, has_text=re.compile(r"matching: 8 of \d+,\d+ ops")).wait_for()
    for key, number in [*[("Enter", number % 8 + 1) for number in range(10)], ("Shift+Enter", 1), ("Shift+Enter", 8)]:
        lab.page.keyboard.press(key)
        lab.page.locator(SPAN, has_text=f"match {number} of 8").wait_for()
        assert "Max" in " ".join(lab.page.locator(f"{VIEW} .nbtf-time text").all_text_contents())


@pytest.mark.nightly
def test_memory_of_a_long_recording_comes_when_the_rest_is_shown(lab: Lab) -> None:
    lab.open(START, LONG)
    lab.run(0, 1)
    wait_for_view(lab)

    lab.page.locator(VIEW).get_by_role("tab", name="Memory", exact=True).click()
    lab.wait("document.querySelector('.nbtf-recording .nbtf-plane')?.getAttribute('aria-valuemax') === '2000'")
    lab.wait("document.querySelector('.nbtf-recording').textContent.includes('only the last 2,000 memory steps')")


@pytest.mark.nightly
def test_two_pictures_of_a_recording_come_alive_and_a_page_is_spoken_to_in_its_language(lab: Lab) -> None:
    lab.open(START, STEP, "record", afresh=True)
    lab.speak("ja")
    lab.run(0, 1, 2)

    lab.wait("document.querySelectorAll('.nbtf-recording[lang=ja] .nbtf-time svg text').length > 0")
    lab.output(2).scroll_into_view_if_needed()
    lab.wait("document.querySelectorAll('.nbtf-recording').length == 2")

    assert "タイムライン" == lab.page.locator(f"{VIEW} [role=tab]").first.inner_text()


CURSOR = f"{VIEW} .nbtf-time-cursor"
SCENE = f"{VIEW} .nbtf-plane"


def test_the_replay_of_a_live_view_moves_the_timeline_and_the_memory_of_a_recording(lab: Lab) -> None:
    lab.open(START, "%devices --live --here", STEP)
    lab.run(0, 1, 2)
    lab.output(2).scroll_into_view_if_needed()
    wait_for_view(lab)
    assert not lab.page.locator(CURSOR).is_visible()

    lefts: list[float] = []
    for _ in range(2):
        for _ in range(5):
            lab.press(".nbtf-map", "Step")
        lab.page.locator(CURSOR).wait_for()
        lab.next_frame()
        lefts.append(float(lab.page.locator(CURSOR).evaluate("node => node.offsetLeft")))
    lab.page.locator(VIEW).get_by_role("tab", name="Memory", exact=True).click()
    lab.next_frame()
    step = int(lab.page.locator(SCENE).get_attribute("aria-valuenow") or "")

    assert lefts[0] < lefts[1]
    assert 1 < step < int(lab.page.locator(SCENE).get_attribute("aria-valuemax") or "")


def test_a_range_of_a_long_recording_is_added_up_by_the_kernel(lab: Lab) -> None:
    lab.open(START, LONG)
    lab.run(0, 1)
    wait_for_view(lab)
    lab.page.locator(f"{VIEW} .nbtf-time-lane").last.focus()

    for key in ("Home", "Escape", "m", *["Shift+ArrowRight"] * 11):
        lab.page.keyboard.press(key)
    figures = lab.page.locator(f"{VIEW} .nbtf-range-figures dd")
    figures.first.wait_for()

    assert 1000 < int(figures.first.inner_text().replace(",", ""))
    assert lab.page.locator(f"{VIEW} .nbtf-range-list li", has_text="AddV2").count()


def by_key(lab: Lab) -> None:
    lab.page.locator(".nbtf-row[data-device='GPU:1']").focus()
    lab.page.keyboard.press("Enter")


def by_column(lab: Lab) -> None:
    row = lab.page.locator(".nbtf-row[data-device='GPU:1'] .nbtf-beats")
    sides = row.bounding_box()
    assert sides is not None
    row.dblclick(position={"x": sides["width"] - 2, "y": 8})


def by_button(lab: Lab) -> None:
    lab.page.locator(".nbtf-open").click()


@pytest.mark.parametrize("choose", with_nightly([by_key], [by_column, by_button]), ids=lambda choose: choose.__name__)
def test_docked_view_opens_the_recording_of_the_cell(
    new_lab: Callable[..., Lab], choose: Callable[[Lab], None]
) -> None:
    lab = new_lab(viewport={"width": 1366, "height": 900})
    lab.open(START, "%devices --live", STEP.replace("\nrecord", ""))
    lab.run(0, 1, 2)
    lab.page.locator(".nbtf-panel .nbtf-open:enabled").wait_for()

    choose(lab)
    wait_for_view(lab)

    title = lab.page.locator(".lm-DockPanel-tabBar .lm-mod-current .lm-TabBar-tabLabel")
    assert "Timeline: cell 3" == title.first.inner_text()
    assert (choose is by_button) == ("GPU:1" != lab.page.evaluate("() => document.activeElement.ariaLabel"))
    assert [] == lab.axe(".nbtf-opened")


@pytest.mark.nightly
@pytest.mark.parametrize("theme", with_nightly(["Dark"], ["Light"]))
def test_axe_finds_nothing(new_lab: Callable[..., Lab], theme: str) -> None:
    lab = new_lab()
    lab.server.theme(theme)
    lab.open(START, STEP)
    lab.run(0, 1)
    wait_for_view(lab)

    problems = lab.axe(VIEW)
    lab.page.locator(VIEW).get_by_role("tab", name="Memory").click()
    problems += lab.axe(VIEW)

    assert [] == problems


AT_FULL_SIZE = """view => [...view.querySelectorAll('.nbtf-time > svg, .nbtf-plane > svg')]
    .filter(svg => svg.checkVisibility())
    .map(svg => svg.getBoundingClientRect().width / svg.width.baseVal.value)"""


@pytest.mark.nightly
@pytest.mark.parametrize("width", with_nightly([400], [600, 1366]))
def test_view_fits_its_output(new_lab: Callable[..., Lab], width: int) -> None:
    lab = new_lab(viewport={"width": width, "height": 900})
    lab.open(START, STEP)
    lab.run(0, 1)
    wait_for_view(lab)

    for tab in ("Timeline", "Memory", "Stacked by holder", "Treemap"):
        lab.page.locator(VIEW).get_by_role("tab", name=tab).click()
        lab.next_frame()
        assert 0 == lab.overflow(VIEW)
        assert {1.0} == set(lab.page.locator(VIEW).evaluate(AT_FULL_SIZE))  # it scrolls: smaller, nobody could read it
