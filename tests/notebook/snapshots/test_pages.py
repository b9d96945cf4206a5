"""Does the page of a snapshot show what the file contains, in a browser, without an error or a request?"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf.notebook import catalogue
from nbtf.notebook.snapshots import history, scene
from nbtf.notebook.snapshots.history import DeviceHistory, Window
from nbtf.notebook.snapshots.memory import memory_of
from nbtf.notebook.snapshots.overview import column_tops
from nbtf.notebook.snapshots.page import devices_to_view, frame_in_words, snapshot_page
from nbtf.notebook.snapshots.what_ifs import what_if_table
from tests.notebook.snapshots.samples import LIBRARY, STACKS, sample
from tests.notebook.views.test_plane import asked, needs_node
from tests.rings import seeds

LANGUAGES = (catalogue.ENGLISH, *catalogue.LANGUAGES)


@pytest.fixture(scope="module")
def opened(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Opens a page in a window without a network; it must end without an error and without a request."""
    from playwright.sync_api import sync_playwright

    file = tmp_path_factory.mktemp("snapshots") / "page.html"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        troubles: list[str] = []
        page = running.new_context(offline=True, reduced_motion="reduce").new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))

        def open_text(text: str, view: str = "") -> Any:
            file.write_text(text, encoding="utf-8")
            page.goto(file.as_uri())
            page.wait_for_selector(".nbtf-plane svg text")
            if view:  # each view is alone on the page, as if it were the first
                page.get_by_role("tab", name=view, exact=True).click()
                page.evaluate("() => document.querySelector('[role=tabpanel][hidden]').replaceChildren()")
            assert [] == troubles
            return page

        yield open_text
        running.close()
        assert [] == troubles


def text_of_page(seed: int = 0, **options: Any) -> str:
    snapshot = sample(seed, **options)
    return snapshot_page(snapshot, devices_to_view(snapshot))


def next_frame(page: Any) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_holders_in_the_page_add_up_to_the_peak(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page(failure=False))
    peak = int(DeviceHistory(sample(failure=False), 0).in_use.max())

    page.get_by_role("tab", name="Holders at the peak").click()
    figures = page.locator("tbody tr td:nth-child(2)").all_inner_texts()
    *rows, total = [int(text.replace(",", "")) for text in figures]

    assert len(rows) > 3
    assert (peak, peak) == (sum(rows), total)


def test_head_names_the_file_and_what_it_lacks(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page())

    head = page.locator(".nbtf-file").inner_text()

    assert "run.pickle" in head
    assert "measured on a card" in head
    assert "simulated" not in page.locator("main").inner_text()
    assert re.search(r"history begins late: \d+ pieces? of memory", head)
    assert "3 events of other types are not shown: segment_magic" in head


def test_failed_request_says_what_was_missing(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page(), "Memory")

    texts = " ".join(page.locator(".nbtf-plane").first.locator("text").all_text_contents())

    assert "out of memory" in texts
    assert "The card had 3 MiB free." in texts
    assert "2 MiB were missing on the card." in texts


def test_keys_and_wheel_zoom_and_the_scrubber_stays_in_sight(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page(failure=False), "Memory")
    plane = page.locator(".nbtf-plane").first
    labels = "() => [...document.querySelectorAll('.nbtf-plane svg')][0].textContent"
    whole = page.evaluate(labels)

    plane.focus()
    page.keyboard.press("+")
    next_frame(page)
    nearer = page.evaluate(labels)
    page.keyboard.press("Home")
    next_frame(page)
    marks = page.evaluate("() => document.querySelectorAll('.nbtf-plane svg')[1].querySelectorAll('line').length")
    page.keyboard.press("0")
    next_frame(page)

    assert whole != nearer
    assert marks > 0
    assert whole == page.evaluate(labels)
    assert "1" == plane.get_attribute("aria-valuenow")


def test_click_opens_the_stack_of_a_piece(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page(failure=False), "Memory")
    box = page.locator(".nbtf-plane").first.bounding_box()
    frames = page.locator(".nbtf-plane-stack li")

    for y in range(140, 400, 8):
        page.mouse.click(box["x"] + 300, box["y"] + y)
        next_frame(page)
        if frames.count():
            break

    shown = frames.all_inner_texts()
    assert frame_in_words(LIBRARY) == shown[0]
    assert shown[1] in {frame_in_words(stack[1]) for stack in STACKS}
    assert "address 0x7f" in page.locator(".nbtf-plane-detail").first.inner_text()


