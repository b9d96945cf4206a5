"""Measures how soon a killed process is reported, and checks that training can resume after it.

Run it with `python tests/benchmarks/bench_kills.py`. Two workers on this computer are connected by TLS. One of them is
killed at a random moment: while waiting, or during ops, copies between tasks, steps of `fit`, all-reduces, saving or
connecting. The current operation must end with an `UnavailableError` that names the task. Weights and slots must then
be bit-identical to those of the last finished step, on the remaining task or with a new process.

`--silent 8 --heartbeat 2` tests silent failures instead: eight times a worker is stopped (SIGSTOP), and eight times its
network connection is cut. A relay then forwards no more data but keeps connections open. Each failure must be reported
within the heartbeat plus one second.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nbtf as tf

GPUS = [f"/job:worker/task:{number}/device:GPU:0" for number in range(2)]
STEPS = 150
BATCH = 32


class Kill:
    """An action that is performed on a task after a delay."""

    def __init__(self, task: int, delay: float, act: Callable[[], object]) -> None:
        self.task, self.at, self.done, self._act = task, 0.0, threading.Event(), act
        threading.Timer(delay, self._kill).start()

    def _kill(self) -> None:
        self.at = time.perf_counter()
        self._act()
        self.done.set()

    def named(self, work: Callable[[], object]) -> float:
        """Returns the seconds from the kill until the work ended with an error that names the task."""
        try:
            while True:
                work()
        except (tf.errors.UnavailableError, tf.errors.InvalidArgumentError) as error:  # or its device no longer exists
            seconds, text = time.perf_counter() - self.at, str(error)
        assert self.done.is_set(), text
        assert f"/task:{self.task}" in text, text
        return seconds


class Training:
    """A model on both tasks, and its state after each undisturbed step."""

    states: dict[int, bytes]

    def __init__(self) -> None:
        self.strategy = tf.distribute.MirroredStrategy(GPUS)
        tf.keras.utils.set_random_seed(1)
        with self.strategy.scope():
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
            self.model.compile(tf.keras.optimizers.Adam(), tf.keras.losses.MeanSquaredError())
        draw = np.random.default_rng(0)
        self._data = [draw.normal(size=(BATCH, size)).astype(np.float32) for size in (32, 10)]
        self.step()

    def step(self) -> float:
        """Runs one step; returns its seconds."""
        begin = time.perf_counter()
        self.model.fit(*self._data, batch_size=BATCH, verbose=0, shuffle=False)
        return time.perf_counter() - begin

    def state(self) -> tuple[int, bytes]:
        """Returns the number of the last step, and the weights and slots after it."""
        variables = [*self.model.weights, *self.model.optimizer.variables]
        return int(self.model.optimizer.iterations), b"".join([each.numpy().tobytes() for each in variables])

    def all_reduce(self) -> None:
        """Adds up 4 MB from each replica."""

        def in_replica() -> Any:
            replica: Any = tf.distribute.get_replica_context()
            return replica.all_reduce("sum", tf.ones([1 << 20]))

        total = self.strategy.run(in_replica)
        assert 2.0 == self.strategy.experimental_local_results(total)[0][0].numpy()


class Relay:
    """Forwards all connections to a worker until it is cut; then it forwards no more data and closes nothing."""

    def __init__(self, location: str) -> None:
        self._scheme, _, place = location.partition("://")
        self._host, _, port = place.rpartition(":")
        self._port, self._is_cut = int(port), False
        self._serving: set[Any] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        serving = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self.location = f"{self._scheme}://127.0.0.1:{serving.result().sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._is_cut = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.current_task())  # the event loop holds only a weak reference
        there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
        await asyncio.gather(self._forward(reader, there_writer), self._forward(there_reader, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._is_cut:
                    await asyncio.Event().wait()
                writer.write(data)
                await writer.drain()
            writer.close()


class Relayed:
    """A cluster whose tasks are reached through relays, including by each other."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.relays: dict[int, Relay] = {}

    def engine(self) -> Any:
        engine = self._cluster.engine()
        addresses = engine.addresses()
        self.relays = {address.number: Relay(address.location) for address in addresses}
        engine.addresses = lambda: [
            address._replace(location=self.relays[address.number].location) for address in addresses
        ]
        return engine


def ops() -> None:
    for gpu in GPUS:
        with tf.device(gpu):
            (tf.ones([8, 8]) + 1.0).numpy()


def pulls() -> None:
    with tf.device(GPUS[0]):
        x = tf.ones([1 << random.randrange(2, 18)])
    with tf.device(GPUS[1]):
        y = x + 1.0
    with tf.device(GPUS[0]):
        tf.reduce_sum(y).numpy()


