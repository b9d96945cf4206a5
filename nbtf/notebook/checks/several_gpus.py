"""Checks of the lessons about several GPUs: towers, replicas, sessions, whether a GPU is used, and lost machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import nbtf as tf
from nbtf.notebook.checks.answers import Answers, Verdict, all_three, exercise, judged, short_device
from nbtf.notebook.checks.wording import listed, phrase


@exercise
def share(answers: Answers) -> Verdict:
    """Two GPUs compute four products each; the sum is on the CPU."""
    compute = answers.call("compute")
    gpus: list[Any] = answers.read("logical_gpus", list)
    pairs = [(tf.fill([2, 2], float(n)), tf.ones([2, 2])) for n in range(8)]
    with tf.runtime.recording() as attempt:
        result = compute(gpus, pairs)
    counts = Counter(device for op, device in attempt.ops if op == "MatMul")
    total, device = result.numpy().tolist() if isinstance(result, tf.Tensor) else result, short_device(result)
    share_texts = [phrase("onDevice", n=count, device=name) for name, count in sorted(counts.items())]
    shares = listed(share_texts) or phrase("noneComputed")
    if counts == {"GPU:0": 4, "GPU:1": 4} and total == [[56.0, 56.0]] * 2 and device == "CPU:0":
        return Verdict(True, phrase("shares", shares=shares))
    return Verdict(False, phrase("sharesAndSum", shares=shares, total=total, device=device))


@exercise
def allreduce(answers: Answers) -> Verdict:
    """The number of bytes is what an all-reduce over three replicas moves in one step."""
    moved = answers.read("moved", int)
    three = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1", "GPU:2"])
    with three.scope():
        small = tf.keras.Sequential([tf.keras.layers.Input((100,)), tf.keras.layers.Dense(10, use_bias=False)])
        small.compile("sgd", "mse", run_eagerly=True)  # eager, so that the check traces nothing
    small.train_on_batch(np.ones((6, 100)), np.ones((6, 10)))
    with tf.runtime.recording() as attempt:
        small.train_on_batch(np.ones((6, 100)), np.ones((6, 10)))
    sizes = [size for start, end, size in attempt.copies if "GPU" in start and "GPU" in end and size > 1000]
    if moved == sum(sizes):
        return Verdict(True, phrase("copiesOf", n=len(sizes), size=sizes[0]))
    return Verdict(False, phrase("otherBytes", moved=str(moved)))


@exercise
def one_crossing(answers: Answers) -> Verdict:
    """A tensor reaches all GPUs of another host but crosses between the hosts once; tried on two hosts."""
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
        expected = phrase("to", first=targets[0], last=targets[-1])
        return Verdict(False, phrase("copiesOn", devices=listed(devices) or phrase("noDevice"), expected=expected))
    if any(copy.numpy().tolist() != x.numpy().tolist() for copy in copies):
        return Verdict(False, phrase("otherValues"))
    crossing = sum("/task:1/" not in source for source, target, _ in attempt.copies if "/task:1/" in target)
    return judged(crossing == 1, phrase("crossings", n=crossing), "oneCrossing")


@exercise
def today(answers: Answers) -> Verdict:
    """The graph's towers, run line by line, have the same result on the same devices."""
    expected = _devices_of(answers.read("then", tf.runtime.Recording))
    function = answers.call("today")
    with tf.runtime.recording() as now:
        answer = function()
    value = answer.numpy().tolist() if hasattr(answer, "numpy") else phrase("notComputed")
    devices = _devices_of(now)
    report = phrase("placesAndResult", places=listed(devices) or phrase("nothingRan"), value=value)
    if value == [[44.0, 56.0], [98.0, 128.0]] and devices == expected:
        return Verdict(True, report)
    return Verdict(False, phrase("sentences", first=report, second=phrase("samePlaces", places=listed(expected))))


def _devices_of(record: Any) -> list[str]:
    """Returns the devices of the products and the sum, in order."""
    return [phrase("opOn", op=op, device=device) for op, device in record.ops if op in ("MatMul", "AddN")]


@exercise
def rung(answers: Answers) -> Verdict:
    """For each of three computers, the right answer is the first question whose answer is no."""
    rungs: dict[Any, Any] = answers.read("rungs", dict)
    computers: dict[str, dict[str, Any]] = answers.read("computers", dict)
    ladder: Callable[..., str] = answers.call("ladder")
    really = {name: ladder(**computer).split(" | ")[0] for name, computer in computers.items()}
    return all_three(rungs, really, "wrongRungs")


@exercise
def rescue(answers: Answers) -> Verdict:
    """All weights come from copies that are left; tried on three hosts, each of which is lost once."""
    function = answers.call("rescue")
    tf.runtime.restart()
    tf.runtime.simulate_cluster(hosts=3, gpus=1, model="H100")
    for number in range(3):
        lost = f"/job:worker/replica:0/task:{number}"
        with tf.distribute.MultiWorkerMirroredStrategy().scope():
            model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(3)])
        expected = [weight.numpy() for weight in model.weights]
        for weight in model.weights:
            for copy in weight.value.values:
                if copy.device.startswith(lost):  # unreadable, so that a wrong answer is noticed
                    with tf.device(copy.device):
                        copy.assign(np.full(copy.shape, np.nan))
        arrays: list[Any] = list(function(model, lost))
        if len(arrays) != len(expected):
            return Verdict(False, phrase("weightsReturned", n=len(expected), got=len(arrays)))
        if not all(np.array_equal(array, weight) for array, weight in zip(arrays, expected, strict=True)):
            return Verdict(False, phrase("lostValueRead", number=number))
    return Verdict(True, phrase("rescued"))
