"""Are notes for TensorBoard accepted, without a file?"""

from __future__ import annotations

from pathlib import Path

import pytest

import nbtf as tf
from nbtf import summary


def test_notes_are_accepted_and_nothing_is_written(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path / "logs"))
    with writer.as_default(step=1), tf.summary.record_if(True):
        written = [
            tf.summary.scalar("loss", 0.5, step=1),
            tf.summary.histogram("weights", [1.0, 2.0]),
            tf.summary.image("picture", tf.zeros([1, 2, 2, 1])),
            tf.summary.text("words", "text"),
        ]
    writer.flush()
    writer.close()

    assert (written, list(tmp_path.iterdir())) == ([False] * 4, [])


def test_that_nothing_is_written_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    summary._warn_of_no_files.cache_clear()
    for _ in range(2):
        tf.summary.create_file_writer("logs")
        tf.keras.callbacks.TensorBoard("logs")
    tf.summary.create_noop_writer()

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "writes no event files" in caplog.text
