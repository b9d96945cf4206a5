"""How many workers share the work? Hosts of a simulated cluster or connected tasks; other processes raise an error."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sized
from typing import Any

from nbtf._devices.base import Device
from nbtf._devices.names import split_task, task_name
from nbtf._own_name import own_name
from nbtf._runtime.arguments import check_has
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf._runtime.context import CURRENT
from nbtf.config import experimental_connect_to_cluster
from nbtf.distribute.strategy import Strategy
from nbtf.errors import UnimplementedError

TRAINING_JOBS = ("chief", "master", "worker")
"""Jobs whose tasks train a model together. Source: `tf.distribute` 2.21, `multi_worker_util.worker_count`."""

_JOBS = (*TRAINING_JOBS, "evaluator", "ps")
"""Jobs allowed in a cluster. Source: `multi_worker_util._validate_cluster_spec`."""

_WAY_OUT = (
    "one program controls all workers here; several programs would each train their own model. Use "
    "{tf}.distribute.MirroredStrategy() for all GPUs of this computer. To start workers from the program, use "
    "{tf}.distribute.MultiWorkerMirroredStrategy({tf}.distribute.LocalCluster(worker={hosts}, gpus=1)). To simulate "
    "them, call {tf}.runtime.simulate_cluster(hosts={hosts}, gpus=8), then "
    "{tf}.distribute.MultiWorkerMirroredStrategy()."
)


def _way_out(hosts: int) -> str:
    """Returns what to do instead of starting several workers."""
    return _WAY_OUT.format(hosts=hosts, tf=own_name())


def count_workers(cluster_resolver: Any = None) -> int:
    """Returns the number of workers that share the work: tasks or hosts of a cluster, or this computer alone.

    Args:
      cluster_resolver: object with a `cluster_spec()`. By default, the cluster in use or `TF_CONFIG` decides.

    Raises:
      ValueError: if `TF_CONFIG` is not JSON of the form `{"cluster": {"worker": [...]}, "task": {...}}`, or names jobs
        that do not train.
      UnimplementedError: if several workers are not simulated, or this is one of several processes.
    """
    tasks = connected_tasks()
    if tasks and (cluster_resolver is None or hasattr(cluster_resolver, "engine")):
        return len(tasks)
    source = "TF_CONFIG" if cluster_resolver is None else "The cluster resolver"
    jobs, task_type = _configured() if cluster_resolver is None else _resolved(cluster_resolver)
    _check_jobs(source, jobs, task_type)
    if task_type == "evaluator":  # it runs alone, independently of the training jobs
        return simulated_hosts() or 1
    count = sum(len(tasks) for job, tasks in jobs.items() if job in TRAINING_JOBS)
    hosts = simulated_hosts()
    is_process_of_several = count > 1 and (cluster_resolver is None or task_type is not None)
    if count > max(hosts, 1) or is_process_of_several:
        raise UnimplementedError(
            f"{source} names {count} workers, but {_way_out(count)} All three run without TF_CONFIG."
        )
    return count or hosts or 1


def simulated_hosts() -> int:
    """Returns the number of simulated hosts; 0 without a cluster."""
    configuration = CURRENT.context.configuration
    return 0 if not configuration.physical or configuration.cluster is None else configuration.cluster.hosts


def connected_tasks() -> list[str]:
    """Returns the names of the connected tasks that train."""
    tasks = dict.fromkeys(device.task for device in CURRENT.context.devices.by_name.values() if is_joined(device))
    return [task for task in tasks if split_task(task)[0] in TRAINING_JOBS]


def is_joined(device: Device) -> bool:
    """Returns whether a device belongs to another process."""
    return device in CURRENT.context.logical_devices.joined


def connect_with(cluster_resolver: Any) -> None:
    """Connects the program to a resolver's cluster, unless the resolver has none or is already connected."""
    cluster = CURRENT.context.cluster
    if hasattr(cluster_resolver, "engine") and (cluster is None or cluster.resolver is not cluster_resolver):
        experimental_connect_to_cluster(cluster_resolver)


def devices_of_workers(count: int) -> list[str] | None:
    """Returns full names of the cards, or else the CPUs, of a cluster's first tasks; None without a cluster."""
    tasks = connected_tasks()
    if tasks:
        devices = [device for device in CURRENT.context.devices.by_name.values() if device.task in tasks[:count]]
        device_type = "GPU" if any(device.type == "GPU" for device in devices) else "CPU"
        return [device.name for device in devices if device.type == device_type]
    if not simulated_hosts():
        return None
    tasks = {task_name("worker", number) for number in range(count)}
    return [gpu.name for gpu in CURRENT.context.devices.by_name.values() if gpu.type == "GPU" and gpu.task in tasks]


