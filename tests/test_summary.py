"""Do notes for TensorBoard come to the file, and only those that are wanted?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf import summary
from tests.storage.events import events_in, values_in


def test_a_writer_makes_its_file_at_once(tmp_path: Path) -> None:
    tf.summary.create_file_writer(str(tmp_path / "logs"))

    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert path.name.endswith(".v2")
    assert [b"brain.Event:2"] == [event[3] for event in events_in(path)]


def test_notes_of_a_block_are_written_with_their_step(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=7):
        written = [
            tf.summary.scalar("loss", 0.5),
            tf.summary.scalar("loss", tf.constant(0.25), step=8),
            tf.summary.text("words", "text"),
            tf.summary.histogram("weights", [1.0, 2.0], buckets=2),
            tf.summary.write("tensor", [1, 2]),
        ]
    writer.close()

    assert [True] * 5 == written
    expected = [(7, "loss", 0.5), (8, "loss", 0.25), (7, "words", [b"text"])]
    assert [*expected, (7, "weights", [1.0, 1.5, 1.0, 1.5, 2.0, 1.0]), (7, "tensor", [1.0, 2.0])] == values_in(tmp_path)


def test_nothing_is_written_without_a_writer_or_where_a_block_forbids_it(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    before = tf.summary.scalar("a", 1.0, step=1)
    with writer.as_default(step=1), tf.summary.record_if(lambda: False):
        forbidden = tf.summary.scalar("b", 1.0), tf.summary.should_record_summaries()
    with tf.summary.create_noop_writer().as_default(step=1):
        nowhere = tf.summary.scalar("c", 1.0)
    writer.close()

    assert (False, (False, False), False, []) == (before, forbidden, nowhere, values_in(tmp_path))


def test_a_default_writer_stays_until_a_restart(tmp_path: Path) -> None:
    tf.summary.create_file_writer(str(tmp_path)).set_as_default(step=3)
    written = tf.summary.scalar("a", 1.0)
    tf.summary.flush()
    tf.runtime.restart()

    assert (True, False) == (written, tf.summary.scalar("a", 2.0))
    assert [(3, "a", 1.0)] == values_in(tmp_path)


def test_a_note_needs_a_step(tmp_path: Path) -> None:
    with (
        tf.summary.create_file_writer(str(tmp_path)).as_default(),
        pytest.raises(ValueError, match="No step set"),
    ):
        tf.summary.scalar("a", 1.0)


def test_a_closed_writer_takes_no_notes(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    writer.close()

    with writer.as_default(step=1), pytest.raises(RuntimeError, match="already closed"):
        tf.summary.scalar("a", 1.0)


def test_what_is_not_written_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    summary._warn_not_written.cache_clear()
    with tf.summary.create_file_writer(str(tmp_path)).as_default(step=1):
        written = [tf.summary.image("picture", tf.zeros([1, 2, 2, 1])) for _ in range(2)]

    assert ([False, False], []) == (written, values_in(tmp_path))
    assert ["nbtf does not write images to event files, only numbers, histograms and text."] == caplog.messages


def test_the_callback_writes_each_epoch(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", "mse")
    rows = tf.ones((2, 1))
    board = tf.keras.callbacks.TensorBoard(tmp_path)
    history = model.fit(rows, rows, epochs=2, verbose=0, validation_data=(rows, rows), callbacks=[board]).history

    for folder, name in (("train", "loss"), ("validation", "val_loss")):
        written = values_in(tmp_path / folder)
        assert [(0, "epoch_loss"), (1, "epoch_loss")] == [(step, tag) for step, tag, _ in written]
        assert pytest.approx(history[name]) == [value for _, _, value in written]


# Traces


def test_a_trace_is_exported_once(caplog: Any) -> None:
    tf.summary.trace_on(graph=True, profiler=True)
    tf.summary.trace_export("model", step=0)

    with pytest.raises(ValueError, match=r"^Must enable trace before export through tf\.summary\.trace_on\.$"):
        tf.summary.trace_export("model", step=0)


def test_a_trace_that_is_off_cannot_be_exported() -> None:
    tf.summary.trace_off()
    tf.summary.trace_on()
    tf.summary.trace_off()

    with pytest.raises(ValueError, match="Must enable trace"):
        tf.summary.trace_export("model", step=0)


def test_a_trace_needs_a_step_where_there_is_a_writer(tmp_path: Any) -> None:
    tf.summary.trace_on()
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.trace_export("model")
        tf.summary.trace_export("model", step=1)


def test_a_trace_ends_with_a_restart() -> None:
    tf.summary.trace_on()
    tf.runtime.restart()

    with pytest.raises(ValueError, match="Must enable trace"):
        tf.summary.trace_export("model", step=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (tf.summary.trace_on, "Must enable trace in eager mode."),
        (lambda: tf.summary.trace_export("a", 1), "Can only export trace while executing eagerly."),
    ],
    ids=["on", "export"],
)
def test_graphs_are_not_traced(call: Any, message: str, caplog: Any) -> None:
    with tf.Graph().as_default(), caplog.at_level("WARNING", "tensorflow"):
        call()

    assert [message] == [record.getMessage() for record in caplog.records]


def test_a_second_trace_and_one_inside_a_function_are_warned_of(caplog: Any) -> None:
    with caplog.at_level("WARNING", "tensorflow"):
        tf.function(lambda: tf.summary.trace_on())()
        tf.summary.trace_on()
        tf.summary.trace_on()

    texts = ["Cannot enable trace inside a tf.function.", "Trace already enabled"]
    assert texts == [record.getMessage() for record in caplog.records]


def test_metadata_of_a_tensor_name_the_plugin_that_shows_it(tmp_path: Path) -> None:
    metadata = tf.compat.v1.SummaryMetadata(display_name="the model")
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = "graph_keras_model", b"1"

    with summary.create_file_writer(str(tmp_path)).as_default():
        assert summary.write("keras", "{}", step=0, metadata=metadata)

    content = next(tmp_path.iterdir()).read_bytes()
    assert metadata.SerializeToString() in content
    assert tf.compat.v1.SummaryMetadata.FromString(metadata.SerializeToString()) == metadata


def test_a_scope_of_summaries_gives_the_tag_its_prefix() -> None:
    with tf.name_scope("outer"), summary.experimental.summary_scope("my loss") as (tag, scope):
        inside = tf.name_scope("x").__enter__()

    assert (tag, scope, inside) == ("outer/my loss", "outer/myloss/", "outer/myloss/x/")


def test_the_default_step_is_that_of_new_summaries(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        summary.experimental.set_step(7)
        assert summary.experimental.get_step() == 7
        summary.scalar("a", 1.0)
    assert summary.experimental.get_step() == 7
    summary.experimental.set_step(None)
    writer.close()

    assert [(7, "a", 1.0)] == values_in(tmp_path)
    assert summary.experimental.get_step() is None
