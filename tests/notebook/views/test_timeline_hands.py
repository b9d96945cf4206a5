"""Can a reader select, search and reach everything in a timeline, by pointer and by keys, with true figures?"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.stills.schedule import Pieces, Schedule, Transfer, Work, timed
from nbtf.notebook.stills.timeline_data import timeline_data
from nbtf.notebook.views import page
from nbtf.notebook.views.range_sums import sums_of_range
from tests.machines import machine
from tests.notebook.stills.test_timeline import recorded_lines, recorded_step
from tests.notebook.views.test_page import drawn, exposing, opened, scheduled
from tests.rings import paired, with_nightly

__all__ = ["opened"]

Open = Callable[..., Any]
Records = dict[str, tf.runtime.Recording]

FIGURES = """() => [...document.querySelectorAll('.nbtf-range-figures dd')].map(node => node.textContent)"""


@pytest.fixture(scope="module")
def records() -> Iterator[Records]:
    """Two recordings, on four simulated cards."""
    with machine(4, model="Tesla K20m"):
        yield {"step": recorded_step(), "lines": recorded_lines()}


@pytest.fixture
def shown(records: Records, opened: Open, tmp_path: Path) -> Any:
    """The page of a step on four cards, large enough for all of the timeline."""
    records["step"].to_html(tmp_path / "page.html")
    return opened(tmp_path / "page.html", viewport={"width": 1280, "height": 1000})


def lane(shown: Any, name: str) -> Any:
    """The sides of a lane."""
    return shown.get_by_role("slider", name=name, exact=True).bounding_box()


def drag(shown: Any, begin: float, end: float, name: str = "GPU:1") -> None:
    """Drags over a lane, from a share of its width to another."""
    sides = lane(shown, name)
    y = sides["y"] + sides["height"] / 2
    shown.mouse.move(sides["x"] + begin * sides["width"], y)
    shown.mouse.down()
    shown.mouse.move(sides["x"] + end * sides["width"], y, steps=4)
    shown.mouse.up()
    drawn(shown)


def window(shown: Any) -> str:
    drawn(shown)
    return str(shown.locator(".nbtf-time-span").inner_text())


def random_recording(seed: int) -> tf.runtime.Recording:
    """Ops and copies on two simulated cards and the host."""
    draw = random.Random(seed)
    with tf.runtime.recording() as record:
        kept: list[Any] = [tf.ones([draw.choice([8, 200, 700])] * 2)]
        for _ in range(draw.choice([1, 12, 80])):
            with tf.device(draw.choice(["GPU:0", "GPU:1", "CPU:0"])):
                value: Any = draw.choice(kept)
                kept.append(
                    draw.choice(
                        [lambda v: tf.matmul(v, v), lambda v: tf.add(v, 1.0), tf.reduce_sum, tf.identity, tf.tanh]
                    )(value)
                )
                if kept[-1].shape.rank == 0:
                    kept[-1] = kept[0] * kept[-1]
    return record


def expected(record: tf.runtime.Recording, begin: float, end: float) -> dict[str, Any]:
    """The sums of a range, event by event."""
    ran: list[Any] = [
        e for e in record.events if isinstance(e, tf.runtime.OpExecuted | tf.runtime.Copied) and e.start is not None
    ]
    origin = min(event.start for event in ran)
    sums: dict[str, Any] = {"ops": 0, "busy": 0.0, "copies": 0, "nbytes": 0}
    devices: dict[str, list[float]] = {}
    names: dict[str, list[float]] = {}
    for event in ran:
        start, stop = event.start - origin, event.start - origin + event.seconds
        if start >= end or (start < begin and stop <= begin):
            continue
        if isinstance(event, tf.runtime.Copied):
            sums["copies"] += 1
            sums["nbytes"] += event.nbytes
            for device in (event.source, event.target):
                row = devices.setdefault(tf.runtime.short_name(device), [0, 0.0, 0, 0])
                row[2] += 1
                row[3] += event.nbytes
            continue
        inside = max(0.0, min(stop, end) - max(start, begin))
        for row in (
            devices.setdefault(tf.runtime.short_name(event.device), [0, 0.0, 0, 0]),
            names.setdefault(event.op, [0, 0.0]),
        ):
            row[0] += 1
            row[1] += inside
        sums["ops"] += 1
        sums["busy"] += inside
    return sums | {"devices": devices, "names": names}


def compared(sums: dict[str, Any]) -> dict[str, Any]:
    """Sums in the form of `expected`, with seconds to a picosecond."""

    def exact(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: exact(inner) for key, inner in sorted(value.items())}
        if isinstance(value, list | tuple):
            return [exact(inner) for inner in value]
        return round(value, 12) + 0.0 if isinstance(value, float) else value

    rows = {name: sums[name] for name in ("devices", "names")}
    rows = {
        name: value if isinstance(value, dict) else {row[0]: row[1:] for row in value} for name, value in rows.items()
    }
    return json.loads(json.dumps(exact(sums | rows)), parse_int=float)


SUMS = (
    "([data, ranges]) => { const scene = timelineScene(data); return ranges.map(range => sumsOfRange(scene, range)); }"
)


@pytest.mark.parametrize("seeds", with_nightly([range(6)], [range(6, 60)]), ids=str)
def test_sums_of_any_range_are_those_of_the_record(seeds: range, opened: Open, tmp_path: Path) -> None:
    with machine(2, model="Tesla K20m"):
        recordings = {seed: random_recording(seed) for seed in seeds}
    text = exposing(page.page(recordings[seeds[0]].snapshot()))
    file = tmp_path / "page.html"
    file.write_text(text.replace("Object.assign(window, {", "Object.assign(window, {sumsOfRange, "), encoding="utf-8")
    shown = opened(file)

    for seed, record in recordings.items():
        draw, schedule = random.Random(seed), timed(record.snapshot())
        moments = [0.0, schedule.seconds, *schedule.ops.start.tolist(), *schedule.ops.end.tolist()]
        moments += [draw.uniform(0.0, schedule.seconds) for _ in range(20)]
        ranges = [sorted(draw.sample(moments, 2)) for _ in range(20)]
        answers = shown.evaluate(SUMS, [timeline_data(schedule, str), [{"from": a, "to": b} for a, b in ranges]])
        for (begin, end), answer in zip(ranges, answers, strict=True):
            sums = compared(expected(record, begin, end))
            assert sums == compared(answer), (seed, begin, end)
            assert sums == compared(sums_of_range(schedule, begin, end)), (seed, begin, end)


def test_dragging_over_lanes_selects_a_range_and_shows_its_sums(shown: Any, records: Records) -> None:
    whole = window(shown)
    schedule = scheduled(records["step"])

    drag(shown, 0.0, 1.0)

    sums = sums_of_range(schedule, 0.0, schedule.seconds)
    figures = shown.evaluate(FIGURES)
    assert [f"{sums['ops']:,}", f"{sums['copies']:,}"] == [figures[0], figures[2]]
    assert shown.locator(".nbtf-time-range").is_visible()
    assert shown.locator(".nbtf-range-list li", has_text="GPU:3").count()
    assert shown.locator(".nbtf-range-list li", has_text="MatMul").count()
    assert (whole, "") == (window(shown), shown.evaluate("() => String(getSelection())"))


LABEL_OF_RANGE = """() => {
    const boxes = ['.nbtf-time-range > span', '.nbtf-time-grip', '.nbtf-time']
        .map(name => [...document.querySelectorAll(name)].filter(node => node.checkVisibility()));
    const sides = node => { const { left, right } = node.getBoundingClientRect(); return [left, right]; };
    return boxes.map(nodes => nodes.map(sides));
}"""


@pytest.mark.parametrize(("begin", "length"), paired([0.02, 0.5, 0.69], [0.005, 0.03, 0.08, 0.3]))
def test_the_length_of_a_range_is_readable_beside_its_handles(shown: Any, begin: float, length: float) -> None:
    drag(shown, begin, begin + length)
    drawn(shown)

    [[left, right]], grips, [[start, end]] = shown.evaluate(LABEL_OF_RANGE)

    words = (left + 20, right - 20)  # the padding
    assert 2 == len(grips)
    assert not [sides for sides in grips if words[0] < sides[1] - 8 and sides[0] + 8 < words[1]]  # a handle paints 8 px
    assert start <= words[0] < words[1] <= end


@pytest.mark.parametrize("way", ["button", "key"])
def test_a_selected_range_is_zoomed_to_and_cleared(shown: Any, way: str) -> None:
    drag(shown, 0.25, 0.75)
    before = [float(number) for number in re.findall(r"(\d+) µs", shown.locator(".nbtf-range-head").inner_text())]

    if way == "key":
        shown.keyboard.press("f")
    else:
        shown.get_by_role("button", name="zoom to selection").click()
    assert window(shown).startswith(f"{before[1]:.0f} µs to {before[2]:.0f} µs")
    if way == "key":
        shown.keyboard.press("Escape")
    else:
        shown.get_by_role("button", name="clear selection").click()
    drawn(shown)

    assert not shown.locator(".nbtf-range").is_visible()
    assert not shown.locator(".nbtf-time-range").is_visible()


def test_a_short_press_on_a_lane_still_chooses_an_op(shown: Any) -> None:
    block = shown.locator(".nbtf-time [data-op]:has(title)").nth(1)
    name = block.locator("title").text_content()
    block.click()
    drawn(shown)

    assert not shown.locator(".nbtf-range").is_visible()
    sliders = [each.get_attribute("aria-valuetext") for each in shown.locator(".nbtf-time-lane").all()]
    assert any(text.startswith(name.partition(",")[0]) for text in sliders)


FOOT = "() => document.querySelector('.nbtf-time-foot').getBoundingClientRect().bottom - innerHeight"


@pytest.mark.parametrize("height", [420, 500])
def test_the_description_of_a_pressed_op_comes_into_sight(shown: Any, height: int) -> None:
    shown.set_viewport_size({"width": 1280, "height": height})
    shown.evaluate("() => scrollTo(0, 0)")
    drawn(shown)
    below = shown.evaluate(FOOT)

    block = shown.locator(".nbtf-time [data-op]:has(title)").last
    block.scroll_into_view_if_needed()
    block.click()
    drawn(shown)

    assert below > 0 >= round(shown.evaluate(FOOT))
    assert block.bounding_box()["y"] >= 0  # the op stays in sight


def test_keys_select_a_range_and_move_its_ends(shown: Any) -> None:
    head = shown.locator(".nbtf-range-head")
    shown.get_by_role("slider", name="GPU:0", exact=True).focus()
    shown.keyboard.press("m")
    drawn(shown)
    first = head.inner_text()
    shown.keyboard.press("Shift+ArrowRight")
    drawn(shown)
    longer = head.inner_text()
    shown.get_by_role("slider", name="start of the selected range").focus()
    shown.keyboard.press("ArrowLeft")
    drawn(shown)

    assert 3 == len({first, longer, head.inner_text()})


@pytest.mark.parametrize(
    ("keys", "back"), [("w", "s"), ("ArrowUp", "ArrowDown"), ("w d", "a s"), ("w ArrowRight", "ArrowLeft s")]
)
def test_letters_and_arrows_zoom_and_pan(shown: Any, keys: str, back: str) -> None:
    whole = window(shown)
    shown.locator(".nbtf-time").evaluate("node => node.focus()")

    for key in keys.split():
        shown.keyboard.press(key)
    changed = window(shown)
    for key in back.split():
        shown.keyboard.press(key)

    assert whole != changed
    assert whole == window(shown)


def test_the_wheel_with_shift_moves_what_is_in_sight(shown: Any) -> None:
    shown.locator(".nbtf-time").evaluate("node => node.focus()")
    shown.keyboard.press("w")
    before, sides = window(shown), lane(shown, "GPU:0")
    shown.mouse.move(sides["x"] + 40, sides["y"] + 10)
    shown.keyboard.down("Shift")
    shown.mouse.wheel(0, 100)
    shown.keyboard.up("Shift")

    assert before != window(shown)


def test_an_op_stays_chosen_while_the_reader_zooms(shown: Any) -> None:
    sliders = shown.locator(".nbtf-time-lane")
    chosen = [each.get_attribute("aria-valuetext") for each in sliders.all()]
    shown.locator(".nbtf-time").evaluate("node => node.focus()")
    for key in "wwddss":
        shown.keyboard.press(key)
    drawn(shown)

    assert chosen == [each.get_attribute("aria-valuetext") for each in sliders.all()]


OPACITIES = """() => [...document.querySelectorAll('.nbtf-time [data-op]')]
    .map(node => [node.dataset.op, node.querySelector('title')?.textContent ?? '', node.getAttribute('opacity')])"""


def search(shown: Any, text: str) -> None:
    shown.get_by_role("slider", name="GPU:0", exact=True).focus()
    shown.keyboard.press("/")
    shown.keyboard.type(text)
    shown.locator(".nbtf-time-span", has_text="matching: ").wait_for()
    drawn(shown)


def test_search_dims_what_does_not_match_and_hides_nothing(shown: Any) -> None:
    before = {number for number, _, _ in shown.evaluate(OPACITIES)}

    search(shown, "matmul")

    marks = shown.evaluate(OPACITIES)
    bright = {number for number, _, opacity in marks if opacity is None}
    named = {number for number, title, _ in marks if title.startswith("MatMul")}
    assert before == {number for number, _, _ in marks}
    assert named == bright
    assert before - bright


@pytest.mark.parametrize(
    ("on", "back"), with_nightly([("Enter", "Shift+Enter")], [("n", "Shift+N"), ("next match", "previous match")])
)
def test_next_and_previous_match_are_chosen_in_order_and_in_a_circle(
    shown: Any, records: Records, on: str, back: str
) -> None:
    search(shown, "matmul")
    works = [work for work in scheduled(records["step"]).ops if work.op == "MatMul" and not work.folded]

    def press(key: str) -> str:
        if "match" in key:
            shown.get_by_role("button", name=key).click()
        else:
            shown.keyboard.press(key)
        drawn(shown)
        found = re.search(r"match (\d+) of (\d+)", window(shown))
        assert found is not None
        assert str(len(works)) == found[2]
        return found[1]

    if on == "n":
        shown.locator(".nbtf-time").evaluate("node => node.focus()")
    places = [press(on) for _ in range(len(works) + 1)]

    assert sorted({*places}, key=int) == [str(number + 1) for number in range(len(works))]
    assert places[-2] == press(back)
    assert [1] * len(works) == [(int(b) - int(a)) % len(works) for a, b in pairwise(places)]
    texts = " ".join(shown.locator(".nbtf-time svg text").all_text_contents())
    assert re.search(r"MatMul +GPU:\d", texts)


def test_escape_ends_a_search(shown: Any) -> None:
    search(shown, "matmul")
    shown.locator(".nbtf-time").evaluate("node => node.focus()")
    shown.keyboard.press("Escape")

    assert "matching" not in window(shown)
    assert not [opacity for _, _, opacity in shown.evaluate(OPACITIES) if opacity]


@pytest.mark.parametrize(
    ("tab", "key", "part"), [("Timeline", "w", ".nbtf-time"), ("Memory", "ArrowLeft", ".nbtf-plane")]
)
def test_keys_work_where_the_mouse_is(shown: Any, tab: str, key: str, part: str) -> None:
    shown.get_by_role("tab", name=tab, exact=True).click()
    shown.evaluate("() => document.activeElement.blur()")
    before = shown.get_by_role("tabpanel").inner_html()
    sides = shown.locator(f"{part}:visible").bounding_box()

    shown.mouse.move(sides["x"] + 300, sides["y"] + 200)
    shown.mouse.move(sides["x"] + 310, sides["y"] + 200)
    shown.keyboard.press(key)
    drawn(shown)

    assert before != shown.get_by_role("tabpanel").inner_html()


def test_the_mouse_takes_no_keys_from_a_text_that_is_typed(shown: Any) -> None:
    shown.evaluate(
        "() => { const field = document.createElement('input'); document.body.append(field); field.focus(); }"
    )
    sides, before = lane(shown, "GPU:0"), window(shown)

    shown.mouse.move(sides["x"] + 10, sides["y"] + 10)
    shown.mouse.move(sides["x"] + 20, sides["y"] + 10)
    shown.keyboard.type("wasd")

    assert before == window(shown)
    assert "wasd" == shown.evaluate("() => document.activeElement.value")


def test_density_has_the_resolution_of_the_screen(opened: Open, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(exposing(page.page(records["lines"].snapshot())), encoding="utf-8")
    shown = opened(file, viewport={"width": 1280, "height": 1000})
    draw = random.Random(0)
    ops, begin = list[Work](), 0.0
    for _ in range(15_000):
        seconds = draw.choice([1e-9, 1e-6, 7e-5])
        ops.append(Work("GPU:0", begin, seconds, "MatMul", "", "", None, None, None))
        begin += seconds + draw.choice([0.0, 1e-5])
    schedule = Schedule("modelled", ("CPU:0", "GPU:0"), Pieces.of(ops), Pieces[Transfer].of([]), (), len(ops), 0)
    drawing = """data => {
        const scene = timelineScene(data);
        const { marks } = timeline(scene, { from: 0, to: scene.seconds, fine: true }, 1280, WORDS.timeline);
        return Math.min(...marks.flatMap(mark => mark.mark === 'boxes' ? mark.sides.map(side => side[2]) : []));
    }"""

    assert 2 >= shown.evaluate(drawing, timeline_data(schedule, str))


CURSOR = """() => {
    const cursor = document.querySelector('.nbtf-time-cursor');
    return cursor.hidden ? null : cursor.offsetLeft;
}"""


def memory_step(shown: Any) -> int:
    shown.get_by_role("tab", name="Memory", exact=True).click()
    drawn(shown)
    return int(shown.locator(".nbtf-plane:visible").get_attribute("aria-valuenow"))


def cursor_after(shown: Any, keys: list[str]) -> int:
    """Where the timeline's cursor is after keys were pressed in the memory view."""
    shown.get_by_role("tab", name="Memory", exact=True).click()
    shown.locator(".nbtf-plane:visible").focus()
    for key in keys:
        shown.keyboard.press(key)
    shown.get_by_role("tab", name="Timeline", exact=True).click()
    drawn(shown)
    return int(shown.evaluate(CURSOR))


