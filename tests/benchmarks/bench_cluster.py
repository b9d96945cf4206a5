"""What an op on another process costs: `python tests/benchmarks/bench_cluster.py [--kills 100]`.

Beside a call of one of Dask's actors, and beside a simulated GPU of this process; two workers on this computer, by TLS.
`--kills` kills a worker that often, at random moments of work, and says how long the error took that names it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import threading
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
    """Does as much as the op: one small array there, added to itself and sent back."""

    def __init__(self) -> None:
        self.array = np.ones((8, 8), np.float32)

    def add(self) -> Any:
        return self.array + self.array


def interleaved(*functions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Median seconds of each, measured in turn: what else runs here slows them all."""
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

    seconds: list[list[float]] = [[], []]
    sent, rounds = 0, ROUNDS // 8
    for _ in range(rounds):
        for times, device, start in zip(seconds, (GPU_1, "/GPU:0"), (x, local_x), strict=True):
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
    print(f"bytes sent     {sent / (rounds * OPS):.1f} an op, goal 32")


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
    print(f"100 MB         {pulled:.2f} s from task to task, {fetched:.2f} s to here")


def work(stop: threading.Event, errors: list[tuple[float, BaseException]]) -> None:
    """Ops, pulls and fetches in turn until one of them says that a task is lost."""
    try:
        while not stop.is_set():
            with tf.device(GPU_0):
                x = tf.ones([1 << random.randrange(2, 18)])
            with tf.device(GPU_1):
                y = x + 1.0
                for _ in range(random.randrange(50)):
                    y = y * 1.5
            with tf.device(GPU_0):
                tf.reduce_sum(y).numpy()
    except BaseException as error:
        errors.append((time.perf_counter(), error))


def killed(cluster: Any, connected: Cluster, count: int) -> None:
    delays: list[float] = []
    for number in range(count):
        errors: list[tuple[float, BaseException]] = []
        stop = threading.Event()
        thread = threading.Thread(target=work, args=(stop, errors))
        thread.start()
        time.sleep(random.uniform(0.0, 0.2))
        begin = time.perf_counter()
        os.kill(cluster.pids["worker-1"], signal.SIGKILL)
        thread.join(30)
        stop.set()
        at, error = errors[0]
        assert isinstance(error, tf.errors.UnavailableError), error
        assert "task:1" in str(error), error
        delays.append(at - begin)
        cluster.replace("worker-1")
        tf.config.experimental_connect_to_cluster(cluster)
        print(f"\rkill {number + 1} of {count}", end="")
    print(
        f"\rkilled         {count} times: the error came after {statistics.median(delays):.3f} s, "
        f"{max(delays):.3f} s at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0)
    kills: int = parser.parse_args().kills
    tf.runtime.simulate_gpus(1, model="K20m")
    with tf.distribute.LocalCluster(worker=2, gpus=1, model="K20m") as cluster:
        tf.config.experimental_connect_to_cluster(cluster)
        connected: Any = CURRENT.context.cluster
        waited(cluster)
        issued(connected)
        moved(connected)
        if kills:
            killed(cluster, connected, kills)


if __name__ == "__main__":
    main()
