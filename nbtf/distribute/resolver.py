"""What names the tasks of a cluster?"""

from __future__ import annotations

from typing import Any

from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf._runtime.context import CURRENT


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
