"""Can a reader of a timeline with many devices fold hosts, open them, and reach each device in three actions?"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook.stills.lane_groups import MOST_CARDS, lane_groups
from nbtf.notebook.stills.long_timeline import LongTimeline
from nbtf.notebook.stills.schedule import Pieces, Schedule, Transfer, Work
from nbtf.notebook.stills.timeline_data import timeline_data
from nbtf.notebook.views import page
from tests.machines import machine
from tests.notebook.stills.test_timeline import recorded_lines
from tests.notebook.views.test_page import drawn, exposing, opened
from tests.rings import with_nightly

__all__ = ["opened"]

Open = Callable[..., Any]

CLUSTER = [f"/job:worker/task:{host}/GPU:{card}" for host in range(16) for card in range(8)]
THOUSAND = [f"/job:worker/task:{host}/GPU:{card}" for host in range(128) for card in range(8)]
ONE_HOST = [f"GPU:{card}" for card in range(1024)]

SEEN = """() => [...document.querySelectorAll('.nbtf-time-lane, .nbtf-time-group')]
    .filter(node => node.checkVisibility()).map(node => node.ariaLabel)"""
OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll('.nbtf-time-group, .nbtf-time-lane')]
        .filter(node => node.checkVisibility()).map(node => node.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom;
    return boxes.filter((a, at) => boxes.some((b, other) => at < other && meet(a, b))).length;
}"""


def schedule_of(cards: list[str]) -> Schedule:
    """A short op on each card, and copies from the first one to all others."""
    ops = [Work(card, 1e-6 * at, 3e-5, "MatMul", "", "", None, None, None) for at, card in enumerate(cards)]
    copies = [Transfer(cards[0], card, 2e-4 + 1e-6 * at, 1e-6, 9000, "") for at, card in enumerate(cards[1:])]
    return Schedule("modelled", ("CPU:0", *cards), Pieces.of(ops), Pieces.of(copies), (), len(ops), len(copies))


@pytest.fixture(scope="module")
def page_text() -> str:
    """A page with the timeline of a small recording."""
    with machine(4, model="Tesla K20m"):
        return page.page(recorded_lines().snapshot())


@pytest.fixture
def show(page_text: str, opened: Open, tmp_path: Path) -> Callable[..., Any]:
    """Opens a page with a timeline of some cards."""

    def shown(cards: list[str], **options: Any) -> Any:
        data = json.dumps({"timeline": timeline_data(schedule_of(cards), str), "map": None})
        scene = re.search(r'"scene": ?(\{.*\})\}</script>', page_text, re.DOTALL)
        assert scene is not None
        (tmp_path / "page.html").write_text(exposing(page_text.replace(scene[1], data)), encoding="utf-8")
        tab = opened(tmp_path / "page.html", viewport={"width": 1280, "height": 1000}, **options)
        drawn(tab)
        return tab

    return shown


def group(shown: Any, name: str) -> Any:
    return shown.get_by_role("button", name=f"{name}: 8 devices", exact=True)


def lane_words(shown: Any, name: str) -> str:
    element = shown.get_by_role("slider", name=name, exact=True)
    element.focus()
    drawn(shown)
    return str(element.get_attribute("aria-valuetext"))


@pytest.mark.parametrize("cards", [CLUSTER, THOUSAND, ONE_HOST, [*CLUSTER, *ONE_HOST[:20]], ONE_HOST[:17]], ids=len)
def test_each_card_is_in_one_group_of_at_most_a_row_of_the_map(cards: list[str]) -> None:
    lanes = ["CPU:0", *cards]

    groups = lane_groups(lanes)

    assert [*range(1, len(lanes))] == sorted(number for each in groups for number in each.lanes)
    assert MOST_CARDS >= max(len(each.lanes) for each in groups)
    assert len(groups) == len({each.name for each in groups})
    assert all(1 == len({lanes[number].rpartition("/")[0] for number in each.lanes}) for each in groups)


