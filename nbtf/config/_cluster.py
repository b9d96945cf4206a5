"""How are devices of other processes used? With `tf.config.experimental_connect_to_cluster`."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.arguments import check_text, unexpected
from nbtf.errors import UnimplementedError


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Makes the devices of a cluster's tasks available: `tf.device("/job:worker/task:1/device:GPU:0")`.

    Ops on them run there, and their results stay there until they are read; only their shapes are known immediately.
    An error in such an op is raised when its result is read. A second call replaces the connection: tensors of the
    previous one can no longer be used.

    Args:
      cluster_spec_or_resolver: a `tf.distribute.LocalCluster`, a resolver of a running cluster, or any object with a
        method `engine`.
      job_name: job of this process; must be `localhost`.
      task_index: task of this process; must be 0.
      protocol: accepted and ignored: the cluster has its own.
      make_master_device_default: accepted and ignored: no task is the master.
      cluster_device_filters: accepted and ignored: all tasks see each other.

    Raises:
      TypeError: if the argument is not a cluster.
      UnimplementedError: if it only contains addresses, without a way to reach processes there.
      UnavailableError: if a task or the scheduler cannot be reached.
      FailedPreconditionError: if a task has other versions of nbtf, NumPy or Python.

    >>> from nbtf._cluster.in_process import InProcessEngine
    >>> tf.runtime.restart()
    >>> tf.config.experimental_connect_to_cluster(InProcessEngine({"worker": 2}))
    >>> with tf.device("/job:worker/task:1"):
    ...     x = tf.constant([1.0, 2.0]) * 2.0
    >>> x.device
    '/job:worker/replica:0/task:1/device:CPU:0'
    >>> x.numpy()
    array([2., 4.], dtype=float32)
    """
    from nbtf._cluster.controller import connect  # loaded on first use

    if job_name != "localhost" or task_index:
        raise UnimplementedError(
            f"This process must be /job:localhost/task:0, because it controls the cluster. Got job_name={job_name!r}, "
            f"task_index={task_index!r}. Leave them out."
        )
    engine = getattr(cluster_spec_or_resolver, "engine", None)
    resolver_spec_or_jobs = ("cluster_spec", "num_tasks", "keys")
    if engine is None and not any(hasattr(cluster_spec_or_resolver, name) for name in resolver_spec_or_jobs):
        expected = "a cluster such as tf.distribute.LocalCluster(worker=2, gpus=2)"
        raise unexpected(cluster_spec_or_resolver, "cluster_spec_or_resolver", expected)
    if engine is None:
        raise UnimplementedError(
            f"{type(cluster_spec_or_resolver).__name__} only has addresses, and cannot start or reach nbtf there. "
            "Write: cluster = tf.distribute.LocalCluster(worker=2, gpus=2), then "
            "tf.config.experimental_connect_to_cluster(cluster)."
        )
    connect(engine(), cluster_spec_or_resolver)


def experimental_connect_to_host(remote_host: str | None = None, job_name: str = "worker") -> None:
    """Makes the devices of a cluster's tasks available, given the address of its Dask scheduler.

    Args:
      remote_host: address of the scheduler, `"tls://10.0.0.1:8786"`; the default protocol is `tls`.
      job_name: job of the tasks; must be `worker`, as Dask's workers are.

    Raises:
      ImportError: if Dask's `distributed` is not installed.
      ValueError: if `remote_host` is not an address, or is an address without TLS.
      UnimplementedError: if `job_name` is not `worker`.
      UnavailableError: if the scheduler or a task cannot be reached.
      FailedPreconditionError: if a task has other versions of nbtf, NumPy or Python.

    >>> tf.config.experimental_connect_to_host("tcp://10.0.0.1:8786")
    Traceback (most recent call last):
    ValueError: ...
    """
    from nbtf._cluster.controller import connect  # loaded on first use
    from nbtf._cluster.look import dask_engine

    if not remote_host:
        raise ValueError("Must provide at least one remote_host")
    remote_host = check_text(remote_host, "remote_host")
    if job_name != "worker":
        raise UnimplementedError(f"Dask's workers are tasks of the job 'worker'. Got job_name={job_name!r}.")
    dask = dask_engine()
    address = remote_host if "://" in remote_host else f"tls://{remote_host}"
    connect(dask.DaskEngine(dask.find_scheduler(address)), address)
