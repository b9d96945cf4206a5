"""Does a page that replays a long recording get the right steps, and what was before them, from any step on?"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.recorder import Recorder
from nbtf.notebook.device_names import short
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views import step_windows
from nbtf.notebook.views.feed import Feed
from nbtf.notebook.views.step_windows import StepWindows
from nbtf.notebook.views.steps import COLUMNS, Words, steps
from tests.notebook.conftest import Shell

TEXTS = ("op", "device", "target", "why", "code", "out", "node")
CELLS = (
    "a, b = tf.ones([2, 3]), [tf.zeros([64])]",
    "with tf.device('GPU:1'): c = tf.constant([1.0, 2.0])\n"
    "for n in range(6): d = tf.negative(c); b.append(tf.fill([n], 1.0))",
    "tf.matmul(a, a)",
    "del b[2:4]\nwith tf.device('CPU:0'): e = d + c\nfor _ in range(5): f = tf.split(a * a, 3, 1)\ne.numpy()",
)


@pytest.fixture
def feed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Feed:
    monkeypatch.setattr(step_windows, "WINDOW", 7)
    monkeypatch.setattr(step_windows, "FULL_STEPS", 2)
    for cell in CELLS:
        shell.run(cell)
    return Feed(SESSIONS[shell.ip])


def said(window: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a window with words in the place of their numbers."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in window["steps"]]
    words = [*window["words"], None]
    return [row | {name: words[row[name]] for name in TEXTS} for row in rows]


def every_step(feed: Feed) -> list[dict[str, Any]]:
    """All steps, read from the events."""
    session, words = feed._session, Words()
    rows, _ = steps(session.recorder.snapshot().events, words, session.code_line, session.began, 10**6)
    return said({"steps": rows, "words": words.all})


def test_windows_have_the_steps_of_the_events_wherever_they_begin(feed: Feed) -> None:
    expected = every_step(feed)
    facts = [name for name in COLUMNS if name not in ("in_use", "pool")]

    assert 20 < len(expected)
    for step in range(len(expected)):
        window = feed.steps_about(step, None, "all", None)
        begin = window["begin"]
        rows = said(window)
        assert begin <= step < begin + len(rows)
        assert len(expected) == window["count"]
        assert [[row[name] for name in facts] for row in expected[begin : begin + 7]] == [
            [row[name] for name in facts] for row in rows
        ]


def test_what_was_before_a_window_is_what_its_cell_ran_before_its_first_step(feed: Feed) -> None:
    expected = every_step(feed)
    for step in range(len(expected)):
        window = feed.steps_about(step, None, "all", None)
        first = max(cell for cell, _ in window["cells"] if cell <= window["begin"])
        ran = expected[first : window["begin"]]
        ops = Counter((row["device"], row["op"], row["why"]) for row in ran if row["kind"] != 1)
        ways = Counter((row["device"], row["target"]) for row in ran if row["kind"] == 1)
        before = window["before"]
        assert ops == Counter({(device, op, why): n for device, op, n, why in before["counts"]})
        assert ways == Counter({(source, target): n for source, target, n, _ in before["copies"]})
    cells = feed.steps_about(0, None, "all", None)["cells"]
    assert ["cell 1", "cell 2", "cell 3", "cell 4"] == [name for _, name in cells]


def test_memory_at_a_step_is_what_the_events_told_until_then(feed: Feed) -> None:
    told: dict[str, list[tuple[int, int, int]]] = {}
    for event in feed._session.recorder.snapshot().events:
        if isinstance(event, tf.runtime.Allocated | tf.runtime.Freed):
            told.setdefault(short(event.device), []).append((event.seq, event.in_use, event.pool))
    window = feed.steps_about(9, None, "all", None)

    assert {"GPU:0", "GPU:1"} == set(told)
    for number, row in enumerate(said(window)):
        for device, levels in told.items():
            expected = [list(level) for seq, *level in levels if seq <= row["seq"]][-1:]
            assert expected == [level for at, *level in window["levels"][device] if at <= number][-1:] or (
                not expected and [-1, -1] == [level for at, *level in window["levels"][device] if at <= number][-1]
            )


def test_an_answer_is_plain_data_of_less_than_100_kb(feed: Feed, monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    monkeypatch.undo()
    shell.run("for _ in range(3000): g = a + a")

    window = feed.steps_about(1500, None, "all", None)

    assert (750, True) == (len(window["steps"]), len(json.dumps(window)) < 100_000)
    assert window == json.loads(json.dumps(window))


def test_a_replay_goes_on_with_what_there_was_when_it_began(feed: Feed, shell: Shell) -> None:
    first = feed.steps_about(10**9, None, "all", None)
    shell.run("h = a + a")

    again = feed.steps_about(10**9, first["until"], "all", None)

    assert first == again
    assert first["count"] + 1 == feed.steps_about(0, None, "all", None)["count"]


@pytest.mark.parametrize("scope", ["cell", "here"])
def test_a_scope_has_its_own_steps(feed: Feed, scope: str) -> None:
    window = feed.steps_about(0, None, scope, feed._session.recorder.scenes[-1])

    assert [[0, "cell 4"]] == window["cells"]
    assert not window["cut"]
    assert {"cell 4"} == {row["code"].partition(",")[0] for row in said(window)}


def test_a_restart_begins_anew(feed: Feed, shell: Shell) -> None:
    shell.run("tf.runtime.restart()", "a = tf.ones([2]) + 1.0")

    assert ["Fill", "AddV2"] == [row["op"] for row in said(feed.steps_about(0, None, "all", None))]


def test_it_says_since_when_it_knows() -> None:
    recorder = Recorder(capacity=50)
    with tf.device("CPU:0"):
        a = tf.ones([2])
        forget = tf.runtime.start_recorder(recorder)
        for _ in range(3000):
            a = tf.negative(a)
        forget()
    snapshot = recorder.snapshot()

    window = StepWindows(snapshot, 0, [], str, 0.0).window(0)

    assert (True, 3000) == (window["cut"], sum(snapshot.ops.values()))
    assert 20 <= window["count"] <= 50
    assert window["known"] == window["steps"][0][COLUMNS.index("ms")]


def test_nothing_has_no_steps(shell: Shell) -> None:
    window = Feed(SESSIONS[shell.ip]).steps_about(0, None, "all", None)

    assert (0, 0, [], {}) == (window["begin"], window["count"], window["steps"], window["levels"])
