"""`tf.distribute.cluster_resolver`: which tasks there are, and how they are reached."""

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
        self.task_type: str | None = task_type
        self.task_id: int | None = task_id
        self.environment: str = environment

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
        self.task_type: str | None = str(task["type"]) if task_type is None and "type" in task else task_type
        self.task_id: int | None = int(index) if task_id is None and index is not None else task_id
        self.environment: str = environment or ""
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs; none where the variable names none."""
        jobs, _ = read_tf_config(os.environ)
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, of this process's own when none is named; see `ClusterResolver`."""
        return super().master(task_type, task_id, rpc_layer or self.rpc_layer) if self.cluster_spec() else ""
