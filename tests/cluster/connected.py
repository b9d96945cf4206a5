"""A cluster of tasks in this process, as tests hold it."""

from __future__ import annotations

from nbtf._cluster.controller import Cluster
from nbtf._cluster.in_process import InProcessEngine


class Connected:
    """An engine, and the cluster that the current context has of it."""

    def __init__(self, engine: InProcessEngine, cluster: Cluster) -> None:
        self.engine, self.cluster = engine, cluster

    def count_bytes(self) -> int:
        return sum(channel.bytes_sent + channel.bytes_received for channel in self.cluster.channels)


GPU_0, GPU_1 = (f"/job:worker/task:{number}/device:GPU:0" for number in range(2))
