"""Do the memory views of recordings and of snapshots zoom, select and scrub alike, by mouse and by keyboard?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.snapshots.page import devices_to_view, snapshot_page
from tests.browser.test_docs import axe
from tests.machines import machine
from tests.notebook.snapshots.samples import sample
from tests.notebook.stills.test_memory_pictures import fragments
from tests.rings import paired

KINDS = ["snapshot", "recording"]
VIEWS = ["Memory", "Stacked by holder"]
DRAWN = "plane => plane.querySelector('svg').innerHTML"
SELECTED = "() => getSelection().toString()"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a snapshot, and that of a recording."""
    folder = tmp_path_factory.mktemp("memory")
    snapshot = sample(failure=False)
    (folder / "snapshot.html").write_text(snapshot_page(snapshot, devices_to_view(snapshot)), encoding="utf-8")
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            fragments()
        record.to_html(folder / "recording.html")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


@pytest.fixture
def shown(open_page: Callable[..., Any], pages: dict[str, Path]) -> Any:
    """Opens the page of a kind at a view; returns the page and the picture."""
    opened: list[Any] = []

    def show(kind: str, view: str, **options: Any) -> tuple[Any, Any]:
        page = open_page(offline=True, bypass_csp=True, **options)
        opened.append(page)
        page.goto(pages[kind].as_uri())
        page.get_by_role("tab", name=view, exact=True).click()
        plane = page.locator(".nbtf-plane").locator("visible=true")
        plane.locator("svg text").first.wait_for()
        return page, plane

    yield show
    for page in opened:
        page.close()


def next_frame(page: Any) -> None:
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def point(plane: Any, across: float) -> tuple[float, float]:
    """A place in the picture, at a share of its width."""
    box = plane.bounding_box()
    return box["x"] + 70 + (box["width"] - 280) * across, box["y"] + 200


def drag(page: Any, plane: Any, begin: float, end: float) -> None:
    page.mouse.move(*point(plane, begin))
    page.mouse.down()
    page.mouse.move(*point(plane, end), steps=3)
    page.mouse.up()
    next_frame(page)


def step_of(page: Any, plane: Any) -> int:
    next_frame(page)
    return int(plane.get_attribute("aria-valuenow"))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_wheel_zooms_about_the_pointer(shown: Callable[..., Any], kind: str, view: str) -> None:
    page, plane = shown(kind, view)
    before = plane.evaluate(DRAWN)
    page.mouse.click(*point(plane, 0.3))
    step = step_of(page, plane)

    page.keyboard.down("Control")
    page.mouse.wheel(0, -500)
    page.keyboard.up("Control")
    next_frame(page)
    zoomed = plane.evaluate(DRAWN)
    page.mouse.click(*point(plane, 0.3))

    assert before != zoomed
    assert abs(step - step_of(page, plane)) <= 1


PIXELS = """plane => [plane.querySelector("svg").innerHTML, ...[...plane.querySelectorAll("canvas:not([hidden])")].map(
  (canvas) => canvas.toDataURL())]"""


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_looks_the_same_after_a_zoom(shown: Callable[..., Any], kind: str, view: str) -> None:
    page, plane = shown(kind, view)
    pictures: dict[str, Any] = {}
    for scheme in ("light", "dark", "light"):
        page.emulate_media(color_scheme=scheme)
        next_frame(page)
        whole = plane.evaluate(PIXELS)
        assert pictures.setdefault(scheme, whole) == whole

        plane.press("+")
        next_frame(page)
        assert plane.evaluate(PIXELS) != whole
        plane.press("0")
        next_frame(page)
        assert plane.evaluate(PIXELS) == whole
    if kind == "snapshot" and view == "Memory":
        assert len(pictures["light"]) > 1
        assert pictures["light"][1:] != pictures["dark"][1:]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_dragging_selects_steps_and_shows_their_sums(shown: Callable[..., Any], kind: str, view: str) -> None:
    page, plane = shown(kind, view)
    panel, handles = page.locator(".nbtf-range:visible"), page.locator(".nbtf-plane-stage .nbtf-time-grip:visible")

    drag(page, plane, 0.2, 0.6)
    first, last = (int(handles.nth(side).get_attribute("aria-valuenow")) for side in (0, 1))
    words = panel.inner_text()
    before = plane.evaluate(DRAWN)
    plane.press("f")
    next_frame(page)

    assert f"steps {first + 1} to {last + 1} selected" in words
    assert "most in use" in words
    assert "allocated, by line" in words
    assert last + 1 == step_of(page, plane)  # the scrubber follows the pointer
    assert before != plane.evaluate(DRAWN)
    plane.press("Escape")
    next_frame(page)
    assert 0 == panel.count()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_keys_do_what_the_mouse_does(shown: Callable[..., Any], kind: str, view: str) -> None:
    page, plane = shown(kind, view)
    whole = plane.evaluate(DRAWN)
    plane.focus()
    seen: list[str] = []
    for key in ("+", "a", "m", "f", "-", "0"):
        plane.press(key)
        next_frame(page)
        seen.append(plane.evaluate(DRAWN))
    handle = page.locator(".nbtf-plane-stage .nbtf-time-grip:visible").last
    before = int(handle.get_attribute("aria-valuenow"))
    handle.press("ArrowLeft")
    next_frame(page)

    assert whole != seen[0] != seen[1]
    assert whole == seen[-1]
    assert int(handle.get_attribute("aria-valuenow")) < before


