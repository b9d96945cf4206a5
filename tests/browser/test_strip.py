"""What stays in sight beside a running cell where the page has no panels, as in VS Code and Colab?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook.stills import esm
from tests.browser.lab import UNREADABLE
from tests.browser.saved import Saved, State
from tests.rings import with_nightly

HOST = Path(__file__).with_name("page_without_shell.js")
STRIP, DEVICE, STAGE = ".nbtf-live-strip", ".nbtf-strip-device", ".nbtf-stage"
THEMES = {
    "light": "--vscode-editor-background: #fff; --vscode-editor-foreground: #222; --vscode-focusBorder: #0b57d0",
    "dark": "--vscode-editor-background: #1e1e1e; --vscode-editor-foreground: #ddd; --vscode-focusBorder: #8ab4ff",
}
HEIGHT = 36

Page = Any
"""A page of playwright's."""


@pytest.fixture
def new_page(open_page: Callable[..., Any]) -> Iterator[Callable[..., Page]]:
    """Makes pages without a shell; each must end without an error."""
    pages: list[Page] = []
    errors: list[str] = []

    def make(width: int = 700, theme: str = "light") -> Page:
        page = open_page(viewport={"width": width, "height": 700})
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        style = esm.style("device_map")
        page.set_content(
            f"<html lang=en><title>cells</title><style>body {{ {THEMES[theme]} }} {style}</style>"
            f"<body class='vscode-{theme}' style='background: var(--vscode-editor-background)'><main></main>"
        )
        page.add_script_tag(path=HOST)
        page.evaluate("script => pageWithoutShell(script)", esm.script("device_map", "deviceMap"))
        return page

    yield make
    for page in pages:
        page.close()
    assert [] == errors


@pytest.fixture
def state(saved: Saved) -> State:
    """What a kernel tells while a cell runs on GPU:1."""
    state = saved.states()["DeviceMap"]
    at = state["columns"].index("device")
    rows = [row for row in state["steps"] if state["words"][row[at]] == "GPU:1"]
    return state | {"busy": True, "ended": False, "wall": time.time(), "steps": rows}


def on_gpus(state: State, count: int, work: int = 0) -> State:
    """The same on so many GPUs, each of which has done some work."""
    host, _, gpu = state["devices"]
    gpus = [gpu | {"name": f"GPU:{n}", "work": work, "phases": [1, 1, 0, 0, 0]} for n in range(count)]
    return state | {"devices": [host, *gpus], "heard": state["heard"] + work}


def show(page: Page, *states: State) -> None:
    """Shows the view when the first state is there, then the others as they come."""
    page.evaluate("state => set('state', state)", states[0])
    page.evaluate("show('cell')")
    page.locator(DEVICE).first.wait_for()
    tell(page, *states[1:])


def tell(page: Page, *states: State) -> None:
    """Tells the view states as they come, and waits until they are drawn."""
    for state in states:
        page.evaluate("state => set('state', state)", state)
    next_frame(page)


def next_frame(page: Page) -> None:
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def unreadable(page: Page) -> list[str]:
    return page.locator(STRIP).evaluate(f"strip => ({UNREADABLE.read_text(encoding='utf-8')})(strip)")