def test_groups_are_named_after_their_host_or_their_cards() -> None:
    assert ["worker/0", "worker/15"] == [lane_groups(["CPU:0", *CLUSTER])[at].name for at in (0, -1)]
    assert ["GPU:0–GPU:7", "GPU:16"] == [lane_groups(["CPU:0", *ONE_HOST[:17]])[at].name for at in (0, -1)]
    assert [] == lane_groups(["CPU:0", *ONE_HOST[:15]])


def test_first_sight_has_all_hosts_and_the_cards_of_the_first(show: Callable[..., Any]) -> None:
    seen = show(CLUSTER).evaluate(SEEN)

    assert ["CPU:0", "worker/0: 8 devices", *CLUSTER[:8], "worker/1: 8 devices"] == seen[:11]
    assert 24 == len(seen)


@pytest.mark.parametrize("way", ["mouse", "Enter", " "])
def test_a_host_opens_and_folds(show: Callable[..., Any], way: str) -> None:
    shown = show(CLUSTER)

    def press() -> None:
        if way == "mouse":
            group(shown, "worker/3").click()
        else:
            group(shown, "worker/3").press(way)
        drawn(shown)

    before = shown.evaluate(SEEN)
    press()
    opened_lanes = shown.evaluate(SEEN)
    state = group(shown, "worker/3").get_attribute("aria-expanded")
    press()

    assert ({*CLUSTER[24:32]}, "true") == ({*opened_lanes} - {*before}, state)
    assert before == shown.evaluate(SEEN)
    assert "false" == group(shown, "worker/3").get_attribute("aria-expanded")
    assert 0 == shown.evaluate(OVERLAPS)


AREAS = """data => {
    const scene = timelineScene(data);
    const rows = scene.groups.map(({ number }) => ({ group: number, isOpen: false }));
    const { marks, parts } = timeline(scene, { from: 0, to: scene.seconds, rows }, 1280, WORDS.timeline);
    return parts.rows.map(({ y, height }) => {
        const isInside = side => side[1] >= y - 0.01 && side[1] + side[3] <= y + height + 0.01;
        const sides = marks.flatMap(mark => (mark.mark === "boxes" ? mark.sides.filter(isInside) : []));
        return sides.reduce((sum, side) => sum + side[2] * side[3], 0) / (height * parts.scale.width);
    });
}"""


@pytest.mark.parametrize("is_long", [False, True], ids=["complete", "summed"])
@pytest.mark.parametrize("seed", range(3))
def test_the_row_of_a_folded_host_shows_how_busy_its_devices_were_on_average(
    show: Callable[..., Any], seed: int, is_long: bool
) -> None:
    draw = random.Random(seed)
    ops = list[Work]()
    for card in CLUSTER:
        begin = 0.0
        while begin < 1.0:
            seconds = draw.choice([1e-4, 0.01, 0.2])
            ops.append(Work(card, begin, seconds, draw.choice(["MatMul", "Sum"]), "", "", None, None, None))
            begin += seconds * draw.choice([1.0, 2.0, 9.0])
    ops.sort(key=lambda work: work.start)
    schedule = Schedule("modelled", ("CPU:0", *CLUSTER), Pieces.of(ops), Pieces[Transfer].of([]), (), len(ops), 0)
    data = LongTimeline(schedule, str).data() if is_long else timeline_data(schedule, str)

    areas = show(CLUSTER).evaluate(AREAS, data)

    for number, share in enumerate(areas):
        busy = sum(work.seconds for work in ops if work.device in CLUSTER[8 * number : 8 * number + 8])
        assert pytest.approx(busy / 8 / schedule.seconds, abs=0.03) == share
        assert share > 0.1


