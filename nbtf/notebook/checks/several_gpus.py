"""How do several GPUs share the work, and is my GPU used? Checks of the lessons on towers, replicas and sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._counts import counted
from nbtf.notebook.checks.answers import Answers, Verdict, exercise, short_device


@exercise
def share(answers: Answers) -> Verdict:
    """Eight products on two GPUs, four on each, and their sum on the CPU."""
    compute = answers.call("compute")
    gpus: list[Any] = answers.read("logical_gpus", list)
    pairs = [(tf.fill([2, 2], float(n)), tf.ones([2, 2])) for n in range(8)]
    with tf.runtime.recording() as attempt:
        result = compute(gpus, pairs)
    counts = Counter(device for op, device in attempt.ops if op == "MatMul")
    total, device = _value(result), short_device(result)
    report = ", ".join(f"{count} on {device}" for device, count in sorted(counts.items())) or "no product was computed"
    if counts == {"GPU:0": 4, "GPU:1": 4} and total == [[56.0, 56.0]] * 2 and device == "CPU:0":
        return Verdict(True, f"{report}.")
    return Verdict(False, f"{report}; the sum is {total} on {device}.")


def _value(result: Any) -> Any:
    """The numbers of a tensor; anything else as it is."""
    return result.numpy().tolist() if isinstance(result, tf.Tensor) else result


@exercise
def allreduce(answers: Answers) -> Verdict:
    """The bytes that an all-reduce over three replicas moves, compared with a step of such a model."""
    moved = answers.read("moved", int)
    three = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1", "GPU:2"])
    with three.scope():
        small = tf.keras.Sequential([tf.keras.layers.Input((100,)), tf.keras.layers.Dense(10, use_bias=False)])
        small.compile("sgd", "mse", run_eagerly=True)  # the check's own calls are not counted as traced
    small.train_on_batch(np.ones((6, 100)), np.ones((6, 10)))
    with tf.runtime.recording() as attempt:
        small.train_on_batch(np.ones((6, 100)), np.ones((6, 10)))
    sizes = [size for start, end, size in attempt.copies if "GPU" in start and "GPU" in end and size > 1000]
    if moved == sum(sizes):
        return Verdict(True, f"{counted(len(sizes), 'copy', 'copies')} of {sizes[0]:,} bytes.")
    return Verdict(False, f"{moved}. Count the copies to the first GPU, and the copies back.")


@exercise
def one_crossing(answers: Answers) -> Verdict:
    """A tensor for all GPUs of another host, sent between the hosts once; tried on two hosts of eight."""
    spread = answers.call("spread")
    tf.runtime.restart()
    tf.runtime.simulate_cluster(hosts=2, gpus=8, model="H100")
    with tf.device("/job:worker/task:0/GPU:0"):
        x = tf.range(5.0)
    with tf.runtime.recording() as attempt:
        copies: list[Any] = list(spread(x))
    targets = [f"/job:worker/task:1/GPU:{number}" for number in range(8)]
    devices = sorted(short_device(copy) for copy in copies)
    if devices != targets:
        return Verdict(
            False, f"the copies are on {', '.join(devices) or 'no device'}. Wanted: {targets[0]} to {targets[-1]}."
        )
    if any(copy.numpy().tolist() != x.numpy().tolist() for copy in copies):
        return Verdict(False, "the copies have other values than the tensor.")
    crossing = sum("/task:1/" not in source for source, target, _ in attempt.copies if "/task:1/" in target)
    report = f"{counted(crossing, 'copy', 'copies')} between the hosts."
    return Verdict(True, report) if crossing == 1 else Verdict(False, f"{report} Wanted: 1.")


@exercise
def today(answers: Answers) -> Verdict:
    """The towers of the graph, run line by line: same result, same places."""
    expected = _devices_of(answers.read("then", tf.runtime.Recording))
    function = answers.call("today")
    with tf.runtime.recording() as now:
        answer = function()
    devices, value = _devices_of(now), answer.numpy().tolist() if hasattr(answer, "numpy") else "not computed"
    report = f"{', '.join(devices) or 'nothing ran'}; the result is {value}."
    if value == [[44.0, 56.0], [98.0, 128.0]] and devices == expected:
        return Verdict(True, report)
    return Verdict(False, f"{report} Wanted: {', '.join(expected)}.")


def _devices_of(record: Any) -> list[str]:
    """Where the products and the sum ran, in order."""
    return [f"{op} on {device}" for op, device in record.ops if op in ("MatMul", "AddN")]


@exercise
def rung(answers: Answers) -> Verdict:
    """The first question with the answer no, for three computers."""
    rungs: dict[Any, Any] = answers.read("rungs", dict)
    computers: dict[str, dict[str, Any]] = answers.read("computers", dict)
    ladder: Callable[..., str] = answers.call("ladder")
    really = {name: ladder(**computer).split(" | ")[0] for name, computer in computers.items()}
    wrong = [name for name in really if rungs.get(name) != really[name]]
    if wrong:
        return Verdict(False, f"{', '.join(wrong)}. It is the first question with the answer no.")
    return Verdict(True, "all three.")