def test_scrubbing_selects_no_text_and_its_handle_no_range(shown: Callable[..., Any]) -> None:
    page, plane = shown("recording", "Memory")
    grip = plane.locator(".nbtf-plane-grip").bounding_box()
    middle = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    before = step_of(page, plane)

    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 200, middle[1] - 150, steps=4)
    page.mouse.up()

    assert step_of(page, plane) < before
    assert 0 == page.locator(".nbtf-range:visible").count()
    drag(page, plane, 0.1, 0.9)
    assert "" == page.evaluate(SELECTED)


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_that_cannot_be_dragged_have_no_handle(shown: Callable[..., Any], kind: str) -> None:
    page, plane = shown(kind, "Treemap")
    drag(page, plane, 0.1, 0.6)

    assert 0 == page.locator(".nbtf-range:visible, .nbtf-plane-grip:visible, .nbtf-time-grip:visible").count()
    assert "auto" == plane.evaluate("plane => getComputedStyle(plane).cursor")
    assert "" == page.evaluate(SELECTED)


def test_side_of_the_plane_is_no_place_to_drag(shown: Callable[..., Any]) -> None:
    page, plane = shown("snapshot", "Memory")
    box = plane.bounding_box()

    page.mouse.move(*point(plane, 0.3))
    over = plane.evaluate("plane => getComputedStyle(plane).cursor")
    page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 200)

    assert ("crosshair", "auto") == (over, plane.evaluate("plane => getComputedStyle(plane).cursor"))


def test_whole_stack_of_a_piece_is_shown_with_frames_of_libraries_folded(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    snapshot = sample(failure=False)
    library = snapshot.stacks[0][0]
    own = snapshot.stacks[0][1]
    deep = tuple(library._replace(line=line) for line in range(40))
    snapshot = type(snapshot)(
        snapshot.source, snapshot.form, snapshot.segments, snapshot.traces, [(*deep, own)] * len(snapshot.stacks), {}
    )
    file = tmp_path / "stack.html"
    file.write_text(snapshot_page(snapshot, devices_to_view(snapshot)), encoding="utf-8")
    page = open_page(offline=True, bypass_csp=True)
    page.goto(file.as_uri())
    page.get_by_role("tab", name="Memory", exact=True).click()
    plane = page.locator(".nbtf-plane").locator("visible=true")
    plane.focus()
    frames = page.locator(".nbtf-plane-stack > li:visible")
    for _ in range(20):
        plane.press("ArrowUp")
        plane.press("Enter")
        next_frame(page)
        if frames.count():
            break

    texts = frames.all_inner_texts()
    page.locator(".nbtf-plane-stack summary:visible").press("Enter")
    unfolded = page.locator(".nbtf-plane-stack li li:visible").count()
    problems = axe(page)
    page.close()

    assert "40 frames of libraries" == texts[0]
    assert own.function in texts[1]
    assert 40 == unfolded
    assert [] == problems


@pytest.mark.parametrize("width", [320])
@pytest.mark.parametrize(("kind", "scheme"), paired(KINDS, ["light", "dark"]))
def test_axe_finds_nothing_in_a_narrow_window(shown: Callable[..., Any], kind: str, scheme: str, width: int) -> None:
    page, _ = shown(kind, "Memory", color_scheme=scheme, viewport={"width": width, "height": 760})
    problems: list[str] = []
    for view in VIEWS:
        page.get_by_role("tab", name=view, exact=True).click()
        plane = page.locator(".nbtf-plane").locator("visible=true")
        for key in ("ArrowUp", "ArrowUp", "Enter", "+", "m"):
            plane.press(key)
        next_frame(page)
        problems += axe(page)

    assert [] == problems
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