def _resolved(cluster_resolver: Any) -> tuple[Mapping[str, Sized], str | None]:
    """Returns a resolver's jobs and the job of this process; the latter is None if one program controls all tasks."""
    spec = check_has(cluster_resolver, "cluster_spec", "cluster_resolver", "a cluster resolver").cluster_spec()
    jobs: Mapping[str, Sized] = spec.as_dict() if hasattr(spec, "as_dict") else spec
    return dict(jobs), getattr(cluster_resolver, "task_type", None)


def _configured() -> tuple[Mapping[str, Sized], str | None]:
    """Returns the jobs in `TF_CONFIG` and the job of this process."""
    jobs, task = read_tf_config(os.environ)
    return jobs, task.get("type")


def _check_jobs(source: str, jobs: Mapping[str, Sized], task_type: str | None) -> None:
    """Raises a ValueError for a job that does not train, because its process would train its own model."""
    names = [name for name in (*jobs, task_type) if name is not None]
    unknown = [name for name in names if name not in _JOBS]
    if unknown:
        raise ValueError(f"{source} names the jobs {unknown}. Expected {', '.join(_JOBS)}.")
    if task_type == "ps" or (jobs and task_type not in (*jobs, "evaluator", None)):
        raise ValueError(
            f"{source} says that this process is {task_type!r} of the jobs {names[:-1]}. Such a process does not train."
        )


def read_tf_config(environ: Mapping[str, str]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Returns the jobs and the task in `TF_CONFIG`; both are empty if it is not set.

    Raises:
      ValueError: if `TF_CONFIG` cannot be parsed.
    """
    text = environ.get("TF_CONFIG") or "{}"
    try:
        config: dict[str, dict[str, Any]] = json.loads(text)
        jobs, task = config.get("cluster") or {}, config.get("task") or {}
        return {job: list(tasks) for job, tasks in jobs.items()}, dict(task)
    except (ValueError, AttributeError, TypeError) as error:
        form = '{"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}'
        raise ValueError(f"TF_CONFIG must be JSON of the form {form}. Got {text!r}") from error


class Server:
    """The server of a cluster whose only task is this process; clusters of several tasks are not supported.

    Args:
      server_or_cluster_def: tasks of the cluster, as for `tf.train.ClusterSpec`.
      job_name, task_index, protocol, config, start: accepted but ignored, because the cluster has one task.

    Raises:
      UnimplementedError: if the cluster has several tasks. The message names the alternatives.

    >>> tf.distribute.Server(tf.train.ClusterSpec({"worker": ["a:2222", "b:2222"]}), job_name="worker", task_index=0)
    Traceback (most recent call last):
      ...
    nbtf.errors.UnimplementedError: tf.distribute.Server makes this process one of several, but one program ...
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        """Checks that there is only one task."""
        jobs = ClusterSpec(server_or_cluster_def).as_dict()
        if sum(map(len, jobs.values())) > 1:
            raise UnimplementedError(f"tf.distribute.Server makes this process one of several, but {_way_out(2)}")

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Returns the server of a cluster whose only task is this process."""
        return Server({"local": ["localhost:0"]})

    @property
    def target(self) -> str:
        """The target for a session that runs here: empty, since sessions run here by default."""
        return ""

    def start(self) -> None:
        """Does nothing: programs run without a server."""

    def join(self) -> None:
        """Raises an error, because it would wait forever for other tasks.

        Raises:
          UnimplementedError: always.
        """
        raise UnimplementedError("join() would wait forever: this process is the only task of the cluster.")


class ParameterServerStrategyV2(Strategy):
    """Trains one model with several workers and variables on parameter servers: not supported yet.

    Raises:
      UnimplementedError: always. The message names the alternatives.
    """

    __module__ = "nbtf.python.distribute.parameter_server_strategy_v2"  # the module from which TensorFlow exports it

    def __init__(self, cluster_resolver: Any = None, variable_partitioner: Any = None) -> None:
        """Raises an error that names the alternatives."""
        raise UnimplementedError(f"ParameterServerStrategy needs several processes, but {_way_out(2)}")


ParameterServerStrategy = ParameterServerStrategyV2