def test_pieces_are_grouped_by_size_as_well(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page(failure=False))
    plane = page.locator(".nbtf-plane").first

    page.get_by_label("Group by").first.select_option(label="size")
    next_frame(page)

    texts = plane.locator("text").all_text_contents()
    assert "1 MiB to 4 MiB" in texts
    assert not any("model_" in text for text in texts)


def test_page_opens_with_the_whole_run_at_a_glance(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page())

    assert ["Stacked by holder", "Memory"] == page.get_by_role("tab").all_inner_texts()[:2]
    assert "Stacked by holder" == page.get_by_role("tab", selected=True).inner_text()
    assert "by holder, over time" in page.locator(".nbtf-plane").text_content()


@needs_node
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("width", [480, 700, 1440])
def test_stack_shows_the_highest_step_of_each_px_and_no_line_covers_it(width: int, seed: int, tmp_path: Path) -> None:
    snapshot = sample(seed, steps=2 * width)
    viewed = devices_to_view(snapshot)
    (device,) = viewed.histories
    words = {**catalogue.words("timeline"), **catalogue.words("snapshot")}
    data = memory_of(device, Window(0, device.steps), viewed.naming, words)
    step = int(device.in_use.argmax())
    layers = f"[stackGround(layout).marks, stackMoment(layout, {step}).marks]"
    places = (
        "Array.from({ length: history.steps }, (_, step) => [layout.axis.middle(step), layout.y(history.inUse[step])])"
    )
    program = f"((layout) => [...{layers}, {places}])(stackLayout(history, {width}))"

    ground, moment, places = asked(tmp_path, data, program)

    tops: dict[float, set[float]] = {}
    for x, y in [point for mark in ground if mark["mark"] == "path" for point in mark["points"]]:
        tops.setdefault(x, set()).add(y)
    edges = sorted(tops)
    lines = [mark for mark in (*ground, *moment) if mark["mark"] == "line" and mark["x1"] == mark["x2"]]
    assert all(float(edge).is_integer() for edge in edges)
    columns = [min(tops[begin] & tops[end]) for begin, end in pairwise(edges)]
    for x, y in places:
        nearby = [min(max(bisect_right(edges, x + part) - 1, 0), len(columns) - 1) for part in (-0.5, 0.5)]
        assert min(columns[nearby[0]], columns[nearby[1]]) <= y + 1e-6  # an edge is moved by half a px at most
    assert len(lines) > 1
    peak = min(y for _, y in places)
    assert all(max(line["y1"], line["y2"]) <= peak + 1e-6 for line in lines)


