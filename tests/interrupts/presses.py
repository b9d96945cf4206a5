"""Presses the stop button of a real kernel: sends real signals at random moments."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_PATIENCE = 60
"""Time limit in seconds for actions of a kernel that usually take milliseconds."""

_BEGIN = """
import sys, gc
import nbtf as tf
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from nbtf._locks import _all_locks
from tests.devices.slow_bfc import problems
%load_ext nbtf
ignored = []
sys.unraisablehook = lambda raised: ignored.append(repr(raised.exc_value))
def step():
    w = tf.Variable(tf.ones([8, 8]))
    with tf.device("GPU:1"), tf.name_scope("step"):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(w, w))
        w.assign_sub(tape.gradient(loss, w) * 0.001)
layers = tf.keras.layers
with tf.distribute.MirroredStrategy().scope():
    model = tf.keras.Sequential([layers.Input((3,)), layers.Dense(2), layers.Dense(1)])
    model.compile("adam", "mse")
def fit():
    model.fit(tf.ones([8, 3]), tf.ones([8, 1]), batch_size=4, verbose=0)
for _ in range(2):
    step(), fit()
"""
_LOOPS = ("while True: step()", "while True: fit()", "while True: tf.ones([64]) + 1.0")
_END = "%gpu_memory --forget-last-error"
_LOOK = """
gc.collect()
wrong = list(ignored)
ignored.clear()
if SCOPE() is not None: wrong.append("a scope is open")
if not tf.ones([1]).device.endswith("GPU:0"): wrong.append("ops run elsewhere")
if any(not repr(lock).startswith("<unlocked") for lock in _all_locks()): wrong.append("a lock is taken")
gpus = [device for device in CURRENT.context.devices.devices if device.type == "GPU"]
for gpu in gpus: wrong += problems(gpu.allocator)
for variable in [*model.weights, *model.optimizer.variables]:
    copies = [copy.numpy().tolist() for copy in getattr(variable.handle, "values", (variable.handle,))]
    if copies[0] != copies[-1]: wrong.append(f"copies of {variable.name} differ")
levels = [gpu.memory.level()[0] for gpu in gpus]
usual = globals().get("usual", levels)
if levels != usual: wrong.append(f"{levels} bytes in use, not {usual}")
"; ".join(wrong)
"""


def press(count: int, seed: int = 0) -> list[str]:
    """Presses stop `count` times; returns the interrupts that were swallowed, and what they left behind."""
    chance, failures = random.Random(seed), list[str]()
    with _kernel() as (manager, client):
        assert _run(client, _BEGIN)[0] == "ok"
        assert _run(client, _LOOK) == ("ok", "")
        for number in range(count):
            program = _LOOPS[number % len(_LOOPS)]
            client.execute(program, stop_on_error=False)
            _wait_until_busy(client)
            time.sleep(chance.uniform(0.0, 0.05))
            manager.interrupt_kernel()
            if not _ended(client, 5):
                failures.append(f"press {number} was swallowed in {program!r}")
                while not _ended(client, 1):
                    manager.interrupt_kernel()
            _run(client, _END)
            status, left = _run(client, _LOOK)
            if status != "ok" or left:
                failures.append(f"after press {number} in {program!r}: {status} {left}")
    return failures


@contextmanager
def _kernel() -> Generator[tuple[Any, Any]]:
    from jupyter_client.manager import start_new_kernel

    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
    manager, client = start_new_kernel(env=env, startup_timeout=_PATIENCE)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _run(client: Any, code: str) -> tuple[str, str]:
    """Runs a cell; returns its status and its result."""
    results: list[str] = []

    def hear(message: Any) -> None:
        if message["msg_type"] == "execute_result":
            results.append(message["content"]["data"]["text/plain"].strip("'"))
        elif message["msg_type"] == "error":
            results.append(message["content"]["evalue"])

    reply = client.execute_interactive(code, stop_on_error=False, output_hook=hear, timeout=_PATIENCE)
    return reply["content"]["status"], "".join(results)


def _wait_until_busy(client: Any) -> None:
    while True:
        message = client.get_iopub_msg(timeout=_PATIENCE)
        if message["msg_type"] == "execute_input":
            return


def _ended(client: Any, seconds: float) -> bool:
    """Waits for the reply of an interrupted cell; returns whether it came."""
    from queue import Empty

    try:
        reply = client.get_shell_msg(timeout=seconds)
    except Empty:
        return False
    assert reply["content"]["status"] == "error", reply["content"]
    while client.get_iopub_msg(timeout=_PATIENCE)["content"].get("execution_state") != "idle":
        pass
    return True
