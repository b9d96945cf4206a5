"""The base class of cluster resolvers."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf._runtime.context import CURRENT


class ClusterResolver:
    """Names the tasks of a cluster; `SimpleClusterResolver` takes them as an argument.

    Attributes:
      task_type: job of this process; None if it belongs to no job.
      task_id: number of this process in its job.
      environment: name of the environment.

    >>> tf.distribute.cluster_resolver.ClusterResolver().task_type is None
    True
    """

    task_type: str | None = None
    task_id: int | None = None
    environment: str = ""

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs of the cluster.

        Raises:
          NotImplementedError: if the class does not define it.
        """
        raise NotImplementedError("cluster_spec is not implemented. Use SimpleClusterResolver(ClusterSpec({...})).")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, by default of this process; empty if the process has none.

        Args:
          task_type: job of the task.
          task_id: number of the task.
          rpc_layer: protocol put in front, as in `grpc://host:2222`.
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
        """Returns the number of cards of a task: those of a host in the simulated cluster, or of this computer.

        Args:
          task_type: accepted but ignored, because all hosts have the same number.
          task_id: accepted but ignored.
          config_proto: accepted but ignored.
        """
        configuration = CURRENT.context.configuration
        local = sum(device.device_type == "GPU" for device in configuration.physical)
        cluster = configuration.cluster
        count = local if cluster is None else cluster.host.count
        return {"GPU": count} if count else {}
