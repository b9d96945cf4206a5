"""`tf.distribute.cluster_resolver`: the tasks of a cluster and their addresses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbtf._public import public_names as _public_names
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf.distribute.dask_resolvers import DaskClusterResolver as DaskClusterResolver
from nbtf.distribute.dask_resolvers import KubernetesClusterResolver as KubernetesClusterResolver
from nbtf.distribute.dask_resolvers import SlurmClusterResolver as SlurmClusterResolver
from nbtf.distribute.dask_resolvers import SSHClusterResolver as SSHClusterResolver
from nbtf.distribute.resolver import ClusterResolver as ClusterResolver
from nbtf.distribute.workers import read_tf_config


def __dir__() -> list[str]:
    return _public_names(__name__)


class SimpleClusterResolver(ClusterResolver):
    """A resolver for a fixed list of tasks.

    Args:
      cluster_spec: jobs and their tasks.
      master: address that `master()` returns if no task is named; empty by default.
      task_type: job of this process.
      task_id: number of this process within its job.
      environment: name of the environment.
      num_accelerators: number of cards of each task; None counts those of this machine.
      rpc_layer: prefix of addresses that `master` returns, such as `"grpc"`.

    Raises:
      TypeError: if `cluster_spec` is not a `tf.train.ClusterSpec`.

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
        """Stores the arguments."""
        if not isinstance(cluster_spec, ClusterSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec, self._master, self._rpc_layer = cluster_spec, master, rpc_layer
        self._accelerators = num_accelerators
        self.task_type: str | None = task_type
        self.task_id: int | None = task_id
        self.environment: str = environment

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs."""
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, or `master` if no task is named; see `ClusterResolver`."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer or self._rpc_layer)
        layer = rpc_layer or self._rpc_layer
        return f"{layer}://{self._master}" if layer and self._master else self._master

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns the number of cards of a task; see `ClusterResolver`."""
        if self._accelerators is not None:
            return dict(self._accelerators)
        return super().num_accelerators(task_type, task_id, config_proto)


class TFConfigClusterResolver(ClusterResolver):
    """A resolver for the tasks in the environment variable `TF_CONFIG`, which is read at each call.

    Args:
      task_type: job of this process; overrides the variable.
      task_id: number of this process within its job; overrides the variable.
      rpc_layer: prefix of addresses that `master` returns, such as `"grpc"`.
      environment: name of the environment.

    Raises:
      ValueError: if the variable is not JSON of the form `{"cluster": {"worker": [...]}, "task": {...}}`.

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
        self.task_type: str | None = str(task["type"]) if task_type is None and "type" in task else task_type
        self.task_id: int | None = int(index) if task_id is None and index is not None else task_id
        self.environment: str = environment or ""
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs; an empty spec if the variable names none."""
        jobs, _ = read_tf_config(os.environ)
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, by default of this process; see `ClusterResolver`."""
        return super().master(task_type, task_id, rpc_layer or self.rpc_layer) if self.cluster_spec() else ""