def test_the_cursor_of_the_timeline_follows_the_steps_of_the_memory(shown: Any) -> None:
    assert None is shown.evaluate(CURSOR)

    places = [cursor_after(shown, ["Home", *["ArrowRight"] * step]) for step in (1, 30, 60)]

    assert places == sorted({*places})


def test_the_memory_follows_the_op_that_is_chosen_in_the_timeline(shown: Any) -> None:
    first = memory_step(shown)
    shown.get_by_role("tab", name="Timeline", exact=True).click()
    shown.locator(".nbtf-time [data-op]:has(title)").first.click()
    drawn(shown)

    assert first > memory_step(shown)


def test_the_cursor_follows_the_moment_of_another_view_and_ignores_those_of_other_recordings(
    shown: Any, records: Records
) -> None:
    seqs = [event.seq for event in records["step"].events if isinstance(event, tf.runtime.OpExecuted) and event.start]
    share = "seq => window.dispatchEvent(new CustomEvent('nbtf-moment', { detail: { seq, root: null } }))"

    places: list[int | None] = []
    for seq in (seqs[10], seqs[len(seqs) // 2], seqs[-1], seqs[-1] + 10**6, 1):
        shown.evaluate(share, seq)
        drawn(shown)
        places.append(shown.evaluate(CURSOR))

    assert [None, None] == places[3:]
    known = [place for place in places if place is not None]
    assert 3 == len(known)
    assert known == sorted(known)
