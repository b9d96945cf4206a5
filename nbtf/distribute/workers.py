"""How many workers share the work? Hosts of a simulated cluster do; several processes are refused by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sized
from typing import Any

from nbtf._devices.base import Device
from nbtf._devices.names import split_task, task_name
from nbtf._runtime.arguments import check_has
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf._runtime.context import CURRENT
from nbtf.config import experimental_connect_to_cluster
from nbtf.distribute.strategy import Strategy
from nbtf.errors import UnimplementedError

TRAINING_JOBS = ("chief", "master", "worker")
"""Jobs whose tasks train the same model together. Source: `tf.distribute` 2.21, `multi_worker_util.worker_count`."""

_JOBS = (*TRAINING_JOBS, "evaluator", "ps")
"""Jobs that a cluster may have. Source: `multi_worker_util._validate_cluster_spec`."""

WAY_OUT = (
    "one program controls all workers here: in several, each would train a model of its own. Take "
    "tf.distribute.MirroredStrategy(), which uses all GPUs of this computer; or let the program start its workers: "
    "tf.distribute.MultiWorkerMirroredStrategy(tf.distribute.LocalCluster(worker={hosts}, gpus=1)); or simulate them: "
    "tf.runtime.simulate_cluster(hosts={hosts}, gpus=8), then tf.distribute.MultiWorkerMirroredStrategy()."
)


def count_workers(cluster_resolver: Any = None) -> int:
    """Returns how many workers share the work: hosts of the simulated cluster, or this computer alone.

    Args:
      cluster_resolver: has a `cluster_spec()`; the simulated cluster and the variable `TF_CONFIG` say it when None.

    Raises:
      ValueError: `TF_CONFIG` is not JSON of the form `{"cluster": {"worker": [...]}, "task": {...}}`, or names jobs
        that do not train.
      UnimplementedError: there are several workers, and they are not simulated; or this is one of several processes.
    """
    tasks = connected_tasks()
    if tasks and (cluster_resolver is None or hasattr(cluster_resolver, "engine")):
        return len(tasks)
    source = "TF_CONFIG" if cluster_resolver is None else "The cluster resolver"
    jobs, task_type = _configured() if cluster_resolver is None else _resolved(cluster_resolver)
    _check_jobs(source, jobs, task_type)
    if task_type == "evaluator":  # it works alone, beside those who train
        return simulated_hosts() or 1
    count = sum(len(tasks) for job, tasks in jobs.items() if job in TRAINING_JOBS)
    hosts = simulated_hosts()
    is_process_of_several = count > 1 and (cluster_resolver is None or task_type is not None)
    if count > max(hosts, 1) or is_process_of_several:
        raise UnimplementedError(
            f"{source} names {count} workers, but {WAY_OUT.format(hosts=count)} All three run without TF_CONFIG."
        )
    return count or hosts or 1


def simulated_hosts() -> int:
    """Returns how many hosts are simulated; 0 where there is no cluster."""
    configuration = CURRENT.context.configuration
    return 0 if not configuration.physical or configuration.cluster is None else configuration.cluster.hosts


def connected_tasks() -> list[str]:
    """Returns the names of the tasks that train among those that the program is connected with."""
    tasks = dict.fromkeys(device.task for device in CURRENT.context.devices.by_name.values() if is_joined(device))
    return [task for task in tasks if split_task(task)[0] in TRAINING_JOBS]


def is_joined(device: Device) -> bool:
    """Tells whether a device is of another process."""
    return device in CURRENT.context.logical_devices.joined


def connect_with(cluster_resolver: Any) -> None:
    """Connects the program with the cluster of a resolver that has one, unless it is connected with it."""
    cluster = CURRENT.context.cluster
    if hasattr(cluster_resolver, "engine") and (cluster is None or cluster.resolver is not cluster_resolver):
        experimental_connect_to_cluster(cluster_resolver)


def devices_of_workers(count: int) -> list[str] | None:
    """Returns the cards of the first hosts of a cluster, in full, or their CPUs; None where there is no cluster."""
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
    """Returns the jobs that a resolver names, and that of this process; None where one program controls all tasks."""
    spec = check_has(cluster_resolver, "cluster_spec", "cluster_resolver", "a cluster resolver").cluster_spec()
    jobs: Mapping[str, Sized] = spec.as_dict() if hasattr(spec, "as_dict") else spec
    return dict(jobs), getattr(cluster_resolver, "task_type", None)


def _configured() -> tuple[Mapping[str, Sized], str | None]:
    """Returns the jobs that `TF_CONFIG` names, and that of this process."""
    jobs, task = read_tf_config(os.environ)
    return jobs, task.get("type")


def _check_jobs(source: str, jobs: Mapping[str, Sized], task_type: str | None) -> None:
    """Raises a ValueError for a job that has no part in training: its process would train a model of its own."""
    names = [name for name in (*jobs, task_type) if name is not None]
    unknown = [name for name in names if name not in _JOBS]
    if unknown:
        raise ValueError(f"{source} names the jobs {unknown}; expected {', '.join(_JOBS)}.")
    if task_type == "ps" or (jobs and task_type not in (*jobs, "evaluator", None)):
        raise ValueError(
            f"{source} says that this process is {task_type!r} of the jobs {names[:-1]}: it trains nothing."
        )


def read_tf_config(environ: Mapping[str, str]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Returns the jobs and the task that `TF_CONFIG` names; both are empty where it is not set.

    Raises:
      ValueError: it cannot be read.
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
    """The server of a cluster of one task, which is this process; of several tasks it is not there.

    Args:
      server_or_cluster_def: names the tasks, as `tf.train.ClusterSpec` takes them.
      job_name, task_index, protocol, config, start: accepted: there is one task, and nobody connects to it.

    Raises:
      UnimplementedError: the cluster has several tasks; the text says what there is instead.

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
        """Looks at how many tasks there are."""
        jobs = ClusterSpec(server_or_cluster_def).as_dict()
        if sum(map(len, jobs.values())) > 1:
            raise UnimplementedError(
                f"tf.distribute.Server makes this process one of several, but {WAY_OUT.format(hosts=2)}"
            )

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Returns the server of a cluster whose one task is this process."""
        return Server({"local": ["localhost:0"]})

    @property
    def target(self) -> str:
        """What a session takes to run here: nothing, since it does so anyway."""
        return ""

    def start(self) -> None:
        """Does nothing: what runs here needs no server."""

    def join(self) -> None:
        """Would wait for ever for other tasks, of which there are none.

        Raises:
          UnimplementedError: always.
        """
        raise UnimplementedError("This cluster has one task, which is this process: there is nobody to wait for.")


class ParameterServerStrategyV2(Strategy):
    """Trains one model with several workers, its variables on servers of their own: not there yet.

    Raises:
      UnimplementedError: always, with what there is instead.
    """

    __module__ = (
        "nbtf.python.distribute.parameter_server_strategy_v2"  # from where it can be imported, as in TensorFlow
    )

    def __init__(self, cluster_resolver: Any = None, variable_partitioner: Any = None) -> None:
        """Says what to use instead."""
        raise UnimplementedError(f"ParameterServerStrategy needs several processes, but {WAY_OUT.format(hosts=2)}")


ParameterServerStrategy = ParameterServerStrategyV2
