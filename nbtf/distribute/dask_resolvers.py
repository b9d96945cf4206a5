"""Resolvers for the workers of a Dask cluster: a running one, or one started by SLURM, Kubernetes or SSH.

Dask provides the launchers; this file only calls them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from nbtf._cluster.look import dask_engine
from nbtf._runtime.attributes import reads
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf.distribute.resolver import ClusterResolver


class DaskClusterResolver(ClusterResolver):
    """The workers of a running Dask cluster as tasks of the job `worker`.

    Every worker needs nbtf. A worker named `chief-0`, `worker-3` or `ps-1` becomes that task; a worker whose name is a
    number becomes the task with that number.

    Args:
      cluster: address of the scheduler, such as `"tls://10.0.0.1:8786"`, or a Dask `Client` or cluster, which have
        their certificates. For an address, the certificates come from Dask's configuration.
      allow_insecure: whether an address without TLS is accepted; False by default. Any program that listens at the
        address can then run code in this process.
      heartbeat: seconds without a sign of life after which a task is lost, 5 by default. A task whose process ends is
        lost at once.
      timeout: seconds that the scheduler and each worker may take to answer; 10 by default.

    Raises:
      ImportError: if Dask's `distributed` is not installed.
      TypeError: if `cluster` is not a cluster.
      ValueError: if `cluster` is not an address, or is an address without TLS and `allow_insecure` is False.

    >>> tf.distribute.cluster_resolver.DaskClusterResolver("tls://10.0.0.1:8786")  # connects later
    DaskClusterResolver(tls://10.0.0.1:8786)
    """

    def __init__(
        self, cluster: Any, allow_insecure: bool = False, heartbeat: float = 5.0, timeout: float = 10.0
    ) -> None:
        """Creates the resolver without contacting the cluster."""
        self._dask = dask_engine()
        self._heartbeat, self._timeout = heartbeat, timeout
        self._scheduler = self._dask.find_scheduler(cluster, allow_insecure)

    scheduler_address: str = reads("_scheduler.address", "The address of the scheduler.")

    security: Any = reads("_scheduler.security", "The certificates, for Dask's `Client`.")

    def engine(self) -> Any:
        """Returns the engine for `tf.config.experimental_connect_to_cluster`, which carries messages to the tasks."""
        return self._dask.DaskEngine(self._scheduler, self._timeout, self._heartbeat)

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs, with the addresses of the current workers.

        Raises:
          UnavailableError: if the scheduler does not answer.
          UnauthenticatedError: if a certificate was rejected.
          FailedPreconditionError: if a worker has no nbtf.
        """
        engine = self.engine()
        try:
            jobs: dict[str, dict[int, str]] = {}
            for task in engine.addresses():
                jobs.setdefault(task.job, {})[task.number] = task.location.rpartition("/")[2]
        finally:
            engine.close()
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, or of the scheduler if no task is named; see `ClusterResolver`."""
        return self.scheduler_address if task_type is None else super().master(task_type, task_id, rpc_layer)

    def __repr__(self) -> str:
        """Returns the class and address, without secrets."""
        return f"{type(self).__name__}({self.scheduler_address})"


class LaunchedClusterResolver(DaskClusterResolver):
    """A Dask cluster started by a Dask launcher; `close`, or the end of a `with` block, ends it."""

    def __init__(self, cluster: Any, workers: int, timeout: float, heartbeat: float) -> None:
        """Waits for the workers, and closes the cluster if they do not arrive in time."""
        self._cluster = cluster
        try:
            super().__init__(cluster, heartbeat=heartbeat)
            self._dask.wait_for_workers(self._scheduler, workers, timeout)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the cluster."""
        self._cluster.close()

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self, error_class: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the cluster."""
        self.close()


class SlurmClusterResolver(LaunchedClusterResolver):
    """SLURM jobs as tasks, started by `dask_jobqueue.SLURMCluster` with their own certificates: one task per job.

    TensorFlow's resolver of this name reads the variables of a SLURM job in which every task runs the program. Here one
    program controls the tasks and starts them: `SlurmClusterResolver(worker=8, gres="gpu:1")`.

    Args:
      worker: number of tasks.
      gres: resources that each task requests from SLURM, such as `"gpu:1"`.
      time: time limit of each task, such as `"1:00:00"`.
      timeout: seconds that the jobs may wait in the queue.
      heartbeat: see `DaskClusterResolver`.
      **options: options of `SLURMCluster`, such as `queue`, `account`, `cores`, `memory`, `shared_temp_directory`.

    Raises:
      ImportError: if `dask_jobqueue` is not installed; the message shows how to install it.
      DeadlineExceededError: if the jobs have not started in time.
    """

    def __init__(
        self,
        *,
        worker: int,
        gres: str | None = None,
        time: str | None = None,
        timeout: float = 3600.0,
        heartbeat: float = 5.0,
        **options: Any,
    ) -> None:
        """Submits the jobs and waits for them."""
        directives: list[str] = [*options.pop("job_extra_directives", ()), *([f"--gres={gres}"] if gres else [])]
        settings: dict[str, Any] = {"cores": 1, "memory": "4GB", "processes": 1, "protocol": "tls://", "security": True}
        settings |= {"job_extra_directives": directives} if directives else {}
        settings |= {"walltime": time} if time else {}
        launcher = _launcher("dask_jobqueue", "SLURMCluster", "dask-jobqueue")
        cluster = launcher(**settings | options)
        cluster.scale(jobs=worker)
        super().__init__(cluster, worker, timeout, heartbeat)


class KubernetesClusterResolver(LaunchedClusterResolver):
    """Kubernetes pods as tasks, started by `dask_kubernetes.operator.KubeCluster`, whose operator must be installed.

    TensorFlow's resolver of this name finds running pods; this one starts them. Dask does not encrypt the connections
    to the pods, which pass through the port that Kubernetes forwards.

    Args:
      worker: number of tasks.
      image: image of the pods, which must contain nbtf.
      timeout: seconds that the pods may take to start.
      heartbeat: see `DaskClusterResolver`.
      **options: options of `KubeCluster`, such as `name`, `namespace`, `resources`, `env`.

    Raises:
      ImportError: if `dask_kubernetes` is not installed; the message shows how to install it.
      DeadlineExceededError: if the pods have not started in time.
    """

    def __init__(
        self, *, worker: int, image: str | None = None, timeout: float = 600.0, heartbeat: float = 5.0, **options: Any
    ) -> None:
        """Starts the pods and waits for them."""
        launcher = _launcher("dask_kubernetes.operator", "KubeCluster", "dask-kubernetes")
        settings: dict[str, Any] = {"n_workers": worker} | ({"image": image} if image else {})
        super().__init__(launcher(**settings | options), worker, timeout, heartbeat)


class SSHClusterResolver(LaunchedClusterResolver):
    """Processes on machines reached by SSH as tasks, started by `distributed.SSHCluster`.

    Args:
      hosts: `{"worker": ["n1", "n2"]}` or `["n1", "n2"]`; a host that is listed twice gets two tasks. The scheduler
        runs on the first host.
      timeout: seconds that the processes may take to start.
      heartbeat: see `DaskClusterResolver`.
      **options: options of `SSHCluster`, such as `connect_options`, `remote_python`, `worker_options`, `security`.

    Raises:
      ImportError: if `distributed` or `asyncssh` is not installed; the message shows how to install it.
      ValueError: if `hosts` is empty or has jobs other than `worker`.
      DeadlineExceededError: if the workers have not started in time.
    """

    def __init__(
        self,
        hosts: Mapping[str, Sequence[str]] | Sequence[str],
        timeout: float = 120.0,
        heartbeat: float = 5.0,
        **options: Any,
    ) -> None:
        """Starts the processes and waits for them."""
        names = hosts.get("worker", ()) if isinstance(hosts, Mapping) else hosts
        jobs = set(hosts) if isinstance(hosts, Mapping) else {"worker"}
        if isinstance(hosts, str) or not names or jobs != {"worker"}:
            raise ValueError(f'Expected hosts as in {{"worker": ["n1", "n2"]}}; got {hosts!r}.')
        dask_engine()  # raises the error that shows how to install Dask
        _launcher("asyncssh", "connect", "asyncssh")
        launcher = _launcher("distributed", "SSHCluster", "distributed")
        super().__init__(launcher([names[0], *names], **options), len(names), timeout, heartbeat)


def _launcher(module: str, name: str, package: str) -> Any:
    """Returns a class of a library that starts clusters.

    Raises:
      ImportError: if the library is not installed.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"{package} starts this cluster, and it is not installed. Install it: pip install {package}"
        ) from None
