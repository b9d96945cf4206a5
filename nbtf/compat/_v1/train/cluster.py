"""Placement of variables in a cluster with parameter servers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from typing import Any

from nbtf._devices.names import parse
from nbtf._runtime.cluster_spec import ClusterSpec as ClusterSpec

# Source: `STANDARD_PS_OPS` in python/training/device_setter.py of TensorFlow 2.21, limited to the ops of nbtf.
PARAMETERS = ("Variable", "VariableV2", "VarHandleOp")
"""The op types of variables."""


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Returns a function for `tf.device` that assigns variables to parameter servers and other nodes to the worker.

    Args:
      ps_tasks: number of parameter servers.
      ps_device: device of the variables.
      worker_device: device of all other nodes.
      merge_devices: whether inner device blocks are merged with this device instead of replacing it.
      cluster: a dictionary of jobs and their addresses, instead of `ps_tasks`.
      ps_ops: op types of the nodes that are assigned to parameter servers.
      ps_strategy: function that returns the number of the parameter server for a node; by default round-robin.

    Returns:
      The function, or None without parameter servers.

    Raises:
      TypeError: if `ps_strategy` is not callable.
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