def axe(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    result = Axe().run(page, "#cell", {"runOnly": ["wcag2a", "wcag2aa"]}).response
    assert result["passes"]
    return [f"{problem['id']}: {node['html']}" for problem in result["violations"] for node in problem["nodes"]]


@pytest.mark.parametrize(
    ("width", "theme"),
    with_nightly([(320, "light"), (700, "dark")], [(320, "dark"), (700, "light"), (1280, "light"), (1280, "dark")]),
)
def test_strip_is_36_pixels_and_readable(new_page: Callable[..., Page], state: State, width: int, theme: str) -> None:
    page = new_page(width, theme)
    show(page, state)

    for count in (1, 4, 8, 9, 16, 64):
        tell(page, *[on_gpus(state, count, work) for work in (0, 5, 20)])
        box = page.locator(".nbtf-view").bounding_box()
        assert HEIGHT == box["height"]
        assert box["width"] <= width
        assert ([], []) == (unreadable(page), axe(page)), count


def test_strip_says_what_runs_where_and_how_hard(new_page: Callable[..., Page], state: State) -> None:
    page = new_page()
    show(page, on_gpus(state, 2), on_gpus(state, 2, work=9))
    devices = page.locator(DEVICE)

    assert ["GPU:0MatMul", "GPU:1MatMul"] == devices.all_text_contents()
    assert ["GPU:1"] == page.locator(f"{DEVICE}[data-running]").evaluate_all(
        "all => all.map(one => one.dataset.device)"
    )
    assert 2 == page.locator(f"{DEVICE} .nbtf-beat-backward[d]").count()
    assert "live" == page.locator(".nbtf-strip-badge").text_content()
    assert "Devices, live: GPU:0 MatMul, GPU:1 MatMul" == page.locator(STRIP).get_attribute("aria-label")


def test_devices_without_room_are_summed_up(new_page: Callable[..., Page], state: State) -> None:
    page = new_page(320)
    show(page, on_gpus(state, 20), on_gpus(state, 20, work=9))

    assert ["20 devicesGPU:1 MatMul"] == page.locator(DEVICE).all_text_contents()
    assert 1 == page.locator(f"{DEVICE} .nbtf-beat-forward[d]").count()


@pytest.mark.parametrize("press", ["click", "Enter", "Space"])
def test_whole_view_opens_below_and_closes(new_page: Callable[..., Page], state: State, press: str) -> None:
    page = new_page()
    show(page, state)
    strip, stage = page.locator(STRIP), page.locator(STAGE)
    heights: list[float] = []
    opened: list[bool] = []
    for _ in range(3):
        heights.append(page.locator(".nbtf-view").bounding_box()["height"])
        opened.append(stage.is_visible() and strip.get_attribute("aria-expanded") == "true")
        if press == "click":
            strip.click()
        else:
            strip.focus()
            page.keyboard.press(press)
        next_frame(page)

    assert [False, True, False] == opened
    assert HEIGHT == heights[0] == heights[2] < heights[1] / 5
    assert [] == axe(page)


def test_strip_of_the_next_cell_goes_on_with_the_heartbeat(new_page: Callable[..., Page], state: State) -> None:
    page = new_page()
    page.evaluate("state => set('state', state)", on_gpus(state, 2))
    page.evaluate("show('before')")
    page.evaluate("state => set('state', state)", on_gpus(state, 2, work=9))
    show(page, on_gpus(state, 2, work=12), on_gpus(state, 2, work=30))
    columns = "d => d.getAttribute('d').split('M').length - 1"

    beats = page.locator(f"#cell {DEVICE} .nbtf-beat-forward").first
    before = beats.evaluate(columns)
    page.evaluate("remove('before')")

    assert 3 == before
    assert ([1, 1, -1], {False}) == (
        [content["n"] for content in page.evaluate("sent")],
        {content["panels"] for content in page.evaluate("sent") if content["n"] > 0},
    )


CHANGES: dict[str, State] = {
    "idle": {"busy": False},
    "compiling": {"compiling": "GPU:1"},
    "stale": {"hb": -1},
    "live": {},
    "ended": {"ended": True},
}
"""What a state says of itself, and how it differs from one of a cell that runs."""


def test_dot_badge_and_label_change_with_each_state_in_one_drawing(new_page: Callable[..., Page], state: State) -> None:
    page = new_page()
    show(page, state)
    # The frame in which the state is drawn: a tab that goes to the background is drawn no more.
    drawn = """state => new Promise(drawn => {
        set("state", state);
        requestAnimationFrame(() => {
            const strip = document.querySelector(".nbtf-live-strip");
            drawn([strip.dataset.state, strip.querySelector(".nbtf-strip-badge").textContent, strip.ariaLabel]);
        });
    })"""
    drawings = [page.evaluate(drawn, {**state, "wall": time.time(), **change}) for change in CHANGES.values()]

    assert list(CHANGES) == [dot for dot, _, _ in drawings]
    for _, badge, label in drawings:
        assert label.startswith(f"Devices, {badge}: GPU:0 "), drawings


def test_view_that_no_kernel_feeds_is_whole(new_page: Callable[..., Page], state: State) -> None:
    page = new_page()
    page.evaluate("state => set('state', state)", state | {"wall": 1e9})
    page.evaluate("show('cell')")
    page.locator(STAGE).wait_for()
    whole = page.locator(STRIP).count()

    page.evaluate("hear({kind: 'fed'})")
    page.locator(STRIP).wait_for()

    assert 0 == whole
    assert not page.locator(STAGE).is_visible()
