"""Does the timeline show, on the host's clock, when Python called each op, and the time in between?"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.stills.schedule import Schedule, timed
from nbtf.notebook.views.host_time import PYTHON, on_host_time
from tests.machines import machine
from tests.notebook.views.test_page import drawn, opened

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
    calls = host_schedule(record).ops_on(PYTHON)
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
    assert " ms" in span
    calls = shown.locator(".nbtf-time [data-op]").evaluate_all("all => all.map(node => +node.getAttribute('width'))")
    whole = shown.locator(".nbtf-time-overview").bounding_box()
    assert 0 < sum(calls) < whole["width"] * 0.9  # the pauses are gaps
    shown.keyboard.press("h")
    drawn(shown)
    assert " µs" in shown.locator(".nbtf-time-span").inner_text()
