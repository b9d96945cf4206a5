"""`tf.distribute.cluster_resolver`: which workers there are, for strategies on a simulated cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf._runtime.context import CURRENT
from nbtf.distribute.workers import read_tf_config


class ClusterResolver:
    """What names the tasks of a cluster; `SimpleClusterResolver` is told them.

    Attributes:
      task_type: the job of this process, None where it is in none.
      task_id: its number there.
      environment: where it runs, as text.

    >>> tf.distribute.cluster_resolver.ClusterResolver().task_type is None
    True
    """

    task_type: str | None = None
    task_id: int | None = None
    environment: str = ""

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs.

        Raises:
          NotImplementedError: this class names none.
        """
        raise NotImplementedError("cluster_spec is not implemented: take SimpleClusterResolver(ClusterSpec({...})).")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, of this process's own when none is named; empty where there is none.

        Args:
          task_type: its job.
          task_id: its number.
          rpc_layer: is put in front, as in `grpc://host:2222`.
        """
        job = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if job is None or number is None:
            return ""
        address = self.cluster_spec().task_address(job, number)
        return f"{rpc_layer}://{address}" if rpc_layer else address

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns how many cards a task has: those of a host of the simulated cluster, or of this computer.

        Args:
          task_type: accepted and ignored: all hosts have as many.
          task_id: likewise.
          config_proto: likewise.
        """
        configuration = CURRENT.context.configuration
        local = sum(device.device_type == "GPU" for device in configuration.physical)
        cluster = configuration.cluster
        count = local if cluster is None else cluster.host.count
        return {"GPU": count} if count else {}


class SimpleClusterResolver(ClusterResolver):
    """Names the tasks that it is told.

    Args:
      cluster_spec: the jobs.
      master: the address that `master()` returns where no task is named.
      task_type: the job of this process.
      task_id: its number there.
      environment: where it runs.
      num_accelerators: how many cards each task has; of the machine when None.
      rpc_layer: what `master` puts in front of addresses.

    Raises:
      TypeError: `cluster_spec` is none.

    >>> spec = tf.train.ClusterSpec({"worker": ["a:2222", "b:2222"]})
    >>> tf.distribute.cluster_resolver.SimpleClusterResolver(spec).cluster_spec().num_tasks("worker")
    2
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        """Keeps what it is told."""
        if not isinstance(cluster_spec, ClusterSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec, self._master, self._rpc_layer = cluster_spec, master, rpc_layer
        self._accelerators = num_accelerators
        self.task_type, self.task_id, self.environment = task_type, task_id, environment

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs."""
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, and the master where none is named; see `ClusterResolver`."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer or self._rpc_layer)
        layer = rpc_layer or self._rpc_layer
        return f"{layer}://{self._master}" if layer and self._master else self._master

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns how many cards a task has; see `ClusterResolver`."""
        if self._accelerators is not None:
            return dict(self._accelerators)
        return super().num_accelerators(task_type, task_id, config_proto)


class TFConfigClusterResolver(ClusterResolver):
    """Names the tasks of the environment variable `TF_CONFIG`, which is read at each call.

    Args:
      task_type: the job of this process, instead of the variable's.
      task_id: its number there, likewise.
      rpc_layer: what `master` puts in front of addresses.
      environment: where it runs.

    Raises:
      ValueError: the variable is not JSON of the form `{"cluster": {"worker": [...]}, "task": {...}}`.

    >>> tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
    ClusterSpec({})
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        """Reads the variable for the first time."""
        _, task = read_tf_config(os.environ)
        index = task.get("index")
        self.task_type = str(task["type"]) if task_type is None and "type" in task else task_type
        self.task_id = int(index) if task_id is None and index is not None else task_id
        self.environment = environment or ""
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs; none where the variable names none."""
        jobs, _ = read_tf_config(os.environ)
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, of this process's own when none is named; see `ClusterResolver`."""
        return super().master(task_type, task_id, rpc_layer or self.rpc_layer) if self.cluster_spec() else ""
