"""Does the saved page draw the recording by itself, and let in nothing else?"""

from __future__ import annotations

import errno
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._storage import drafts
from nbtf.notebook import catalogue
from nbtf.notebook.stills.schedule import Pieces, Schedule, Transfer, Work, timed
from nbtf.notebook.stills.timeline_data import timeline_data
from nbtf.notebook.views import page
from tests.machines import cluster, machine
from tests.notebook.stills.test_timeline import RECORDED
from tests.rings import with_nightly

NASTY = "</script><img src=x onerror=alert(1)><!--<script>"
CARDS = {"step": range(4), "lines": range(2)}


@pytest.fixture(scope="module")
def records() -> Iterator[dict[str, tf.runtime.Recording]]:
    """All recordings, on four simulated cards."""
    with machine(4, model="Tesla K20m"):
        yield {name: record() for name, record in RECORDED.items()}


@pytest.fixture(scope="module")
def opened(browser: str) -> Iterator[Callable[..., Any]]:
    """Opens a file in a window without a network; it must end without an error and without a request.

    Windows of the same options are one, which shows the file that was opened last.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        troubles: list[str] = []
        asked: list[str] = []
        windows: dict[str, Any] = {}

        def new_window(**options: Any) -> Any:
            shown = running.new_context(offline=True, reduced_motion="reduce", **options).new_page()
            shown.on("console", lambda message: troubles.append(message.text))
            shown.on("pageerror", lambda error: troubles.append(str(error)))
            shown.on("dialog", lambda dialog: troubles.append(dialog.message))
            shown.on("request", lambda request: asked.append(request.url))
            return shown

        def window(file: Path, **options: Any) -> Any:
            shown = windows.get(repr(options)) or windows.setdefault(repr(options), new_window(**options))
            asked.clear()
            shown.goto(file.as_uri())
            if options.get("java_script_enabled", True):
                shown.wait_for_selector(".nbtf-time svg text")
            assert ([], [file.as_uri()]) == (troubles, asked)
            return shown

        yield window
        running.close()
        assert [] == troubles


def scheduled(record: tf.runtime.Recording) -> Schedule:
    return timed(record.snapshot())


def exposing(text: str) -> str:
    """A saved page whose pure functions a test can call."""
    names = "timeline, timelineScene, WORDS, opHasBlock"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    return text.replace("\nshowPage();\n", f"\nshowPage();\nObject.assign(window, {{{names}}});\n")


def dense_schedule() -> Schedule:
    """Two lanes of so many ops that columns are read off sums, and not added up op by op."""
    draw = random.Random(0)
    ops: list[Work] = []
    for lane in ("CPU:0", "GPU:0"):
        start = 0.0
        for _ in range(20_000):
            seconds, phase = draw.choice([1e-9, 1e-6, 2e-6, 7e-5]), draw.choice(["", "forward", "backward"])
            ops.append(Work(lane, start, seconds, "MatMul", phase, "", None, None, None))
            start += seconds + draw.choice([0.0, 1e-6])
    by_start = Pieces.of(sorted(ops, key=lambda work: work.start))
    return Schedule("modelled", ("CPU:0", "GPU:0"), by_start, Pieces[Transfer].of([]), (), len(ops), 0)


OUTSIDE = """([data, windows]) => {
  const scene = timelineScene(data);
  return windows.flatMap(([first, last, width]) => {
    const [from, to] = [first * scene.seconds, last * scene.seconds];
    const picture = timeline(scene, { from, to }, width, WORDS.timeline);
    const { begin, end } = picture.parts.scale;
    const columns = picture.marks.flatMap((mark) => (mark.mark === "boxes" ? mark.sides : []));
    const blocks = picture.marks.filter((mark) => mark.data?.op !== undefined);
    const sides = [...columns, ...blocks.map((mark) => [mark.x, mark.y, mark.width])];
    return sides.filter(([x, , length]) => length < 0 || x < begin - 0.1 || x + length > end + 0.1);
  });
}"""


def test_nothing_stands_outside_of_the_lane_of_a_window(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(exposing(page.page(records["host"].snapshot())), encoding="utf-8")
    draw = random.Random(1)
    widths = [draw.uniform(1e-4, 1.0) ** 3 for _ in range(60)]
    starts = [draw.uniform(0.0, 1.0 - width) for width in widths]
    windows = [[start, start + width, draw.randint(480, 1600)] for start, width in zip(starts, widths, strict=True)]

    outside = opened(file).evaluate(OUTSIDE, [timeline_data(dense_schedule(), line_of), windows])

    assert [] == outside


def line_of(site: tf.runtime.Site) -> str:
    return f"{site[0]}, line {site[1]}: loss = model(x)" if site else ""


LANE_SUMS = """() => {
  const scene = timelineScene(JSON.parse(document.getElementById("nbtf-scene").textContent).scene.timeline);
  const box = ([x, y, width, height]) => ({ y, width, height });
  const areas = (mark) => (mark.mark === "boxes" ? mark.sides.map(box) : mark.data?.op !== undefined ? [mark] : []);
  const busyIn = ({ start, seconds }, number, from, to) =>
    Math.max(0, Math.min(start[number] + seconds[number], to) - Math.max(start[number], from));
  const answers = [];
  const measure = (from, to) => {
    const picture = timeline(scene, { from, to }, 960, WORDS.timeline);
    const drawn = picture.marks.flatMap(areas);
    const boxed = new Set(picture.marks.map((mark) => mark.data?.copy));
    for (const { number, y, height } of picture.parts.lanes.filter(({ name }) => name.startsWith("GPU"))) {
      const lane = scene.lanes[number];
      const inside = drawn.filter((mark) => mark.y >= y - 0.1 && mark.y + mark.height <= y + height + 0.1);
      let seconds = 0;
      for (let op = lane.first; op < lane.last; op++) seconds += busyIn(scene.ops, op, from, to);
      for (const copy of lane.copies) if (!boxed.has(copy)) seconds += busyIn(scene.copies, copy, from, to);
      const area = inside.reduce((sum, mark) => sum + mark.width * mark.height, 0) / height;
      answers.push([area, (seconds / (to - from)) * picture.parts.scale.width, inside.length]);
    }
  };
  for (const parts of [1, 2, 5, 20]) {
    for (let part = 0; part < parts; part++) {
      measure((scene.seconds * part) / parts, (scene.seconds * (part + 1)) / parts);
    }
  }
  return answers;
}"""


@pytest.mark.parametrize("name", ["step", "lines"])
def test_in_every_window_lanes_are_as_full_as_the_devices_were_busy(
    name: str, records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(exposing(page.page(records[name].snapshot())), encoding="utf-8")

    answers = opened(file).evaluate(LANE_SUMS)

    assert 28 * len(CARDS[name]) == len(answers)
    for drawn, busy, pieces in answers:
        assert drawn == pytest.approx(busy, abs=1.0 + 0.1 * pieces)


def test_keys_zoom_pan_and_reach_every_op_of_a_lane(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["lines"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    schedule = scheduled(records["lines"])
    reachable = [work for work in schedule.ops_on("GPU:0") if not work.folded]
    reachable += [copy for copy in schedule.copies_of("GPU:0") if not copy.folded]
    named = {work.op for work in schedule.ops} | {"→ GPU:1"}
    lane = shown.get_by_role("slider", name="GPU:0")
    lane.focus()
    before = shown.locator(".nbtf-time-brush").bounding_box()

    for _ in range(3):
        shown.keyboard.press("+")
    shown.wait_for_function(
        "(width) => document.querySelector('.nbtf-time-brush').clientWidth < width", arg=before["width"] / 3
    )
    for _ in reachable:
        shown.keyboard.press("ArrowLeft")
    said = {step(shown, lane, "ArrowRight") for _ in reachable[1:]}

    assert str(len(reachable)) == lane.get_attribute("aria-valuenow") == lane.get_attribute("aria-valuemax")
    assert {str(number) for number in range(2, len(reachable) + 1)} == {number for number, _ in said}
    assert all(any(name in words for name in named) for _, words in said)
    shown.keyboard.press("Home")
    shown.wait_for_function(
        "(width) => document.querySelector('.nbtf-time-brush').clientWidth > width", arg=before["width"] - 9
    )


def drawn(shown: Any) -> None:
    """Waits until the page has drawn what was done last."""
    shown.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def step(shown: Any, lane: Any, key: str) -> tuple[str, str]:
    shown.keyboard.press(key)
    drawn(shown)
    return lane.get_attribute("aria-valuenow"), lane.get_attribute("aria-valuetext")


def test_wheel_and_brush_choose_the_window_and_a_click_an_op(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    overview, brush = shown.locator(".nbtf-time-overview"), shown.locator(".nbtf-time-brush")
    sides = overview.bounding_box()
    middle = sides["y"] + sides["height"] / 2
    whole = shown.locator(".nbtf-time-span").text_content()

    shown.mouse.move(sides["x"] + 100, middle)
    shown.mouse.down()
    shown.mouse.move(sides["x"] + 160, middle, steps=3)
    shown.mouse.up()
    drawn(shown)
    brushed = brush.bounding_box()
    shown.mouse.move(sides["x"] + 30, middle + 130)
    shown.keyboard.down("Control")
    shown.mouse.wheel(0, -100)
    drawn(shown)
    shown.keyboard.up("Control")
    shown.locator(".nbtf-time [data-op]").first.click()
    drawn(shown)

    assert re.fullmatch(r"0 ns to 903 µs, \d+ ops narrower than 2 px are drawn as density", whole)
    assert re.fullmatch(r"\S+ µs to 1\d\d µs", shown.locator(".nbtf-time-span").text_content())
    assert (sides["x"] + 100, 60) == pytest.approx((brushed["x"], brushed["width"]), abs=2)
    assert brush.bounding_box()["width"] == pytest.approx(40, abs=2)
    chosen = shown.locator(".nbtf-time [data-op]").first.locator("title").text_content()
    assert any(chosen.partition(",")[0] in words for words in valuetexts(shown))


def valuetexts(shown: Any) -> list[str]:
    lanes = shown.locator(".nbtf-time-lane").all()
    return [lane.get_attribute("aria-valuetext") for lane in lanes if lane.get_attribute("aria-valuenow") != "0"]


@pytest.mark.parametrize("width", [320, 640, 2560])
def test_page_fits_its_window(
    width: int, records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")

    shown = opened(tmp_path / "page.html", viewport={"width": width, "height": 700})

    assert width == shown.evaluate("document.documentElement.scrollWidth")


CUT_OFF = """() => {
    const shown = [...document.querySelectorAll('svg.nbtf-picture')].filter(node => node.checkVisibility());
    const cut = shown.flatMap(svg => {
        const { left, right } = svg.getBoundingClientRect();
        const isInside = box => box.left >= left - 1 && box.right <= right + 1;
        const texts = [...svg.querySelectorAll('text')];
        return texts.filter(text => !isInside(text.getBoundingClientRect())).map(text => text.textContent);
    });
    const places = [...document.querySelectorAll('.nbtf-plane-stage, .nbtf-time, .nbtf-places')];
    const scrolled = places.filter(node => node.checkVisibility() && node.scrollWidth > node.clientWidth);
    return [shown.length, [...cut, ...scrolled.map(node => node.className)]];
}"""


@pytest.mark.parametrize("scene", sorted(RECORDED))
@pytest.mark.parametrize("width", with_nightly([390], [320, 480, 600, 700]))
def test_every_picture_is_laid_out_for_its_place(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path, width: int, scene: str
) -> None:
    records[scene].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", viewport={"width": width, "height": 700})

    seen = 0
    for tab in shown.get_by_role("tab").all():
        tab.click()
        drawn(shown)
        pictures, outside = shown.evaluate(CUT_OFF)

        assert [] == outside, tab.inner_text()
        seen += pictures
    assert seen >= 2


SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll("svg text")]
    .filter((text) => text.getClientRects().length)
    .map((text) => text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize)))"""