def undisturbed() -> tuple[dict[int, bytes], float]:
    """Returns the state after each step, and the seconds of an ordinary step."""
    training = Training()
    states, seconds = dict([training.state()]), []
    for _ in range(STEPS):
        seconds.append(training.step())
        number, state = training.state()
        states[number] = state
    return states, statistics.median(seconds)


def work_at(
    moment: str, training: Training, kill: Kill, file: Path, connect: Callable[[], None]
) -> Callable[[], object]:
    """Returns the work to repeat until the kill, for a moment such as `fit`."""
    return {
        "idle": lambda: (kill.done.wait(), ops()),
        "op": ops,
        "pull": pulls,
        "step": training.step,
        "all-reduce": training.all_reduce,
        "save": lambda: training.model.save_weights(file),
        "reconnect": lambda: (connect(), ops()),
    }[moment]


def resumed(cluster: Any, training: Training, kill: Kill, states: dict[int, bytes], comes_back: bool) -> float:
    """Returns the seconds of the first step after the kill; asserts that it starts from the last finished step."""
    task = f"/job:worker/task:{kill.task}"
    if comes_back:
        cluster.replace(f"worker-{kill.task}")
    training.strategy.replace(task, task if comes_back else None)
    number, state = training.state()
    assert states[number] == state, f"after step {number}"
    return training.step()


def measure_silence(cluster: Any, count: int, heartbeat: float) -> None:
    """Prints how soon a stopped task is reported, and a task whose network connection is cut."""
    relayed = Relayed(cluster)
    moments = ("idle", "op", "pull", "step")
    for what in ("stopped", "cut off"):
        delays: list[float] = []
        for number in range(count):
            tf.config.experimental_connect_to_cluster(relayed)
            training, task = Training(), random.randrange(2)
            pid, relay = cluster.pids[f"worker-{task}"], relayed.relays[task]
            act = partial(os.kill, pid, signal.SIGSTOP) if what == "stopped" else relay.cut
            kill = Kill(task, random.uniform(0.0, 1.0), act)
            work = work_at(moments[number % len(moments)], training, kill, Path(), lambda: None)
            delays.append(kill.named(work))
            cluster.replace(f"worker-{task}")
            print(f"\r{what} {number + 1} of {count}", end="", flush=True)
        print(
            f"\r{what}: {count} times, reported after {statistics.median(delays):.2f} s, at most {max(delays):.2f} s; "
            f"goal {heartbeat + 1:g} (a heartbeat of {heartbeat:g} s and 1)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=105)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--silent", type=int, default=0, metavar="TIMES", help="stop and cut off workers instead")
    parser.add_argument("--heartbeat", type=float, default=5.0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    if arguments.silent:
        with tf.distribute.LocalCluster(2, 1, model="K20m", heartbeat=arguments.heartbeat) as cluster:
            measure_silence(cluster, arguments.silent, arguments.heartbeat)
        return
    moments = ("idle", "op", "pull", "step", "all-reduce", "save", "reconnect")
    delays: dict[str, list[float]] = defaultdict(list)
    steps: list[float] = []
    with tf.distribute.LocalCluster(worker=2, gpus=1, model="K20m") as cluster, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "w.weights.h5"

        def connect() -> None:
            tf.config.experimental_connect_to_cluster(cluster)

        connect()
        states, ordinary = undisturbed()
        for number in range(arguments.kills):
            moment = moments[number % len(moments)]
            training = Training()
            training.model.save_weights(file)
            task = 0 if moment == "save" else random.randrange(2)
            act = partial(os.kill, cluster.pids[f"worker-{task}"], signal.SIGKILL)
            kill = Kill(task, random.uniform(0.0, 0.4), act)
            work = work_at(moment, training, kill, file, connect)
            delays[moment].append(kill.named(work))
            comes_back = bool(random.randrange(2))
            if moment != "reconnect":  # reconnecting invalidates the old tensors
                steps.append(resumed(cluster, training, kill, states, comes_back) - ordinary)
                training.model.load_weights(file)  # the file is complete
            if moment == "reconnect" or not comes_back:
                cluster.replace(f"worker-{kill.task}")
            connect()
            print(f"\rkill {number + 1} of {arguments.kills}", end="", flush=True)
    print()
    for moment in moments:
        if delays[moment]:
            print(
                f"{moment:<11}{len(delays[moment])} kills, reported after {statistics.median(delays[moment]):.3f} s, "
                f"at most {max(delays[moment]):.3f} s; goal 1"
            )
    print(
        f"resumed step {statistics.median(steps):.2f} s longer than an ordinary one ({ordinary:.3f} s), "
        f"at most {max(steps):.2f} s; goal 1"
    )


if __name__ == "__main__":
    main()