def test_pieces_without_stacks_are_labelled_with_their_size(opened: Callable[..., Any]) -> None:
    snapshot = sample(failure=False)
    for trace in snapshot.traces:
        trace.stack[:] = -1
    segments = [
        each._replace(blocks=tuple(block._replace(stack=-1) for block in each.blocks)) for each in snapshot.segments
    ]
    snapshot = MemorySnapshot("run.pickle", "pickle", segments, snapshot.traces, [], {})
    text = snapshot_page(snapshot, devices_to_view(snapshot))

    for view in ("Memory", "Treemap"):
        page = opened(text, view)
        texts = page.locator(".nbtf-plane").first.locator("text").all_text_contents()
        assert "no st" not in " ".join(texts)
        assert sum(bool(re.fullmatch(r"[\d.]+ [KM]iB", each)) for each in texts) > 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_is_in_the_language_that_is_asked_for(
    opened: Callable[..., Any], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    words = catalogue.words("snapshot")

    page = opened(text_of_page())

    head = page.locator(".nbtf-file").inner_text()
    assert catalogue.filled(words["about"], form="pickle") in head
    assert words["peakReserved"] in head
    assert 1 == page.get_by_role("tab", name=words["holders"]).count()


@pytest.mark.parametrize("seed", seeds(20))
def test_rows_of_holders_add_up(seed: int) -> None:
    snapshot = sample(seed)
    viewed = devices_to_view(snapshot)
    (device,) = viewed.histories

    table = scene._holders(device, viewed.naming, catalogue.words("snapshot"))

    *rows, total = [int(row[1].replace(",", "")) for row in table["rows"]]
    assert (device.account.peak.allocated, int(device.in_use.max())) == (sum(rows), total)


@pytest.mark.parametrize("seed", seeds(20))
def test_levels_of_steps_are_those_of_the_account(seed: int) -> None:
    device = DeviceHistory(sample(seed), 0)

    for state in range(1, device.account.states, 7):
        level, step = device.account.level(state), device.step_after(state)
        if device.numbers[state]:
            assert (level.active, level.reserved) == (device.in_use[step], device.reserved[step])


def test_long_history_has_an_overview_and_a_window(opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_STEPS", 60)
    text = text_of_page(failure=False)
    data = re.search(r'id="nbtf-scene">(.*?)</script>', text)
    assert data is not None
    memory = json.loads(data[1])["scene"]["memory"][0]
    device = DeviceHistory(sample(failure=False), 0)

    page = opened(text, "Memory")

    assert 60 == memory["steps"]
    assert device.window().first <= device.peak < device.window().end
    assert f"All {device.steps} steps" in page.locator(".nbtf-plane-overview").first.text_content()
    assert f"of {device.steps}" in page.locator(".nbtf-plane").first.text_content()


def test_overview_has_the_highest_step_of_each_column() -> None:
    levels = np.array([1, 5, 2, 2, 9, 0, 3])

    assert [1, 2, 4] == column_tops(levels, 3).tolist()


def test_window_between_events_is_what_was_asked_for() -> None:
    device = DeviceHistory(sample(), 0)

    window = device.window_between(10, 40)

    assert Window(device.step_of(10), device.step_of(39) + 1) == window
    with pytest.raises(ValueError, match="do not exist"):
        device.window_between(10, 10**6)


def test_names_are_shown_as_text(opened: Callable[..., Any]) -> None:
    nasty = "</script><img src=x onerror=alert(1)>.py"
    snapshot = sample(failure=False)
    stacks = [tuple(frame._replace(file=nasty, function=nasty) for frame in stack) for stack in STACKS]
    snapshot = type(snapshot)(nasty, "pickle", snapshot.segments, snapshot.traces, stacks, {nasty: nasty})

    page = opened(snapshot_page(snapshot, devices_to_view(snapshot)))

    assert 0 == page.locator("img").count()
    assert nasty in page.locator(".nbtf-file").inner_text()


def test_anonymous_page_has_no_personal_folder() -> None:
    snapshot = sample()

    text = snapshot_page(snapshot, devices_to_view(snapshot, anonymous=True))

    assert "/home/ann" not in text
    assert "site-packages/torch/nn/functional.py, line 30 in linear" in text
    assert "/opt/" not in text


def test_unknown_device_is_an_error_that_lists_the_devices() -> None:
    with pytest.raises(ValueError, match=r"does not contain GPU:3\. It contains: GPU:0\."):
        devices_to_view(sample(), 3)


def test_narrow_page_does_not_overflow(opened: Callable[..., Any]) -> None:
    page = opened(text_of_page())
    page.set_viewport_size({"width": 700, "height": 900})
    next_frame(page)

    wide = page.evaluate("() => document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 720})

    assert wide <= 700


@pytest.mark.parametrize("width", [700, 1440])
def test_names_in_a_table_break_between_their_parts_and_all_columns_fit(
    opened: Callable[..., Any], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, catalogue.ENGLISH)
    snapshot = sample()
    viewed = devices_to_view(snapshot)
    table: Any = what_if_table(snapshot, viewed.histories[0], [], "300MiB")
    long = "per_process_memory_fraction:0.5,garbage_collection_threshold:0.8"
    table["rows"].append([long, *table["rows"][0][1:]])
    page = opened(snapshot_page(snapshot, viewed, what_ifs=[{"name": "GPU:0", "tables": [table]}]))
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("tab", name="What if").click()
    next_frame(page)

    lines = page.evaluate(LINES_OF_NAMES)
    scroll, client = page.evaluate(
        "() => ['scrollWidth', 'clientWidth'].map((name) => document.querySelector('.nbtf-tables .nbtf-scroll')[name])"
    )

    assert len(lines) > 5
    assert [] == [line for line in lines if re.search(r"[a-z0-9]$", line[0]) and re.match(r"[a-z0-9]", line[1])]
    assert scroll <= client


LINES_OF_NAMES = """() => [...document.querySelectorAll('.nbtf-tables tbody th')].flatMap((cell) => {
  const lines = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.length; at++) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const top = range.getBoundingClientRect().top;
      if (lines.length && Math.abs(lines.at(-1).top - top) < 2) lines.at(-1).text += node.data[at];
      else lines.push({ top, text: node.data[at] });
    }
  }
  return lines.map(({ text }, i) => [lines[i - 1]?.text ?? "", text]);
})"""
"""Returns each line in the first column of a table, with the line above it."""
