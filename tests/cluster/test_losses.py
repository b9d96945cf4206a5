"""A task that is lost is told as lost, wherever devices are listed; after its replacement it is as before."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.cluster import renew
from nbtf._runtime.context import CURRENT
from nbtf.notebook.stills.device_facts import map_facts
from tests.cluster.connected import GPU_0, GPU_1, Connected
from tests.cluster.test_interrupts import assert_usable
from tests.shells import interactive_shell

NAME = "/job:worker/task:1/GPU:0"


def row_of(name: str) -> Any:
    return next(device for device in tf.runtime.devices() if device.name == name)


def lose(two: Connected) -> None:
    """Has both tasks hold something, and one lost."""
    for name in (GPU_0, GPU_1):
        with tf.device(name):
            tf.ones([1000]).numpy()
    two.engine.kill("worker", 1)


def test_a_lost_device_says_since_when_and_why_and_has_no_figures(two: Connected) -> None:
    before = row_of(NAME)
    lose(two)
    lost, left = row_of(NAME), row_of(NAME.replace("task:1", "task:0"))

    two.engine.start("worker", 1)
    renew(CURRENT.context)

    assert (None, True) == (before.lost, before.in_use is not None)
    assert lost.lost is not None
    assert lost.lost.startswith("since ")
    assert lost.lost.endswith("the process has closed the connection: it was killed")
    assert (None, None, None, None) == (lost.in_use, lost.peak, lost.pool, lost.memory_limit)
    assert "/job:worker/task:1/GPU:0 (simulated Tesla V100-SXM2-16GB, lost)" == lost.label
    assert (None, True) == (left.lost, left.in_use is not None)
    assert (None, before.memory_limit) == (row_of(NAME).lost, row_of(NAME).memory_limit)


@pytest.mark.parametrize("magic", ["%devices", "%gpu_memory"])
def test_a_table_has_the_word_and_the_reason(two: Connected, tmp_path: Path, magic: str) -> None:
    with interactive_shell(tmp_path) as shell:
        tf.load_ipython_extension(shell)
        there = str(shell.run_cell(magic).result)
        lose(two)
        lost = str(shell.run_cell(magic).result)
        two.engine.start("worker", 1)
        renew(CURRENT.context)
        again = str(shell.run_cell(magic).result)
        tf.unload_ipython_extension(shell)

    [row] = [line for line in lost.splitlines() if NAME in line]
    assert "simulated, lost" in row
    assert "GiB" not in row
    assert "worker/1 is lost since " in lost
    assert (False, False) == ("lost" in there, "lost" in again)


def test_a_map_says_lost_in_place_of_memory(two: Connected) -> None:
    with tf.runtime.recording() as record:
        lose(two)
    snapshot = record.snapshot()

    facts = {card.name: card for card in map_facts(snapshot, tf.runtime.devices()).cards}

    assert (True, None, []) == (facts[NAME].is_lost, facts[NAME].in_use, facts[NAME].levels)
    assert not facts[NAME.replace("task:1", "task:0")].is_lost


def test_the_error_begins_with_the_task_and_says_process_host_and_what_to_do(two: Connected) -> None:
    with tf.device(GPU_1):
        x = tf.ones([2])
        x.numpy()
    lose(two)

    with pytest.raises(tf.errors.UnavailableError) as read:
        x.numpy()
    with tf.device(GPU_1), pytest.raises(tf.errors.UnavailableError) as op:
        tf.add(x, 1.0)
    with tf.device(GPU_0), pytest.raises(tf.errors.UnavailableError) as copy:
        tf.add(x, 1.0).numpy()

    for caught in (read, op, copy):
        message = str(caught.value)
        assert message.startswith("/job:worker/replica:0/task:1 is lost: the process has closed the connection")
        assert "It was process " in message
        assert " on host " in message
        assert "strategy.replace('/job:worker/task:1')" in message
        assert "function_node" not in message


def test_an_op_that_fails_while_somebody_waits_is_named_once(two: Connected) -> None:
    with tf.device(GPU_1), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.where(tf.linalg.inv(tf.zeros([2, 2])) > 0.0)

    assert 1 == str(caught.value).count("function_node")


def test_a_restart_ends_the_sessions_and_gives_their_memory_back(two: Connected) -> None:
    hosts: list[Any] = [process.host for process in two.engine._processes.values()]
    before = [host.devices[1].memory.stats().in_use for host in hosts]
    with tf.device(GPU_1):
        x = tf.ones([1000])
        v = tf.Variable([1.0])
    two.cluster.wait()

    tf.runtime.restart()

    assert [{}, {}] == [host._sessions for host in hosts]
    gc.collect()
    assert before == [host.devices[1].memory.stats().in_use for host in hosts]
    for value in (x, v):
        with pytest.raises(tf.errors.AbortedError, match=r"restart\(\) ended the session there"):
            value.numpy()
    with pytest.raises(tf.errors.AbortedError, match="restart"):
        tf.add(x, 1.0)
    assert [] == tf.runtime.cluster_tasks()
    tf.config.experimental_connect_to_cluster(two.engine)
    assert_usable(Connected(two.engine, CURRENT.context.cluster))
    CURRENT.context.cluster.end(tf.errors.AbortedError(None, None, "The test is over."))


def test_who_holds_memory_of_a_task_is_known_without_a_map(two: Connected) -> None:
    with tf.device(GPU_1):
        x = tf.ones([1000])
        first = tf.runtime.holding(x)
        second = tf.runtime.holding(tf.reshape(x, [10, 100]))

    assert first is not None
    assert second is not None
    assert (NAME, 4096, 4000) == (first.device, first.nbytes, first.requested)
    assert second[:3] == first[:3]


def test_holders_of_remote_tensors_are_named_with_their_bytes(two: Connected, tmp_path: Path) -> None:
    with interactive_shell(tmp_path) as shell:
        tf.load_ipython_extension(shell)
        shell.push({"tf": tf, "GPU_1": GPU_1})
        shell.run_cell(
            "with tf.device(GPU_1):\n    x = tf.ones([1000])\n    v = tf.Variable(tf.zeros([500]))\n"
            "    parts = [x + 1.0]"
        )
        rows = shell.run_cell("%gpu_memory --who --all").result.rows
        tf.unload_ipython_extension(shell)

    held = {row["holder"]: row["nbytes"] for row in rows if row["device"] == NAME}
    assert {"x": 4096, "v": 2048, "parts[0]": 4096}.items() <= held.items()
