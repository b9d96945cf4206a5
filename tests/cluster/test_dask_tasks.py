"""Ops on devices of real processes, and what is said when those are killed, stopped, or cannot be reached."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._cluster.controller import Cluster, connect
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf.errors import AbortedError
from tests.cluster.connected import GPU_0, GPU_1
from tests.cluster.presses import pressed

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

HEARTBEAT = 5.0
"""Long enough for a machine that has much to do: only what is stopped on purpose is to be silent."""


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with tf.distribute.LocalCluster(worker=2, gpus=1, model="K20m", heartbeat=HEARTBEAT) as cluster:
        yield cluster


def context_of(cluster: Any) -> Iterator[Cluster]:
    with use_context(Context(None, {})):
        engine = cluster.engine()
        yield connect(engine)
        current: Any = CURRENT.context.cluster
        current.end(AbortedError("The test is over."))
        engine.close()


@pytest.fixture
def connected(processes: Any) -> Iterator[Cluster]:
    yield from context_of(processes)


def read_until_it_fails(tensor: Any) -> None:
    while True:
        tensor.numpy()


def test_ops_run_in_other_processes(connected: Cluster) -> None:
    with tf.device(GPU_1):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        y = x @ x

    assert "/job:worker/replica:0/task:1/device:GPU:0" == y.device
    assert [[7.0, 10.0], [15.0, 22.0]] == y.numpy().tolist()


@pytest.mark.parametrize("count", [0, 1, 1000, 3_000_000])
def test_arrays_of_every_size_come_back_as_they_went(connected: Cluster, count: int) -> None:
    array = np.arange(count, dtype=np.float32)
    with tf.device(GPU_0):
        x = tf.constant(array)
    with tf.device(GPU_1):
        y = tf.identity(x)

    assert np.array_equal(array, y.numpy())


def test_tensors_go_from_process_to_process(connected: Cluster) -> None:
    with tf.device(GPU_0):
        x = tf.zeros([1 << 18]) + 3.0
    before = sum(channel.bytes_sent for channel in connected.channels)

    with tf.device(GPU_1):
        total = tf.reduce_sum(x + 1.0)

    assert 4.0 * (1 << 18) == total.numpy()
    assert sum(channel.bytes_sent for channel in connected.channels) - before < 2000


def test_two_processes_take_from_each_other_in_turn(connected: Cluster) -> None:
    x = tf.constant([1.0])
    for number in range(40):
        with tf.device((GPU_0, GPU_1)[number % 2]):
            x = x + 1.0

    assert [41.0] == x.numpy().tolist()


def test_a_look_tells_what_programs_have_on_a_task(connected: Cluster, processes: Any) -> None:
    with tf.device(GPU_1):
        x = tf.zeros([1 << 20])
    connected.wait()

    [host] = tf.runtime.look_at_cluster(processes, 120.0)

    in_use = {worker.worker: worker.devices[0].in_use for worker in host.workers}
    assert x.shape == [1 << 20]
    assert (in_use["worker-1"] or 0) >= 4 << 20 > (in_use["worker-0"] or 0)
    assert "worker-1: nbtf: tensors of a connected program" in [each.holder for each in host.holders]


def test_another_controller_has_tensors_of_its_own(connected: Cluster, processes: Any) -> None:
    with tf.device(GPU_0):
        x = tf.fill([3], 2.0)
    generator = context_of(processes)
    next(generator)
    with tf.device(GPU_0):
        y = tf.fill([3], 5.0)

    assert [5.0] * 3 == y.numpy().tolist()
    assert list(generator) == []
    assert [2.0] * 3 == x.numpy().tolist()


def test_what_a_process_has_not_begun_is_dropped_by_an_interrupt(connected: Cluster) -> None:
    with tf.device(GPU_1):
        x = tf.ones([1024, 1024])
        connected.wait()
        y = x
        for _ in range(400):
            y = tf.matmul(x, y) / 1024.0
        with pressed(connected), pytest.raises(KeyboardInterrupt):
            y.numpy()

    with pytest.raises(tf.errors.CancelledError, match=r"was not run on .*task:1/device:GPU:0: .* interrupted"):
        y.numpy()
    assert 1024.0**2 == tf.reduce_sum(x).numpy()


def test_a_killed_process_is_named_and_replaced(connected: Cluster, processes: Any) -> None:
    with tf.device(GPU_0):
        x = tf.fill([2], 7.0)
    with tf.device(GPU_1):
        y = tf.fill([2], 8.0)
    connected.wait()
    os.kill(processes.pids["worker-1"], signal.SIGKILL)

    with pytest.raises(tf.errors.UnavailableError, match=r"task:1 is lost.*closed the connection"):
        y.numpy()

    processes.replace("worker-1")
    fresh = connected.renew()
    assert {"/job:worker/replica:0/task:1"} == {device.task for device in fresh}
    assert [7.0, 7.0] == x.numpy().tolist()


def test_who_pulls_from_a_killed_process_hears_which(connected: Cluster, processes: Any) -> None:
    with tf.device(GPU_1):
        y = tf.fill([2], 8.0)
    connected.wait()
    os.kill(processes.pids["worker-1"], signal.SIGKILL)

    with pytest.raises(tf.errors.UnavailableError, match="task:1"), tf.device(GPU_0):
        (y + 1.0).numpy()
    processes.replace("worker-1")


def test_a_process_that_is_killed_while_it_is_connected_with_is_named(
    processes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask_engine = import_module("nbtf._cluster.dask_engine")
    ask = dask_engine.ask_each

    async def ask_after_a_kill(*arguments: Any) -> Any:
        os.kill(processes.pids["worker-1"], signal.SIGKILL)
        return await ask(*arguments)

    monkeypatch.setattr(dask_engine, "ask_each", ask_after_a_kill)
    with use_context(Context(None, {})), pytest.raises(tf.errors.UnavailableError, match="task:1 is not available"):
        connect(processes.engine())
    processes.replace("worker-1")


def test_a_stopped_process_is_named(connected: Cluster, processes: Any) -> None:
    with tf.device(GPU_1):
        y = tf.fill([2], 8.0)
    connected.wait()
    os.kill(processes.pids["worker-1"], signal.SIGSTOP)

    with pytest.raises(tf.errors.OpError, match=r"task:1 is lost.*no sign of life"):
        (y + 1.0).numpy()
    processes.replace("worker-1")


def test_a_lost_scheduler_is_named_and_no_task() -> None:
    with tf.distribute.LocalCluster(worker=1) as cluster:
        generator = context_of(cluster)
        connected = next(generator)
        with tf.device("/job:worker/task:0/device:CPU:0"):
            x = tf.fill([2], 8.0)
        connected.wait()
        os.kill(cluster._scheduler.pid, signal.SIGKILL)

        with pytest.raises(tf.errors.UnavailableError, match=r"The scheduler of the cluster, tls://.*is lost"):
            read_until_it_fails(x)
        assert list(generator) == []


def test_tensors_of_a_closed_cluster_say_so() -> None:
    with tf.distribute.LocalCluster(worker=1) as cluster:
        generator = context_of(cluster)
        next(generator)
        with tf.device("/job:worker/task:0/device:CPU:0"):
            x = tf.fill([2], 8.0)

    with pytest.raises(tf.errors.UnavailableError, match="its cluster was closed"):
        x.numpy()
    assert list(generator) == []


def test_other_certificates_are_refused(processes: Any) -> None:
    dask = processes._dask
    scheduler = dask.scheduler_at(processes.scheduler_address, dask.new_credentials())
    engine = dask.DaskEngine(scheduler)

    with pytest.raises(tf.errors.UnauthenticatedError, match="certificate"):
        engine.addresses()
    engine.close()


def test_a_task_that_was_started_anew_is_not_the_one_before(processes: Any) -> None:
    engine = processes.engine()
    address = engine.addresses()[0]
    listener: Any = object()

    with pytest.raises(tf.errors.UnavailableError, match="restarted"):
        engine.connect(address._replace(incarnation="0"), listener)
    engine.close()


def test_an_address_of_a_scheduler_is_enough(dask_cluster: Any) -> None:
    tls = "distributed.comm.tls"
    certificates = {
        f"{tls}.ca-file": dask_cluster.security.tls_ca_file,
        f"{tls}.client.cert": dask_cluster.security.tls_client_cert,
        f"{tls}.client.key": dask_cluster.security.tls_client_key,
    }
    with import_module("dask.config").set(certificates), use_context(Context(None, {})):
        tf.config.experimental_connect_to_host(dask_cluster.scheduler_address)
        with tf.device("/job:worker/task:0"):
            x = tf.constant(1.0) + 1.0

        assert ("/job:worker/replica:0/task:0/device:CPU:0", 2.0) == (x.device, x.numpy())
        current: Any = CURRENT.context.cluster
        current.end(AbortedError("The test is over."))
        current.engine.close()


@pytest.mark.parametrize("host", [None, ""])
def test_no_address_is_refused(host: Any) -> None:
    with pytest.raises(ValueError, match="at least one remote_host"):
        tf.config.experimental_connect_to_host(host)
