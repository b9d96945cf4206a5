"""`tf.train.ClusterSpec`: the jobs of a cluster and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks.

    >>> cluster = tf.train.ClusterSpec({"ps": ["a:2222", "b:2222"], "worker": ["c:2222"]})
    >>> cluster.num_tasks("ps")
    2
    >>> cluster.task_address("worker", 0)
    'c:2222'

    Args:
      cluster: a dictionary from each job name to a list of addresses, or to a dictionary from task numbers to
        addresses; or another ClusterSpec.

    Raises:
      TypeError: if `cluster` has any other form.
    """

    def __init__(self, cluster: Any) -> None:
        cluster = cluster._jobs if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(cluster, Mapping):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, "
                "or a `ClusterDef` protocol buffer"
            )
        jobs: dict[str, Any] = {str(name): tasks for name, tasks in _pairs(cluster)}
        self._jobs = {name: _tasks(name, jobs[name]) for name in sorted(jobs)}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks in a job.

        Args:
          job_name: name of the job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the numbers of a job's tasks.

        Args:
          job_name: name of the job.
        """
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task.

        Args:
          job_name: name of the job.
          task_index: number of the task.

        Raises:
          ValueError: if the task does not exist.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of a job's tasks, with None for numbers without a task.

        Args:
          job_name: name of the job.
        """
        tasks = self._job(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, Any]:
        """Returns the jobs with their addresses: as lists, or as dictionaries if task numbers are missing."""
        return {
            name: self.job_tasks(name) if sorted(tasks) == [*range(len(tasks))] else dict(tasks)
            for name, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Returns the jobs as a `ClusterDef` message."""
        messages = import_module("nbtf.compat._v1._config.cluster")  # imported late because few programs need it
        jobs = [messages.JobDef(name=name, tasks=tasks) for name, tasks in self._jobs.items()]
        return messages.ClusterDef(job=jobs)

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __repr__(self) -> str:
        jobs = ", ".join([f"{name!r}: {tasks!r}" for name, tasks in self.as_dict().items()])
        return f"ClusterSpec({{{jobs}}})"


def _pairs(mapping: Any) -> list[tuple[Any, Any]]:
    return [*mapping.items()]


def _tasks(name: str, tasks: Any) -> dict[int, str]:
    if not isinstance(tasks, Mapping | list | tuple):
        raise TypeError(f"The tasks for job {name!r} must be a list or a dictionary from integers to strings.")
    pairs = _pairs(tasks) if isinstance(tasks, Mapping) else enumerate(_list_tasks(tasks))
    return {int(number): str(address) for number, address in pairs}


def _list_tasks(tasks: Any) -> list[Any]:
    return [*tasks]