@pytest.mark.parametrize("width", with_nightly([320], [360, 690, 1440]))
def test_no_text_of_a_view_is_smaller_than_11_px(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    records["step"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", viewport={"width": width, "height": 700})

    sizes: dict[str, float] = {}
    for tab in shown.get_by_role("tab").all():
        tab.click()
        drawn(shown)
        sizes[tab.inner_text()] = shown.evaluate(SMALLEST_TEXT)
        assert width >= shown.evaluate("document.documentElement.scrollWidth")

    assert 5 == len(sizes)
    assert 11 <= min(sizes.values()), sizes


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tabs_lie_on_the_page_itself(
    scheme: str, records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")

    shown = opened(tmp_path / "page.html", color_scheme=scheme)

    colour = "node => getComputedStyle(node).backgroundColor"
    assert "rgba(0, 0, 0, 0)" == shown.locator(".nbtf-scene").evaluate(colour)


def test_reader_without_scripts_sees_the_still(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")

    shown = opened(tmp_path / "page.html", java_script_enabled=False)

    assert "all-reduce" in shown.locator("svg.nbtf-still").text_content()


def test_names_start_nothing(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    text = page.page(records["lines"].snapshot(), lambda site: NASTY)
    (tmp_path / "page.html").write_text(text, encoding="utf-8")

    shown = opened(tmp_path / "page.html")

    assert (0, 2) == (text.count(NASTY), len(re.findall("</script>", text)))
    assert NASTY in shown.locator(".nbtf-time svg").text_content()
    assert 0 == shown.locator("img").count()


def test_views_have_tabs_that_keys_reach(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    tabs = shown.get_by_role("tab")

    tabs.first.focus()
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("Enter")

    selected = [tab.get_attribute("aria-selected") == "true" for tab in tabs.all()]
    assert [number == 1 for number in range(len(selected))] == selected
    assert 1 == shown.get_by_role("tabpanel").count()
    assert not shown.locator(".nbtf-time").is_visible()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("addv2", lambda work: work.op == "AddV2"),
        ("gpu:1 sum", lambda work: (work.device, work.op) == ("GPU:1", "Sum")),
        ("test_timeline.py", lambda work: work.site is not None and "test_timeline" in work.site[0]),
        ("none of them", lambda work: False),
    ],
    ids=["op", "device and op", "line", "nothing"],
)
def test_slash_searches_the_timeline(
    text: str,
    fits: Callable[[Work], bool],
    records: dict[str, tf.runtime.Recording],
    opened: Callable[..., Any],
    tmp_path: Path,
) -> None:
    records["lines"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    works = scheduled(records["lines"]).ops
    span = shown.locator(".nbtf-time-span")
    before = span.inner_text()

    shown.get_by_role("slider", name="GPU:0").focus()
    shown.keyboard.press("/")
    shown.keyboard.type(text)
    expected = f"matching: {sum(map(fits, works))} of {len(works)} ops"
    span.filter(has_text=expected).wait_for()
    shown.get_by_role("button", name="Table").click()
    drawn(shown)

    assert sum(fits(work) and not work.folded for work in works) == shown.locator("tbody tr").count()
    shown.get_by_role("button", name="Table").click()
    shown.get_by_role("searchbox").press("Escape")
    drawn(shown)
    assert before == span.inner_text()


def test_what_is_chosen_in_a_view_is_chosen_in_the_others(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["lines"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    panel, lane = shown.get_by_role("tabpanel"), shown.get_by_role("slider", name="GPU:1")
    lane.focus()
    drawn(shown)
    stops = int(lane.get_attribute("aria-valuemax"))
    for _ in range(stops):  # the last one is the sum
        shown.keyboard.press("ArrowRight")
    drawn(shown)
    assert lane.get_attribute("aria-valuetext").startswith("Sum, GPU:1")

    shown.get_by_role("tab", name="Memory").click()
    assert panel.locator(".nbtf-plane-detail").inner_text().startswith("Sum []")
    shown.get_by_role("tab", name="Device map").click()
    assert panel.locator('button[aria-pressed="true"]').get_attribute("aria-label").startswith("GPU:1: ")

    shown.get_by_role("tab", name="Treemap").click()
    panel.locator("[data-start]").filter(has_text="copy [256, 256]").last.click()
    drawn(shown)
    shown.get_by_role("tab", name="Timeline").click()
    drawn(shown)
    assert lane.get_attribute("aria-valuetext").startswith("GPU:0 → GPU:1: 256 KiB")


@pytest.mark.parametrize("width", with_nightly([700], [320, 1400]))
def test_keys_reach_each_device_and_flow_of_the_map(
    width: int, records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["step"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", viewport={"width": width, "height": 700})
    shown.get_by_role("tab", name="Device map").click()
    panel = shown.get_by_role("tabpanel")
    stops = panel.locator(".nbtf-places > button")
    detail = panel.locator(".nbtf-plane-detail")

    stops.first.focus()
    for number, stop in enumerate(stops.all()):
        shown.keyboard.press("Enter")
        drawn(shown)
        assert detail.inner_text().startswith(stop.get_attribute("aria-label"))
        assert [str(other == number).lower() for other in range(stops.count())] == [
            each.get_attribute("aria-pressed") for each in stops.all()
        ]
        shown.keyboard.press("ArrowRight")

    names = {stop.get_attribute("aria-label").partition(": ")[0] for stop in stops.all()}
    assert {"CPU:0", *(f"GPU:{number}" for number in CARDS["step"])} <= names
    assert width == shown.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize("tab", ["Memory", "Stacked by holder", "Treemap"])
def test_views_say_why_they_show_nothing(
    tab: str, records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["host"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")

    shown.get_by_role("tab", name=tab).click()

    assert "No simulated GPU allocated memory here" in shown.get_by_role("tabpanel").inner_text()


def test_table_has_the_ops_of_the_window(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path
) -> None:
    records["lines"].to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")

    shown.get_by_role("button", name="Table").click()

    works = [work for work in scheduled(records["lines"]).ops if not work.folded]
    drawn(shown)
    assert len(works) == shown.locator("tbody tr").count()


def test_page_is_in_the_language_that_is_asked_for(
    records: dict[str, tf.runtime.Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, "zh_CN")

    text = page.page(records["step"].snapshot())

    assert '<html lang="zh-CN">' in text
    assert catalogue.words("timeline")["title"] in text


WITHOUT_JUPYTER = """
import sys
sys.modules.update(dict.fromkeys(("IPython", "ipywidgets", "anywidget", "traitlets")))
import nbtf as tf
with tf.runtime.recording() as record:
    c = tf.constant(1.0)
record.to_html(sys.argv[1])
"""


def test_page_needs_no_jupyter(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_JUPYTER, str(tmp_path / "page.html")], check=True)

    assert "_EagerConst" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_recording_without_ops_is_refused(tmp_path: Path) -> None:
    with tf.runtime.recording() as record:
        pass

    with pytest.raises(ValueError, match="Nothing ran"):
        record.to_html(tmp_path / "page.html")
    assert [] == list(tmp_path.iterdir())


def test_missing_folder_is_an_error_that_names_the_file(
    records: dict[str, tf.runtime.Recording], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match=r"page\.html"):
        records["host"].to_html(tmp_path / "none" / "page.html")


def test_full_disk_leaves_the_page_from_before(
    records: dict[str, tf.runtime.Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    file.write_text("before")

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(drafts, "sync", refuse)
    with pytest.raises(OSError, match="No space left"):
        records["host"].to_html(file)

    assert "before" == file.read_text()
    assert [file] == list(tmp_path.iterdir())


def test_scene_is_small(records: dict[str, tf.runtime.Recording]) -> None:
    snapshot = records["step"].snapshot()
    scene = re.search(r'id="nbtf-scene">(.*?)</script>', page.page(snapshot))
    assert scene is not None
    columns = json.loads(scene[1])["scene"]["timeline"]

    schedule = scheduled(records["step"])
    assert sum(map(len, columns["ops"].values())) <= 33 * len(schedule.ops) + 16
    assert sum(map(len, columns["copies"].values())) <= 44 * len(schedule.copies) + 24


@pytest.mark.parametrize("scheme", with_nightly(["light"], ["dark"]))
def test_nobody_is_left_out(
    records: dict[str, tf.runtime.Recording], opened: Callable[..., Any], tmp_path: Path, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    file = tmp_path / "step.html"
    records["step"].to_html(file)
    shown = opened(file, color_scheme=scheme, bypass_csp=True)  # axe is a script that the page does not let in

    for tab in range(shown.get_by_role("tab").count()):
        shown.get_by_role("tab").nth(tab).click()
        result = Axe().run(shown, None, {"runOnly": ["wcag2a", "wcag2aa"]}).response
        assert result["passes"]
        assert [] == [(each["id"], node["html"]) for each in result["violations"] for node in each["nodes"]]


def test_a_host_opens_with_enter(opened: Callable[..., Any], tmp_path: Path) -> None:
    with cluster(17, 2), tf.runtime.recording() as record, tf.device("/job:worker/task:3/GPU:1"):
        tf.zeros([4096])
    record.to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")

    shown.get_by_role("tab", name="Device map").click()
    shown.locator('button[aria-label^="worker/3: 2 GPUs"]').focus()
    shown.keyboard.press("Enter")

    shown.wait_for_selector("button[aria-expanded=true]")
    assert 1 == shown.locator('button[aria-label^="/job:worker/task:3/GPU:1: Fill"]').count()
