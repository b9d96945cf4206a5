"""Does the page draw the allocator's chunks at every step of a device's memory?"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.sizes import gib, part_of
from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import MemoryHistory
from tests.machines import MIB, machine
from tests.notebook.stills.test_memory_pictures import GPU, at_random, fragments, history_of, train
from tests.rings import with_nightly

SCENES = {"fragments": fragments, "training": lambda: train(1), "random": lambda: at_random(5)}

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node; the browser tests draw the plane too")


@pytest.fixture(scope="module")
def scenes() -> dict[str, tuple[MemoryHistory, tf.runtime.Recording]]:
    """Histories of all kinds, with what was recorded."""
    recorded: dict[str, tuple[MemoryHistory, tf.runtime.Recording]] = {}
    for name, scene in SCENES.items():
        with machine(1, memory="64MiB"):
            with tf.runtime.recording() as record:
                scene()
            recorded[name] = history_of(record, 64 * MIB), record
    return recorded


def asked(tmp_path: Path, data: dict[str, Any], expression: str, language: str = "en") -> Any:
    """What the page's program answers; `history` is that of the data."""
    program = esm.joined(esm.in_order("plane_view", "picture"))
    words = catalogue.translation(language, catalogue.sections_in(program))
    file = tmp_path / "plane.mjs"
    begin = f"useWords({json.dumps(words)});\nconst history = historyOf({json.dumps(data)});\n"
    file.write_text(f"{program}\n{begin}console.log(JSON.stringify({expression}));\n", encoding="utf-8")
    ran = subprocess.run(["node", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@needs_node
@pytest.mark.parametrize("scene", list(SCENES))
def test_chunks_of_every_step_are_the_allocators(scenes: dict[str, Any], scene: str, tmp_path: Path) -> None:
    history, record = scenes[scene]
    chunks = "chunksAt(history, step).map(({ region, offset, size, piece }) => [region, offset, size, piece !== null])"
    listed = asked(tmp_path, memory_data(history), f"[...Array(history.steps).keys()].map((step) => {chunks})")

    replay = tf.runtime.MemoryReplay(history.device, record.regions_before())
    for event, drawn in zip(history.changes, listed, strict=True):
        replay.take(event)
        expected = [
            [region.region, chunk.offset, chunk.size, chunk.in_use]
            for region in replay.regions()
            for chunk in region.chunks
        ]
        assert expected == drawn
    assert len(listed) > 30


@needs_node
def test_sizes_are_written_as_python_writes_them(tmp_path: Path, scenes: dict[str, Any]) -> None:
    sizes = [
        0,
        1,
        700,
        1023,
        1280,
        1792,
        9472,
        2**20 - 1,
        2**20 * 5 // 4,
        2**20 * 7 // 4,
        1071120384,
        15246946304,
        5 << 30,
    ]
    written = "[sizeInWords(size), partInWords(size, 2 ** 30), partInWords(size, 2 ** 34)]"

    words = asked(tmp_path, memory_data(scenes["fragments"][0]), f"{json.dumps(sizes)}.map((size) => {written})")

    assert [[gib(size), part_of(size, 2**30), part_of(size, 2**34)] for size in sizes] == words


# In a browser


@pytest.fixture(scope="module")
def shown(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Opens the saved page of a scene at its memory, in one window without a network; it must end without an error."""
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("planes")
    for name, scene in SCENES.items():
        with machine(1, memory="64MiB"):
            with tf.runtime.recording() as record:
                scene()
            record.to_html(folder / f"{name}.html")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        troubles: list[str] = []

        page = running.new_context(offline=True, reduced_motion="reduce").new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))

        def opened(name: str) -> Any:
            page.goto((folder / f"{name}.html").as_uri())
            page.get_by_role("tab", name="Memory").click()
            page.locator(".nbtf-plane").focus()
            return page

        yield opened
        running.close()
        assert [] == troubles


def press(page: Any, *keys: str) -> int:
    """Presses keys in the plane; returns the step that it then shows."""
    for key in keys:
        page.keyboard.press(key)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return int(page.locator(".nbtf-plane").get_attribute("aria-valuenow")) - 1


DRAWN_CHUNKS = """() => [...document.querySelectorAll(".nbtf-plane [data-used]")].map(({ dataset, height }) =>
  [+dataset.region, +dataset.offset, +dataset.size, dataset.used === "true", height.baseVal.value])"""


@pytest.mark.parametrize("scene", with_nightly(["fragments"], ["training"]))
def test_scrubbing_draws_the_allocators_chunks(shown: Callable[[str], Any], scenes: dict[str, Any], scene: str) -> None:
    """Every step, by the keyboard, with no kernel: what the page's elements say is the allocator's list."""
    history, record = scenes[scene]
    page = shown(scene)
    replay = tf.runtime.MemoryReplay(GPU, record.regions_before())
    high = memory_data(history)["top"]
    assert press(page, "Home") == 0
    for step, event in enumerate(history.changes):
        replay.take(event)
        drawn = page.evaluate(DRAWN_CHUNKS)
        expected = [(region.region, chunk) for region in replay.regions() for chunk in region.chunks]
        rows = sorted((number, chunk.offset, chunk.size, chunk.in_use) for number, chunk in expected)
        assert rows == sorted(tuple(row[:4]) for row in drawn), step
        if history.refusals:  # the plane goes up to the limit
            assert [row[4] for row in drawn] == pytest.approx([row[2] / high * 330 for row in drawn], abs=1)
        assert press(page, "ArrowRight") == min(step + 1, history.steps - 1)


def test_keyboard_reaches_refusals_peaks_cells_and_chunks(shown: Callable[[str], Any], scenes: dict[str, Any]) -> None:
    history = scenes["fragments"][0]
    page = shown("fragments")
    refused, peak = history.refusals[0].step, history.peak
    assert press(page, "Home") == 0
    assert [press(page, "PageDown"), press(page, "PageDown")] == sorted([refused, peak])
    assert press(page, "PageUp", "PageDown", "PageDown") == max(refused, peak)
    firsts = [span.first for span in history.spans]
    assert press(page, "Home", "Shift+ArrowRight") == firsts[1]
    assert press(page, "End", "Shift+ArrowLeft") == firsts[-1]
    turn = press(page, "Home", "PageDown")
    pieces = len(page.evaluate(DRAWN_CHUNKS))
    said: list[str] = []
    for _ in range(pieces):
        press(page, "ArrowUp")
        said.append(page.locator(".nbtf-plane-detail").inner_text())
    assert sum(words.startswith("free: ") for words in said) == len(history.holes(turn))
    assert press(page, "ArrowDown", "ArrowDown", "Enter") == turn
    assert "created in test_memory_pictures.py" in page.locator(".nbtf-plane-detail").inner_text()


def test_pointer_drags_the_scrubber(shown: Callable[[str], Any], scenes: dict[str, Any]) -> None:
    page, steps = shown("fragments"), scenes["fragments"][0].steps
    box = page.locator(".nbtf-plane").bounding_box()
    page.mouse.move(box["x"] + 70, box["y"] + 250)
    page.mouse.down()
    first = press(page)
    page.mouse.move(box["x"] + 300, box["y"] + 250)
    second = press(page)
    page.mouse.up()
    assert (first, press(page, "End")) == (0, steps - 1)
    assert 0 < second < steps - 1


def test_bands_lie_in_a_layer_that_no_step_paints_again(shown: Callable[[str], Any]) -> None:
    page = shown("fragments")
    devtools = page.context.new_cdp_session(page)
    layers: list[list[dict[str, Any]]] = []
    devtools.on("LayerTree.layerTreeDidChange", lambda change: layers.append(change.get("layers", [])))
    for domain in ("DOM", "LayerTree"):
        devtools.send(f"{domain}.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    ground = devtools.send("DOM.querySelector", {"nodeId": root, "selector": ".nbtf-plane > svg"})["nodeId"]
    node = devtools.send("DOM.describeNode", {"nodeId": ground})["node"]["backendNodeId"]

    press(page, "Home", "ArrowRight", "ArrowRight")

    paints = [layer["paintCount"] for tree in layers for layer in tree if layer.get("backendNodeId") == node]
    assert 1 == len(set(paints) - {0}), "painted once, and 0 is before it"


@pytest.mark.parametrize("tab", ["Stacked by holder", "Treemap"])
def test_views_of_memory_look_at_one_step_and_one_chunk(shown: Callable[[str], Any], tab: str) -> None:
    page = shown("fragments")
    step = press(page, "Home", "PageDown", "ArrowRight", "ArrowUp", "ArrowUp", "Enter")
    said = page.locator(".nbtf-plane-detail").inner_text()

    page.get_by_role("tab", name=tab).click()
    panel = page.get_by_role("tabpanel")

    assert said == panel.locator(".nbtf-plane-detail").inner_text()
    assert str(step + 1) == panel.locator(".nbtf-plane").get_attribute("aria-valuenow")
    panel.locator(".nbtf-plane").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("tab", name="Memory").click()
    assert str(step) == page.get_by_role("tabpanel").locator(".nbtf-plane").get_attribute("aria-valuenow")


def test_click_on_a_box_says_who_made_and_who_freed_it(shown: Callable[[str], Any], scenes: dict[str, Any]) -> None:
    history, page = scenes["training"][0], shown("training")
    press(page, "PageDown", "PageUp")
    page.get_by_role("tab", name="Treemap").click()
    panel = page.get_by_role("tabpanel")
    alive = history.alive(int(panel.locator(".nbtf-plane").get_attribute("aria-valuenow")) - 1)
    box = panel.locator("[data-start]").first
    largest = next(band for band in alive if str(band.start) == box.get_attribute("data-start"))

    box.click()

    detail = panel.locator(".nbtf-plane-detail")
    detail.filter(has_text="region").wait_for()
    assert largest.shape in detail.inner_text()
    assert "created in test_memory_pictures.py" in detail.inner_text()


def test_table_has_the_chunks_of_the_step(shown: Callable[[str], Any], scenes: dict[str, Any]) -> None:
    page = shown("fragments")
    step = press(page, "End")

    page.get_by_role("button", name="Table").click()

    regions = scenes["fragments"][0].regions(step)
    page.locator("tbody tr").first.wait_for()
    assert sum(len(region.chunks) for region in regions) == page.locator("tbody tr").count()


BUTTONS = (
    "Previous step",
    "Next step",
    "Next step",
    "Previous failed allocation or peak",
    "Chunk below",
    "Chunk details",
)


def test_buttons_do_what_keys_do(shown: Callable[[str], Any], scenes: dict[str, Any]) -> None:
    page, peak = shown("fragments"), scenes["fragments"][0].peak
    assert press(page, "Home", "PageDown") == peak
    steps: list[int] = []
    for name in BUTTONS:
        page.get_by_role("button", name=name).click()
        steps.append(press(page))
    assert steps[:4] == [peak - 1, peak, peak + 1, peak]
    assert " · region 0, offset " in page.locator(".nbtf-plane-detail").inner_text()


def test_names_start_nothing(tmp_path: Path) -> None:
    """What a program calls its code is text, in the data and on the page."""
    nasty = "</script><img src=x onerror=alert(1)>"
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            exec(compile("held = [tf.zeros([2**20]) for _ in range(3)]", nasty, "exec"), {"tf": tf})
        record.to_html(tmp_path / "names.html")
    assert "<img" not in (tmp_path / "names.html").read_text(encoding="utf-8")
