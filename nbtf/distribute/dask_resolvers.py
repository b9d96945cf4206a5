"""How are the workers of a Dask cluster tasks: of one that runs, and of one that SLURM, Kubernetes or SSH starts?

Dask has the launchers; nothing here but what they are called with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from nbtf._cluster.look import dask_engine
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf.distribute.resolver import ClusterResolver


class DaskClusterResolver(ClusterResolver):
    """The workers of a Dask cluster that runs, as tasks of the job `worker`.

    All of them need nbtf. A worker that is called `chief-0`, `worker-3` or `ps-1` is that task, and one whose name is a
    number is the task of that number.

    Args:
      cluster: the address of its scheduler, `"tls://10.0.0.1:8786"`; or Dask's `Client` or cluster, which bring their
        certificates. For an address these are those of Dask's configuration.
      allow_insecure: whether an address without TLS is accepted, False by default. Any program that listens at the
        address can then run code in this process.
      heartbeat: after so many seconds without a sign of life a task is lost; one whose process ends is so at once.
      timeout: how many seconds the scheduler and each worker may take to answer.

    Raises:
      ImportError: Dask's `distributed` is not installed.
      TypeError: `cluster` is no cluster.
      ValueError: if `cluster` is not an address, or is an address without TLS and `allow_insecure` is False.

    >>> tf.distribute.cluster_resolver.DaskClusterResolver("tls://10.0.0.1:8786")  # asks nobody yet
    DaskClusterResolver(tls://10.0.0.1:8786)
    """

    def __init__(
        self, cluster: Any, allow_insecure: bool = False, heartbeat: float = 5.0, timeout: float = 10.0
    ) -> None:
        """Asks nobody yet."""
        self._dask = dask_engine()
        self._heartbeat, self._timeout = heartbeat, timeout
        self._scheduler = self._dask.find_scheduler(cluster, allow_insecure)

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler listens."""
        return self._scheduler.address

    @property
    def security(self) -> Any:
        """The certificates, for Dask's `Client`."""
        return self._scheduler.security

    def engine(self) -> Any:
        """Returns what carries messages to the tasks, for `tf.config.experimental_connect_to_cluster`."""
        return self._dask.DaskEngine(self._scheduler, self._timeout, self._heartbeat)

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs, with the addresses of the workers that are there now.

        Raises:
          UnavailableError: the scheduler does not answer.
          UnauthenticatedError: a certificate was refused.
          FailedPreconditionError: a worker has no nbtf.
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
        """Returns the address of a task, that of the scheduler where none is named; see `ClusterResolver`."""
        return self.scheduler_address if task_type is None else super().master(task_type, task_id, rpc_layer)

    def __repr__(self) -> str:
        """Returns what it is; nothing that opens it."""
        return f"{type(self).__name__}({self.scheduler_address})"


class LaunchedClusterResolver(DaskClusterResolver):
    """A Dask cluster that one of Dask's launchers starts; `close`, or the end of a `with`, ends it."""

    def __init__(self, cluster: Any, workers: int, timeout: float, heartbeat: float) -> None:
        """Waits until the workers are there; where they do not come the cluster is closed."""
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
    """Jobs of SLURM as tasks, by `dask_jobqueue.SLURMCluster`: one task a job, with certificates of their own.

    TensorFlow's resolver of this name reads the variables of a job of SLURM's in which every task runs the program;
    here one program controls the tasks, and this starts them: `SlurmClusterResolver(worker=8, gres="gpu:1")`.

    Args:
      worker: how many tasks.
      gres: what each asks SLURM for, as in `"gpu:1"`.
      time: how long each may run, as in `"1:00:00"`.
      timeout: how many seconds the jobs may wait in the queue.
      heartbeat: as for `DaskClusterResolver`.
      **options: of `SLURMCluster`, such as `queue`, `account`, `cores`, `memory`, `shared_temp_directory`.

    Raises:
      ImportError: `dask_jobqueue` is not installed; the text says how to install it.
      DeadlineExceededError: the jobs have not begun in time.
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
        """Submits the jobs, and waits for them."""
        directives: list[str] = [*options.pop("job_extra_directives", ()), *([f"--gres={gres}"] if gres else [])]
        settings: dict[str, Any] = {"cores": 1, "memory": "4GB", "processes": 1, "protocol": "tls://", "security": True}
        settings |= {"job_extra_directives": directives} if directives else {}
        settings |= {"walltime": time} if time else {}
        launcher = _launcher("dask_jobqueue", "SLURMCluster", "dask-jobqueue")
        cluster = launcher(**settings | options)
        cluster.scale(jobs=worker)
        super().__init__(cluster, worker, timeout, heartbeat)


class KubernetesClusterResolver(LaunchedClusterResolver):
    """Pods of Kubernetes as tasks, by `dask_kubernetes.operator.KubeCluster`, whose operator must be there.

    TensorFlow's resolver of this name looks for pods that run; this starts them. What goes to them is not encrypted by
    Dask: it goes through the port that Kubernetes forwards.

    Args:
      worker: how many tasks.
      image: of the pods; it has nbtf.
      timeout: how many seconds they may take to start.
      heartbeat: as for `DaskClusterResolver`.
      **options: of `KubeCluster`, such as `name`, `namespace`, `resources`, `env`.

    Raises:
      ImportError: `dask_kubernetes` is not installed; the text says how to install it.
      DeadlineExceededError: the pods have not begun in time.
    """

    def __init__(
        self, *, worker: int, image: str | None = None, timeout: float = 600.0, heartbeat: float = 5.0, **options: Any
    ) -> None:
        """Starts the pods, and waits for them."""
        launcher = _launcher("dask_kubernetes.operator", "KubeCluster", "dask-kubernetes")
        settings: dict[str, Any] = {"n_workers": worker} | ({"image": image} if image else {})
        super().__init__(launcher(**settings | options), worker, timeout, heartbeat)


class SSHClusterResolver(LaunchedClusterResolver):
    """Processes on machines that SSH reaches as tasks, by `distributed.SSHCluster`.

    Args:
      hosts: `{"worker": ["n1", "n2"]}` or `["n1", "n2"]`; a host that stands there twice has two tasks. The scheduler
        runs on the first of them.
      timeout: how many seconds they may take to start.
      heartbeat: as for `DaskClusterResolver`.
      **options: of `SSHCluster`, such as `connect_options`, `remote_python`, `worker_options`, `security`.

    Raises:
      ImportError: `distributed` or `asyncssh` is not installed; the text says how to install it.
      ValueError: no host, or jobs other than `worker`.
      DeadlineExceededError: the workers have not begun in time.
    """

    def __init__(
        self,
        hosts: Mapping[str, Sequence[str]] | Sequence[str],
        timeout: float = 120.0,
        heartbeat: float = 5.0,
        **options: Any,
    ) -> None:
        """Starts the processes, and waits for them."""
        names = hosts.get("worker", ()) if isinstance(hosts, Mapping) else hosts
        jobs = set(hosts) if isinstance(hosts, Mapping) else {"worker"}
        if isinstance(hosts, str) or not names or jobs != {"worker"}:
            raise ValueError(f'Expected hosts as in {{"worker": ["n1", "n2"]}}; got {hosts!r}.')
        dask_engine()  # says how to install Dask
        _launcher("asyncssh", "connect", "asyncssh")
        launcher = _launcher("distributed", "SSHCluster", "distributed")
        super().__init__(launcher([names[0], *names], **options), len(names), timeout, heartbeat)


def _launcher(module: str, name: str, package: str) -> Any:
    """Returns a class of a library that starts clusters.

    Raises:
      ImportError: it is not installed.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"This cluster is started by {package}, which is not installed: pip install {package}"
        ) from None
