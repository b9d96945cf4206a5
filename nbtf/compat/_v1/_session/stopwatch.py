"""Measurement of the nodes in a run, for `run_metadata.step_stats`."""

from __future__ import annotations

import time
from typing import Any

from nbtf.compat._v1._config.step_stats import DeviceStepStats, NodeExecStats, StepStats
from nbtf.compat._v1._session.plan import Step


def trace_level_of(options: Any) -> int:
    """Returns the trace level of a run; raises `AttributeError` if `options` is not `RunOptions`."""
    options.SerializeToString()
    return options.trace_level


class Stopwatch:
    """Measures the nodes of one run; a node's time ends when its device has finished the work."""

    def __init__(self) -> None:
        """Creates a stopwatch without measurements."""
        self._scheduled = time.time_ns()
        self._started = 0
        self._by_device: dict[str, DeviceStepStats] = {}

    def start(self) -> None:
        """Records the start of a node."""
        self._started = time.time_ns()

    def end(self, step: Step, outputs: list[Any]) -> None:
        """Records a node that has run.

        Args:
          step: the node and its device.
          outputs: its outputs.
        """
        placed = step.scope.placed
        assert placed is not None
        device = placed[0]
        device.synchronize()
        nanos = time.time_ns() - self._started
        node = step.node
        stats = self._by_device.setdefault(device.name, DeviceStepStats(device=device.name)).node_stats.add()
        sources = ", ".join([tensor.op.name for tensor in node.inputs])
        simulated = " [simulated GPU: time of this computer's CPU]" if device.models_time else ""
        stats.node_name, stats.timeline_label = node.name, f"{node.name} = {node.type}({sources}){simulated}"
        for name, value in (("all_start", self._started), ("scheduled", self._scheduled)):
            setattr(stats, f"{name}_nanos", value)
            setattr(stats, f"{name}_micros", value // 1000)
        for name in ("op_end_rel", "all_end_rel"):
            setattr(stats, f"{name}_nanos", nanos)
            setattr(stats, f"{name}_micros", nanos // 1000)
        for slot, tensor in enumerate(outputs):
            _describe(stats, slot, tensor)

    def message(self) -> StepStats:
        """Returns the measurements."""
        return StepStats(dev_stats=list(self._by_device.values()))


def _describe(stats: NodeExecStats, slot: int, tensor: Any) -> None:
    array = getattr(tensor, "_array", None)
    if array is None:
        return
    output = stats.output.add(slot=slot)
    description = output.tensor_description
    description.dtype = tensor._dtype.as_datatype_enum
    for length in array.shape:
        description.shape.dim.add(size=length)
    description.allocation_description.requested_bytes = array.nbytes
