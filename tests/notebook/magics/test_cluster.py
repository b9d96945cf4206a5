"""`%cluster` starts real processes, says how they are, and ends them."""

from __future__ import annotations

import os

import pytest

from tests.notebook.conftest import Shell


def test_without_a_cluster_the_status_says_how_to_start_one(shell: Shell) -> None:
    table = shell.ip.run_line_magic("cluster", "status")

    assert [] == table.rows
    assert ["This notebook is not connected to a cluster. To start one: %cluster start worker=2 gpus=2"] == table.notes[
        :1
    ]


def test_a_cluster_starts_runs_and_stops(shell: Shell) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    table = shell.ip.run_line_magic("cluster", "start worker=1 gpus=1 model=T4")
    cell = shell.run("with tf.device('/job:worker/task:0/GPU:0'):", "    x = tf.ones([3]) * 2.0", "x.numpy().tolist()")

    [row] = table.rows
    assert [2.0, 2.0, 2.0] == cell.result
    assert ("/job:worker/task:0", "there", ["CPU:0", "GPU:0"]) == (row["task"], row["state"], row["devices"])
    assert [note for note in table.notes if "gpus=1 (simulated)" in note]

    assert "stopped" in shell.run("%cluster stop").out
    with pytest.raises(ProcessLookupError):
        os.kill(int(row["process"]), 0)
    [row] = shell.ip.run_line_magic("cluster", "status").rows
    assert "lost" == row["state"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("start worker=x", "worker is 'x'. Expected a number"),
        ("start nodes=2", "cannot read 'nodes=2'"),
        ("start worker=0", "needs at least 1 task"),
        ("status worker=2", "settings are only for start"),
        ("go", "invalid choice: 'go'"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, line: str, words: str) -> None:
    assert words in shell.run(f"%cluster {line}").out


def test_stop_without_a_cluster_says_so(shell: Shell) -> None:
    assert "%cluster has not started a cluster." in shell.run("%cluster stop").out
