"""Does a cluster of real processes on this computer start, hide what opens it, and end?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

distributed = pytest.importorskip("distributed")
pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with tf.distribute.LocalCluster(worker=2, gpus=2, model="K20m", heartbeat=60.0) as cluster:
        yield cluster


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_tasks_have_the_simulated_gpus_that_were_asked_for(cluster: Any) -> None:
    [host] = tf.runtime.look_at_cluster(cluster, 120.0)

    assert {"worker-0": ["GPU:0", "GPU:1"], "worker-1": ["GPU:0", "GPU:1"]} == {
        worker.worker: [device.name for device in worker.devices] for worker in host.workers
    }
    assert {"Tesla K20m"} == {device.model for worker in host.workers for device in worker.devices}


def test_it_is_a_resolver(cluster: Any) -> None:
    assert (2, {"GPU": 2}) == (cluster.cluster_spec().num_tasks("worker"), cluster.num_accelerators())
    assert cluster.scheduler_address == cluster.master()


def test_nothing_that_is_printed_opens_it(cluster: Any) -> None:
    secrets = {line for text in cluster._credentials.values() for line in text.splitlines() if len(line) > 40}
    printed = f"{cluster!r} {cluster.cluster_spec()!r} {cluster.security!r} {cluster.engine().scheduler!r}"

    assert secrets
    assert [] == [line for line in secrets if line in printed]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads what the system tells of processes")
def test_neither_arguments_nor_environment_open_it(cluster: Any) -> None:
    secrets = [line for text in cluster._credentials.values() for line in text.splitlines() if len(line) > 40]
    files = [Path("/proc", str(pid), name) for pid in cluster.pids.values() for name in ("cmdline", "environ")]

    visible = b"".join(file.read_bytes() for file in files).decode(errors="replace")

    assert visible
    assert [] == [line for line in secrets if line in visible]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads what the system tells of sockets")
def test_it_listens_on_the_loopback_interface_alone(cluster: Any) -> None:
    pids = [*cluster.pids.values(), cluster._scheduler.pid]
    inodes = {
        os.readlink(link)[8:-1]
        for pid in pids
        for link in Path("/proc", str(pid), "fd").iterdir()
        if os.readlink(link).startswith("socket:")
    }
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        if (file := Path("/proc/net", name)).exists()
        for line in file.read_text(encoding="utf-8").splitlines()[1:]
    ]
    listening = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes]

    assert len(listening) >= len(pids)
    assert {"0100007F"} == {*listening}


def test_a_task_can_be_started_anew(cluster: Any) -> None:
    before = cluster.pids

    cluster.replace("worker-1")

    assert before["worker-0"] == cluster.pids["worker-0"]
    assert before["worker-1"] != cluster.pids["worker-1"]
    assert not is_running(before["worker-1"])


def test_a_closed_cluster_has_no_process() -> None:
    with tf.distribute.LocalCluster(worker=1) as cluster:
        pids = [*cluster.pids.values(), cluster._scheduler.pid]

    assert [] == [pid for pid in pids if is_running(pid)]
    assert "LocalCluster(closed)" == repr(cluster)
    with pytest.raises(ValueError, match="is closed"):
        cluster.engine()


@pytest.mark.parametrize("counts", [{"worker": 0}, {"worker": -1}, {"ps": 1, "worker": -1}], ids=str)
def test_a_cluster_needs_tasks(counts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs at least 1 task"):
        tf.distribute.LocalCluster(**counts)


def test_a_cluster_has_one_chief() -> None:
    with pytest.raises(ValueError, match=r"at most 1 chief\. Got chief=2"):
        tf.distribute.LocalCluster(chief=2)


@pytest.mark.parametrize("count", [10**6, 8 * max(2, os.cpu_count() or 1) + 1])
def test_more_processes_than_a_computer_can_use_are_not_started(count: int) -> None:
    with pytest.raises(ValueError, match=rf"at most \d+\. Got .*worker={count}.*tf\.runtime\.simulate_cluster"):
        tf.distribute.LocalCluster(worker=count)


@pytest.mark.parametrize("argument", ["worker", "chief", "ps", "heartbeat", "timeout"])
@pytest.mark.parametrize("value", ["2", None, [2]])
def test_a_number_that_is_none_is_refused_before_a_process_starts(argument: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"`{argument}` must be an? (integer|number). Got "):
        tf.distribute.LocalCluster(**{argument: value})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("argument", ["heartbeat", "timeout"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_waiting_for_no_time_is_refused(argument: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"`{argument}` must be more than 0 seconds"):
        tf.distribute.LocalCluster(**{argument: value})  # pyright: ignore[reportArgumentType]
