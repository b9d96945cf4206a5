"""Is a run of a cell shown like a recording, with its own memory, and at the moment that a reader asks for?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.session import SESSIONS, Session
from nbtf.notebook.views.cell_recording import CellRecording, cell_recording
from tests.notebook.conftest import Shell

EVERYTHING = (0.0, float("inf"))


def session_of(shell: Shell) -> Session:
    return SESSIONS[shell.ip]


def last_run(shell: Shell) -> CellRecording:
    record = cell_recording(session_of(shell))
    assert record is not None
    return record


def ops(record: CellRecording) -> list[str]:
    return [event.op for event in record.snapshot().events if isinstance(event, tf.runtime.OpExecuted)]


def test_last_cell_in_which_something_ran_is_shown(shell: Shell) -> None:
    shell.run("a = tf.ones([4])")
    shell.run("b = tf.negative(a)")
    shell.run("1 + 1")

    record = last_run(shell)
    snapshot = record.snapshot()
    assert ["Neg"] == ops(record)
    assert (1, 0, len(snapshot.events), 0) == (
        snapshot.executed,
        sum(snapshot.copies.values()),
        snapshot.heard,
        snapshot.cut,
    )


def test_where_nothing_ran_there_is_nothing(shell: Shell) -> None:
    shell.run("1 + 1")

    assert None is cell_recording(session_of(shell))


def test_time_names_the_cell(shell: Shell) -> None:
    shell.run("a = tf.ones([4])")
    first = last_run(shell)
    moment = first.snapshot().events[-1].time
    shell.run("b = tf.negative(a)")

    assert first == cell_recording(session_of(shell), (moment, moment))
    assert last_run(shell) == cell_recording(session_of(shell), EVERYTHING)
    assert None is cell_recording(session_of(shell), (0.0, 0.0))


def test_memory_of_a_run_begins_with_what_was_held_before_it(shell: Shell) -> None:
    shell.run("with tf.device('GPU:1'): a = tf.ones([2**18])")
    shell.run("with tf.device('GPU:1'): b = tf.negative(a); del a")

    (scene,) = last_run(shell).memory()

    regions = tf.runtime.memory_map("GPU:1")
    held = sorted((chunk.offset, chunk.size) for region in regions for chunk in region.chunks if chunk.in_use)
    pieces = [(start, size, birth, death) for start, size, _, _, birth, death, *_ in scene["pieces"]]
    assert held == sorted((start, size) for start, size, _, death in pieces if death == scene["steps"])
    assert 1 << 20 in [size for _, size, birth, _ in pieces if birth == 0]
    assert scene["steps"] < 10


def test_memory_of_very_many_events_is_left_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("a = tf.ones([4])")
    monkeypatch.setattr("nbtf.notebook.stills.memory_pictures.MOST_EVENTS", 1)

    assert [] == last_run(shell).memory()


def test_span_is_what_the_device_did_then(shell: Shell) -> None:
    shell.run(
        "with tf.device('GPU:0'): a = tf.ones([256, 256]); b = tf.matmul(a, a); c = tf.matmul(b, b)",
        "with tf.device('GPU:1'): d = tf.matmul(c, c)",
    )
    record = last_run(shell)
    works: list[Any] = [event for event in record.snapshot().events if isinstance(event, tf.runtime.OpExecuted)]
    second = [event for event in works if event.op == "MatMul"][1]

    span = record.span("GPU:0", (second.time, second.time))

    assert span is not None
    assert second.seconds == pytest.approx(span[1] - span[0])
    assert None is record.span("GPU:1", (second.time, second.time))
    assert 0 <= span[0] < (record.span("GPU:1", EVERYTHING) or (0, 0))[0]
