"""Where do variables go in a cluster with parameter servers?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from typing import Any

from nbtf._devices.names import parse
from nbtf._runtime.cluster_spec import ClusterSpec as ClusterSpec

# Source: `STANDARD_PS_OPS` in python/training/device_setter.py of TensorFlow 2.21, as far as nbtf has them.
PARAMETERS = ("Variable", "VariableV2", "VarHandleOp")
"""The types of nodes that hold parameters."""


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Returns a function for `tf.device` that puts variables on parameter servers in turn, the rest on the worker.

    Args:
      ps_tasks: how many parameter servers there are.
      ps_device: where variables go.
      worker_device: where the rest goes.
      merge_devices: whether devices of blocks inside are merged in, instead of standing alone.
      cluster: a dictionary of jobs and their addresses, instead of `ps_tasks`.
      ps_ops: the types of the nodes that go to parameter servers.
      ps_strategy: returns the number of the parameter server for a node; by default they take turns.

    Returns:
      None without parameter servers.

    Raises:
      TypeError: `ps_strategy` cannot be called.
    """
    if cluster is not None:
        jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else cluster
        ps_tasks = len(jobs.get(parse(ps_device).job) or ())
    if not ps_tasks:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    choose = ps_strategy or _in_turn(ps_tasks)
    types = PARAMETERS if ps_ops is None else ps_ops

    def device_of(node: Any) -> str:
        if not merge_devices and node.device:
            return node.device
        request = parse(node.device or "")
        if ps_device and node.type in types:
            fields = parse(ps_device)
            if fields.job and request.job in (None, fields.job):
                fields = fields._replace(task=choose(node))
            return fields.merged_with(request).to_string()
        return parse(worker_device or "").merged_with(request).to_string()

    return device_of


def _in_turn(tasks: int) -> Callable[[Any], int]:
    turns = count()
    return lambda _: next(turns) % tasks
