"""Does the timeline show, on the host's clock, when Python called each op, and the time in between?"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.notebook.stills.op_colours import colouring
from nbtf.notebook.stills.schedule import HOST_TIME, PYTHON, WAIT, Schedule, timed
from nbtf.notebook.views import recording_answers
from nbtf.notebook.views.host_time import on_host_time
from tests.machines import machine
from tests.notebook.views.test_page import drawn, opened
from tests.rings import with_nightly

__all__ = ["opened"]

PAUSE = 0.05
"""Seconds for which the program computes nothing."""


@pytest.fixture(scope="module")
def record() -> tf.runtime.Recording:
    """Ops on two cards, with pauses, and values that the program reads."""
    with machine(2, model="Tesla K20m"), tf.runtime.recording() as recorded:
        a = tf.random.normal([300, 300])
        for number in range(4):
            with tf.device(f"GPU:{number % 2}"):
                a = tf.matmul(a, a)
            time.sleep(PAUSE)
        a.numpy()
    return recorded


def host_schedule(record: tf.runtime.Recording) -> Schedule:
    snapshot = record.snapshot()
    schedule = on_host_time(snapshot, timed(snapshot))
    assert schedule is not None
    return schedule


def test_calls_are_where_the_program_made_them_and_pauses_are_gaps(record: tf.runtime.Recording) -> None:
    calls = [call for call in host_schedule(record).ops_on(PYTHON) if call.phase != WAIT]
    products = [call for call in calls if call.op == "MatMul"]

    assert 4 == len(products)
    assert all(later.start - earlier.end >= PAUSE for earlier, later in pairwise(products))
    assert all(later.start >= earlier.end for earlier, later in pairwise(calls))
    began = {event.seq: event.time for event in record.events if isinstance(event, tf.runtime.OpExecuted)}
    origin = began[calls[0].seq] - calls[0].end
    assert [began[call.seq] - origin for call in calls] == pytest.approx([call.end for call in calls], abs=1e-6)


def test_devices_work_in_order_for_the_modelled_time_after_each_call(record: tf.runtime.Recording) -> None:
    schedule = host_schedule(record)
    calls = {call.seq: call for call in schedule.ops_on(PYTHON)}
    modelled = {work.seq: work.seconds for work in timed(record.snapshot()).ops}

    for lane in schedule.lanes[1:]:
        works = schedule.ops_on(lane)
        assert all(later.start >= earlier.end - 1e-9 for earlier, later in pairwise(works))
        assert all(work.start >= calls[work.seq].start - 1e-6 for work in works if work.seq in modelled)
        assert all(modelled[work.seq] == work.seconds for work in works if work.seq in modelled)


READS: dict[str, Callable[[Any], object]] = {
    "numpy": lambda x: x.numpy(),
    "float": float,
    "int": int,
    "bool": bool,
    "str": str,
    "repr": repr,
    "format": "{:.1f}".format,
    "array": np.asarray,
    "tolist": lambda x: x.numpy().tolist(),
}
"""Ways in which a program gets a value, by name: it waits for the device that computes it."""


@pytest.mark.parametrize("read", sorted(READS))
def test_a_program_that_reads_a_value_waits_for_its_device(read: str) -> None:
    with machine(2, model="Tesla K20m"), tf.runtime.recording() as recorded:
        for number in (0, 1, 0):
            with tf.device(f"GPU:{number}"):
                value = tf.reduce_sum(tf.ones([30, 30]))
            READS[read](value)
    waits = [call for call in host_schedule(recorded).ops_on(PYTHON) if call.phase == WAIT]

    copies = [event for event in recorded.events if isinstance(event, tf.runtime.Copied)]
    reads = [copy for copy in copies if copy.kind == "read"]
    assert [tf.runtime.short_name(event.source) for event in reads] == [wait.op for wait in waits]
    assert {"GPU:0", "GPU:1"} == {wait.op for wait in waits}


def test_waits_and_calls_take_turns_and_end_when_they_were_reported(record: tf.runtime.Recording) -> None:
    schedule = host_schedule(record)
    lane = schedule.ops_on(PYTHON)
    ends = {
        event.seq: event.time for event in record.events if isinstance(event, tf.runtime.OpExecuted | tf.runtime.Copied)
    }
    origin = ends[lane[0].seq] - lane[0].end

    assert all(later.start >= earlier.end - 1e-9 for earlier, later in pairwise(lane))
    assert [ends[piece.seq] - origin for piece in lane] == pytest.approx([piece.end for piece in lane], abs=1e-5)
    assert [WAIT] == [piece.phase for piece in lane if piece.phase]
    assert ("wait", "wait") in colouring(schedule).keys()
    assert not [work for work in timed(record.snapshot()).ops if work.phase == WAIT]


def test_an_op_that_failed_is_on_no_lane() -> None:
    with machine(1, memory="64MiB"), tf.runtime.recording() as recorded:
        with pytest.raises(tf.errors.ResourceExhaustedError):
            tf.ones([32, 1024, 1024])
        tf.zeros([4])
    schedule = host_schedule(recorded)
    ran = [event.seq for event in recorded.events if isinstance(event, tf.runtime.OpExecuted)]

    assert any(isinstance(event, tf.runtime.Refused) for event in recorded.events)
    assert len(ran) == schedule.executed > 0
    assert ran == [call.seq for call in schedule.ops_on(PYTHON) if call.phase != WAIT]


def test_measured_times_are_on_the_clock_of_the_host_anyway() -> None:
    with tf.runtime.recording() as recorded, tf.device("CPU:0"):
        tf.matmul(tf.ones([4, 4]), tf.ones([4, 4]))
    snapshot = recorded.snapshot()

    assert None is on_host_time(snapshot, timed(snapshot))


@pytest.mark.parametrize("way", ["key", "button"])
def test_reader_changes_the_clock_and_the_op_stays_chosen(
    way: str, record: tf.runtime.Recording, opened: Callable[..., Any], tmp_path: Path
) -> None:
    record.to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    lane = shown.get_by_role("slider", name="GPU:1", exact=True)
    lane.focus()
    shown.keyboard.press("ArrowRight")
    drawn(shown)
    before = lane.get_attribute("aria-valuetext")
    assert not shown.get_by_role("slider", name=PYTHON).count()

    if way == "key":
        shown.keyboard.press("h")
    else:
        shown.get_by_role("button", name="host time").click()
    drawn(shown)
    texts = shown.locator(".nbtf-time svg text").all_text_contents()
    span = shown.locator(".nbtf-time-span").inner_text()

    assert before == shown.get_by_role("slider", name="GPU:1", exact=True).get_attribute("aria-valuetext")
    assert {"measured", "modelled", PYTHON} <= {*texts}
    assert not [text for text in texts if "-" in text and "measured ops" in text]
    assert re.search(r"\d m?s", span)  # a busy machine takes longer
    calls = shown.locator(".nbtf-time [data-op]").evaluate_all("all => all.map(node => +node.getAttribute('width'))")
    whole = shown.locator(".nbtf-time-overview").bounding_box()
    assert 0 < sum(calls) < whole["width"] * 0.9  # the pauses are gaps
    shown.keyboard.press("h")
    drawn(shown)
    assert " µs" in shown.locator(".nbtf-time-span").inner_text()


def test_a_reader_finds_waits_by_word_and_by_device(
    record: tf.runtime.Recording, opened: Callable[..., Any], tmp_path: Path
) -> None:
    record.to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html")
    lane = shown.get_by_role("slider", name=PYTHON, exact=True)
    shown.get_by_role("button", name="host time").click()
    drawn(shown)
    shown.keyboard.press("/")
    shown.keyboard.type("waiting")
    shown.keyboard.press("Enter")
    drawn(shown)

    assert lane.get_attribute("aria-valuetext").startswith("GPU:1, Python, waiting, ")
    assert lane.get_attribute("aria-valuetext").split(", ")[3].endswith(" measured")
    assert "waiting" in shown.locator(".nbtf-time svg text").all_text_contents()


SMALLEST_TEXT = """() => {
    const texts = [...document.querySelectorAll('.nbtf-time svg text')];
    return Math.min(...texts.map(each => parseFloat(getComputedStyle(each).fontSize)));
}"""
WAIT_AND_GROUND = """() => {
    const probe = document.querySelector('.nbtf-time').appendChild(document.createElement('i'));
    return ['wait', 'paper'].map(token => {
        probe.style.color = `var(--nbtf-${token})`;
        return getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).map(Number);
    });
}"""


def contrast(*colours: list[int]) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""

    def luminance(colour: list[int]) -> float:
        parts = [value / 255 for value in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    darker, lighter = sorted(map(luminance, colours))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", with_nightly([320], [1280]))
def test_host_time_and_waiting_are_accessible_and_readable(
    record: tf.runtime.Recording, opened: Callable[..., Any], tmp_path: Path, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    record.to_html(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", color_scheme=scheme, bypass_csp=True)
    shown.set_viewport_size({"width": width, "height": 900})
    shown.get_by_role("button", name="host time").click()
    drawn(shown)
    texts = {*shown.locator(".nbtf-time svg text").all_text_contents()}
    result = Axe().run(shown, None, {"runOnly": ["wcag2a", "wcag2aa"]}).response

    assert {"waiting", PYTHON} <= texts
    assert result["passes"]
    assert [] == result["violations"]
    assert 0 == shown.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert 11 <= shown.evaluate(SMALLEST_TEXT)
    assert 3 <= contrast(*shown.evaluate(WAIT_AND_GROUND))


def test_a_long_recording_has_host_time_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_answers, "MOST_EVENTS", 100)
    with machine(2, model="Tesla K20m"), tf.runtime.recording() as recorded:
        for number in range(3000):
            with tf.device(f"GPU:{number % 2}"):
                value = tf.ones([30, 30]) + 1.0
            if number % 100 == 0:
                value.numpy()
    answers = recording_answers.RecordingAnswers(recorded.snapshot(), lambda _: [], str)
    scene = answers.answer({"what": "scene"})["timeline"]
    question = {"what": "timeline", "clock": HOST_TIME, "lanes": [0, 1, 2, 3], "groups": []}
    whole = answers.answer(question | {"from": 0, "to": 1.7e308})
    part = answers.answer(question | {"from": whole["seconds"] / 2, "to": whole["seconds"] * 0.51})
    sums = answers.answer({"what": "range", "clock": HOST_TIME, "from": 0, "to": whole["seconds"]})

    assert recording_answers.ON_REQUEST == scene["hostTime"]
    assert [PYTHON, "GPU:0", "GPU:1"] == [lane for lane in whole["lanes"] if lane != "CPU:0"]
    assert (HOST_TIME, scene["executed"], 0) == (whole["clock"], whole["executed"], whole["unclocked"])
    assert scene["folded"] == whole["folded"]
    assert all(len(json.dumps(answer)) < 120_000 for answer in (whole, part))
    calls = {device: ops for device, ops, *_ in sums["devices"]}
    assert calls[PYTHON] == scene["executed"] + 30