def test_answers_have_the_requested_devices_and_groups() -> None:
    long = LongTimeline(schedule_of(THOUSAND), str)

    first, last = long.data(), long.data(lanes=[1024, 4000], groups=[127, -3, 5000])

    assert ([*range(9)], [*range(24)]) == (first["detail"]["lanes"], first["detail"]["groups"])
    assert ([1024], [127]) == (last["detail"]["lanes"], last["detail"]["groups"])
    assert {127} == {number for sums in last["groupSums"] for number, _ in sums["rows"]}


def by_name(shown: Any, last: str, words: str) -> None:
    shown.locator(".nbtf-time").evaluate("node => node.focus()")
    shown.keyboard.press("/")
    shown.keyboard.type(words)
    shown.keyboard.press("Enter")


def by_scrolling(shown: Any, last: str, words: str) -> None:
    shown.locator(".nbtf-time-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    last_group = shown.locator(".nbtf-time-group").last
    shown.wait_for_function("() => [...document.querySelectorAll('.nbtf-time-group')].at(-1).checkVisibility()")
    last_group.click()
    shown.locator(".nbtf-time-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")


@pytest.mark.parametrize("way", [by_name, by_scrolling])
@pytest.mark.parametrize(
    ("cards", "words"),
    with_nightly([(THOUSAND, "worker/127 gpu:7"), (ONE_HOST, "gpu:1023")], [(CLUSTER, "/job:worker/task:15/gpu:7")]),
    ids=lambda value: value if isinstance(value, str) else len(value),
)
def test_three_actions_reach_any_device(
    show: Callable[..., Any], cards: list[str], words: str, way: Callable[[Any, str, str], None]
) -> None:
    shown = show(cards)
    assert cards[-1] not in shown.evaluate(SEEN)

    way(shown, cards[-1], words)
    shown.wait_for_function(
        "name => document.querySelector(`[role=slider][aria-label='${name}']`).checkVisibility()", arg=cards[-1]
    )

    assert "MatMul" in lane_words(shown, cards[-1])
    assert 24 == len(shown.evaluate(SEEN))
    assert 0 == shown.evaluate(OVERLAPS)


def test_every_device_comes_into_sight_by_opening_and_scrolling(show: Callable[..., Any]) -> None:
    shown = show(CLUSTER)
    for host in range(1, 16):
        shown.locator(".nbtf-time-group").nth(host).evaluate("node => node.click()")
    drawn(shown)
    seen = {*shown.evaluate(SEEN)}
    sides = shown.get_by_role("slider", name="CPU:0", exact=True).bounding_box()
    shown.mouse.move(sides["x"] + 50, sides["y"] + 5)
    for _ in range(20):
        shown.mouse.wheel(0, 600)
        drawn(shown)
        seen |= {*shown.evaluate(SEEN)}

    assert {"CPU:0", *CLUSTER} <= seen


def test_the_device_of_a_found_op_opens_and_comes_into_sight(show: Callable[..., Any]) -> None:
    shown = show(CLUSTER)
    by_name(shown, "", "matmul")
    for _ in range(40):
        shown.keyboard.press("Enter")
    drawn(shown)

    assert "/job:worker/task:5/GPU:0" in shown.evaluate(SEEN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", with_nightly([320], [1280]))
def test_groups_are_accessible_and_readable(show: Callable[..., Any], scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    shown = show(CLUSTER, color_scheme=scheme, bypass_csp=True)
    shown.set_viewport_size({"width": width, "height": 900})
    drawn(shown)

    group(shown, "worker/2").hover()
    covered = shown.evaluate("() => getComputedStyle(document.querySelector('.nbtf-time-group:hover')).backgroundColor")

    result = Axe().run(shown, None, {"runOnly": ["wcag2a", "wcag2aa"]}).response
    assert result["passes"]
    assert [] == result["violations"]
    assert "/ 0.08)" in covered  # a button lies over its name, which must stay readable
    assert 0 == shown.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert 0 == shown.evaluate(OVERLAPS)
    sizes = [each.bounding_box() for each in shown.locator(".nbtf-time-group:visible").all()]
    assert min(min(box["width"], box["height"]) for box in sizes) >= 24
