"""Measures the cost of an op in another process: `python tests/benchmarks/bench_cluster.py`.

Compares it with a call of a Dask actor and with an op on a simulated GPU of this process. Uses two workers on this
computer, connected by TLS.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import distributed
import numpy as np

import nbtf as tf
from nbtf._cluster.controller import Cluster
from nbtf._runtime.context import CURRENT

ROUNDS, OPS = 201, 256
GPU_0, GPU_1 = (f"/job:worker/task:{number}/device:GPU:0" for number in range(2))


class Adder:
    """Does the same work as the op: adds one small remote array to itself and sends it back."""

    def __init__(self) -> None:
        self.array = np.ones((8, 8), np.float32)

    def add(self) -> Any:
        return self.array + self.array


def interleaved(*functions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Returns each function's median seconds, measured in turn so that other programs slow all of them alike."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, times in zip(functions, seconds, strict=True):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
    return [statistics.median(times) for times in seconds]


def waited(cluster: Any) -> None:
    with tf.device(GPU_1):
        x = tf.ones([8, 8])

    def op() -> None:
        with tf.device(GPU_1):
            (x + x).numpy()

    with distributed.Client(cluster.scheduler_address, security=cluster.security, direct_to_workers=True) as client:
        actor = client.submit(Adder, actor=True, workers=["worker-1"]).result()
        ours, actors = interleaved(op, lambda: actor.add().result())
    print(f"waited op      {ours * 1e3:.2f} ms, an actor's call {actors * 1e3:.2f} ms: {ours / actors:.2f}, goal 2.0")


def issued(connected: Cluster) -> None:
    with tf.device(GPU_1):
        x = tf.ones([8, 8])
    with tf.device("/job:localhost/task:0/device:GPU:0"):
        local_x = tf.ones([8, 8])

    def chain(device: str, start: Any) -> None:
        with tf.device(device):
            y = start
            for _ in range(OPS):
                y = y + start

    cases = ((GPU_1, x), ("/GPU:0", local_x))
    seconds: list[list[float]] = [[] for _ in cases]
    sent, rounds = 0, ROUNDS // 8
    for _ in range(rounds):
        for times, (device, start) in zip(seconds, cases, strict=True):
            before = sum(channel.bytes_sent for channel in connected.channels)
            begin = time.thread_time()
            chain(device, start)
            times.append((time.thread_time() - begin) / OPS)
            connected.wait()
            sent += sum(channel.bytes_sent for channel in connected.channels) - before
    remote, local = map(statistics.median, seconds)
    print(
        f"op issued      {remote * 1e6:.1f} us, on a simulated GPU here {local * 1e6:.1f} us: "
        f"{remote / local:.2f}, goal 1.5"
    )
    print(f"bytes sent     {sent / (rounds * OPS):.1f} per op, goal 32")


def moved(connected: Cluster) -> None:
    with tf.device(GPU_0):
        x = tf.zeros([25_000_000])
    connected.wait()

    def pull() -> None:
        with tf.device(GPU_1):
            tf.identity(x)
        connected.wait()

    def fetch() -> None:
        x.numpy()

    pulled, fetched = interleaved(pull, fetch, rounds=5)
    print(f"100 MB         {pulled:.2f} s between tasks, {fetched:.2f} s to this process")


def main() -> None:
    tf.runtime.simulate_gpus(1, model="K20m")
    with tf.distribute.LocalCluster(worker=2, gpus=1, model="K20m") as cluster:
        tf.config.experimental_connect_to_cluster(cluster)
        connected: Any = CURRENT.context.cluster
        waited(cluster)
        issued(connected)
        moved(connected)


if __name__ == "__main__":
    main()
