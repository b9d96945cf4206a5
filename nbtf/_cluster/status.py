"""The state of the tasks of the cluster that this process is connected to."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

from nbtf._devices.names import short_name
from nbtf._runtime.context import CURRENT


class TaskStatus(NamedTuple):
    """A task as this process knows it; the task itself is not asked.

    `lost` is the reason for its loss, None while it runs. `silent` is the number of seconds since its last sign of
    life, `waiting` the number of unanswered batches of ops, `tensors` the number of this process's tensors on it.
    >>> tf.runtime.TaskStatus("/job:worker/task:1", "node-7", 4711).lost is None
    True
    """

    task: str
    host: str = ""
    pid: int | None = None
    lost: str | None = None
    silent: float = 0.0
    waiting: int = 0
    tensors: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    devices: Sequence[str] = ()


def cluster_tasks() -> list[TaskStatus]:
    """Returns the tasks of `tf.config.experimental_connect_to_cluster`; an empty list without a cluster.

    >>> tf.runtime.restart()
    >>> tf.runtime.cluster_tasks()
    []
    """
    cluster: Any = CURRENT.context.cluster
    return [] if cluster is None else [_status(channel) for channel in cluster.channels]


def _status(channel: Any) -> TaskStatus:
    hello: dict[str, Any] = channel.hello or {}
    departure = channel.departure()
    return TaskStatus(
        channel.task.replace("/replica:0", ""),
        hello.get("host", ""),
        hello.get("pid"),
        None if departure is None else str(departure),
        monotonic() - channel.heard_at,
        channel.waiting,
        channel.tensors,
        channel.bytes_sent,
        channel.bytes_received,
        [short_name(device.name) for device in channel.devices],
    )
