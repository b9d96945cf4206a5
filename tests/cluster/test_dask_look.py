"""What do the workers of a Dask cluster that never heard of nbtf tell of their host?"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.shells import interactive_shell

distributed = pytest.importorskip("distributed")

LONG = 120.0
"""Seconds that no answer takes, however busy the machine is."""


class Known:
    """A cluster whose scheduler is there, by other certificates."""

    def __init__(self, address: str, security: Any) -> None:
        self.scheduler_address, self.security = address, security


@pytest.fixture
def client(dask_cluster: Any) -> Iterator[Any]:
    with distributed.Client(dask_cluster, set_as_default=False) as client:
        yield client


def make_zeros() -> Any:
    import nbtf as tf

    if not tf.config.list_physical_devices("GPU"):
        tf.runtime.simulate_gpus(1)
    return tf.zeros([1024, 256])


def test_cards_of_a_host_are_told_once(dask_cluster: Any) -> None:
    [host] = tf.runtime.look_at_cluster(dask_cluster, LONG)

    assert [(0, "NVIDIA L4", 3 << 30), (1, "NVIDIA L4", 5 << 30)] == [
        (card.number, card.name, card.used) for card in host.cards
    ]
    assert [None, None] == [worker.problem for worker in host.workers]


def test_keys_of_dask_are_holders(client: Any) -> None:
    worker = sorted(client.scheduler_info()["workers"])[0]
    future = client.submit(make_zeros, key="gradients", workers=[worker])
    with client.as_current():
        distributed.wait(future)

    [host] = tf.runtime.look_at_cluster(client, LONG)

    held = [(each.holder.partition(": ")[2], each.nbytes, each.tensor) for each in host.holders]
    assert ("key 'gradients'", 1 << 20, "[1024, 256] float32") in held
    devices = [device for each in host.workers for device in each.devices]  # other tests may have used the other worker
    assert devices
    assert all(device.simulated for device in devices)


def test_a_worker_that_is_stopped_is_named(dask_cluster: Any) -> None:
    [host] = tf.runtime.look_at_cluster(dask_cluster, LONG)
    stopped, running = host.workers
    assert stopped.pid is not None
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        look = tf.runtime.look_at_cluster(dask_cluster, 3.0)
    finally:
        os.kill(stopped.pid, signal.SIGCONT)

    assert {stopped.worker, running.worker} == {worker.worker for worker in look[0].workers}
    assert stopped.worker in [worker.worker for worker in look.silent]


def test_other_certificates_are_refused_by_name(dask_cluster: Any) -> None:
    other = Known(dask_cluster.scheduler_address, distributed.Security.temporary())

    with pytest.raises(tf.errors.UnauthenticatedError, match="certificate"):
        tf.runtime.look_at_cluster(other, LONG)


def test_no_certificate_is_refused_by_name(dask_cluster: Any) -> None:
    with pytest.raises(tf.errors.UnauthenticatedError, match="none are configured"):
        tf.runtime.look_at_cluster(dask_cluster.scheduler_address, LONG)


def test_no_scheduler_is_said_so() -> None:
    with pytest.raises(tf.errors.UnavailableError, match=r"No scheduler answered at tcp://127\.0\.0\.1:9 within 1 s"):
        tf.runtime.look_at_cluster("tcp://127.0.0.1:9", 1.0, allow_insecure=True)


HOSTS = ("10.0.0.1", "node-7", "127.0.0.1", "127.0.0.1.example.org", "localhost", "localhost.example.org", "[::1]")


@pytest.mark.parametrize("address", [f"{scheme}://{host}:8786" for scheme in ("tcp", "ws", "ucx") for host in HOSTS])
def test_an_address_without_tls_needs_a_word(address: str) -> None:
    with pytest.raises(ValueError, match="allow_insecure=True"):
        tf.runtime.look_at_cluster(address)


@pytest.mark.parametrize("cluster", [None, 8786, object()], ids=["None", "number", "object"])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    with pytest.raises(TypeError, match="Expected the address of a Dask scheduler"):
        tf.runtime.look_at_cluster(cluster)


def test_magics_show_the_cards_by_host_and_who_holds_them(dask_cluster: Any, tmp_path: Any) -> None:
    with interactive_shell(tmp_path / "ipython") as shell:
        shell.user_ns["cluster"] = dask_cluster
        tf.load_ipython_extension(shell)
        try:
            cards = shell.run_line_magic("devices", "--cluster cluster")
            holders = shell.run_line_magic("gpu_memory", "--who --cluster cluster")
            drawn = shell.run_line_magic("devices", "--map --cluster cluster")
        finally:
            tf.unload_ipython_extension(shell)

    rows = [(row["device"], row["in_use"]) for row in cards.to_dict()["rows"] if row["kind"] == "real"]
    assert [("card 0", 3 << 30), ("card 1", 5 << 30)] == rows
    assert [note for note in cards.notes if "2 workers, 2 cards" in note]
    assert {"host", "holder", "nbytes"} <= {column.name for column in holders.columns}
    assert "2 cards" in repr(drawn)
