"""Are the workers of a Dask cluster tasks, whoever has started it?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf.errors import AbortedError

distributed = pytest.importorskip("distributed")
pytest.importorskip("cryptography")

resolvers = tf.distribute.cluster_resolver


@pytest.fixture
def workers(dask_cluster: Any) -> Any:
    """A cluster that something else has started: the same for all tests, of which Dask's older releases want no two."""
    return dask_cluster


class Launched:
    """What a launcher has started: records how it was asked for."""

    def __init__(self, workers: Any, options: dict[str, Any]) -> None:
        self.options, self.jobs, self.closed = options, 0, 0
        self.scheduler_address, self.security = workers.scheduler_address, workers.security

    def scale(self, jobs: int) -> None:
        self.jobs = jobs

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def launcher(workers: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[Launched]]:
    """Puts a launcher where a library has its own; returns what it starts."""

    def install(module: str, name: str) -> list[Launched]:
        clusters: list[Launched] = []

        def start(*positional: Any, **options: Any) -> Launched:
            clusters.append(Launched(workers, options | {"positional": positional}))
            return clusters[-1]

        library: Any = ModuleType(module)
        setattr(library, name, start)
        monkeypatch.setitem(sys.modules, module.partition(".")[0], library)
        monkeypatch.setitem(sys.modules, module, library)
        return clusters

    return install


def test_workers_of_a_running_cluster_are_tasks(workers: Any) -> None:
    resolver = resolvers.DaskClusterResolver(workers)
    with use_context(Context(None, {})):
        tf.config.experimental_connect_to_cluster(resolver)
        with tf.device("/job:worker/task:1/device:CPU:0"):
            x = tf.constant([1.0, 2.0]) * 2.0

        assert ("/job:worker/replica:0/task:1/device:CPU:0", [2.0, 4.0]) == (x.device, x.numpy().tolist())
        connected: Any = CURRENT.context.cluster
        connected.end(AbortedError("The test is over."))
        connected.engine.close()
    assert workers.scheduler_address == resolver.master()
    assert 2 == resolver.cluster_spec().num_tasks("worker")


def test_an_address_elsewhere_needs_tls() -> None:
    with pytest.raises(ValueError, match="allow_insecure=True"):
        resolvers.DaskClusterResolver("tcp://10.0.0.1:8786")

    assert "tcp://10.0.0.1:8786" in repr(resolvers.DaskClusterResolver("tcp://10.0.0.1:8786", allow_insecure=True))


def test_slurm_is_asked_for_encrypted_jobs_with_cards(launcher: Any) -> None:
    clusters = launcher("dask_jobqueue", "SLURMCluster")

    with resolvers.SlurmClusterResolver(worker=2, gres="gpu:1", time="1:00:00", queue="short") as resolver:
        assert 2 == resolver.cluster_spec().num_tasks("worker")

    [cluster] = clusters
    assert {
        "cores": 1,
        "memory": "4GB",
        "processes": 1,
        "protocol": "tls://",
        "security": True,
        "job_extra_directives": ["--gres=gpu:1"],
        "walltime": "1:00:00",
        "queue": "short",
        "positional": (),
    } == cluster.options
    assert (2, 1) == (cluster.jobs, cluster.closed)


def test_kubernetes_is_asked_for_pods(launcher: Any) -> None:
    clusters = launcher("dask_kubernetes.operator", "KubeCluster")

    resolvers.KubernetesClusterResolver(worker=2, image="me/nbtf", namespace="lab").close()

    assert {"n_workers": 2, "image": "me/nbtf", "namespace": "lab", "positional": ()} == clusters[0].options


@pytest.mark.parametrize("hosts", [{"worker": ["n1", "n2"]}, ["n1", "n2"]], ids=["jobs", "list"])
def test_ssh_starts_a_scheduler_and_the_workers(launcher: Any, hosts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher("asyncssh", "connect")
    clusters: list[dict[str, Any]] = []

    def start(names: list[str], **options: Any) -> Any:
        clusters.append({"names": names} | options)
        raise ConnectionError("no such machine")

    monkeypatch.setattr(distributed, "SSHCluster", start)
    with pytest.raises(ConnectionError, match="no such machine"):
        resolvers.SSHClusterResolver(hosts, remote_python="python3")

    assert [{"names": ["n1", "n1", "n2"], "remote_python": "python3"}] == clusters


def test_workers_that_do_not_come_end_the_cluster(launcher: Any) -> None:
    clusters = launcher("dask_jobqueue", "SLURMCluster")

    with pytest.raises(tf.errors.DeadlineExceededError, match=r"2 of 3 workers connected to tls://.* within 0\.5 s"):
        resolvers.SlurmClusterResolver(worker=3, timeout=0.5)

    assert 1 == clusters[0].closed


@pytest.mark.parametrize(
    ("resolver", "package"),
    [
        (lambda: resolvers.SlurmClusterResolver(worker=1), "dask-jobqueue"),
        (lambda: resolvers.KubernetesClusterResolver(worker=1), "dask-kubernetes"),
        (lambda: resolvers.SSHClusterResolver(["n1"]), "asyncssh"),
    ],
    ids=["slurm", "kubernetes", "ssh"],
)
def test_a_launcher_that_is_not_installed_is_named(
    resolver: Callable[[], Any], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", None)

    with pytest.raises(ImportError, match=f"pip install {package}"):
        resolver()


@pytest.mark.parametrize("hosts", [[], {}, "n1", {"ps": ["n1"]}, {"worker": []}], ids=str)
def test_ssh_needs_hosts_of_the_job_worker(hosts: Any) -> None:
    with pytest.raises(ValueError, match="Expected hosts as in"):
        resolvers.SSHClusterResolver(hosts)


@pytest.mark.parametrize("name", ["SlurmClusterResolver", "KubernetesClusterResolver"])
def test_a_program_written_for_tensorflow_starts_nothing(name: str) -> None:
    with pytest.raises(TypeError, match="worker"):
        getattr(resolvers, name)()
