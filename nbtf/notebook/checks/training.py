"""Checks of the lessons about timing, memory per parameter and sharding."""

from __future__ import annotations

import itertools
from typing import Any

import nbtf as tf
from nbtf.notebook.checks.answers import Answers, Verdict, all_three, exercise, judged
from nbtf.notebook.checks.wording import phrase

_SIZE = 512
"""Rows and columns of the model that is trained: 1 MiB."""


class _Card:
    """A card as the lesson defines it, in modelled seconds: busy at first, and slow at its first launch."""

    def __init__(self) -> None:
        self.host, self.free, self._first_launch = 0.0, 7.0, 0.5

    def launch(self, seconds: float) -> None:
        self.host += 10e-6
        self.free = max(self.free, self.host) + seconds + self._first_launch
        self._first_launch = 0.0

    def synchronize(self) -> None:
        self.host = max(self.host, self.free)


@exercise
def honest_timer(answers: Answers) -> Verdict:
    """The time of one operation, measured on a card that is busy and whose first launch is slow."""
    measure = answers.call("measure")
    measured = [float(measure(_Card(), seconds)) for seconds in (1e-3, 1e-6)]
    expected = [1e-3, 10e-6]
    report = phrase("timeFound", ms=f"{1e3 * measured[0]:.3g}")
    right = all(target <= time < 1.05 * target for time, target in zip(measured, expected, strict=True))
    return judged(right, report, "timeGoal")


@exercise
def training_bytes(answers: Answers) -> Verdict:
    """The bytes per parameter of three optimizers, compared with a step on the simulated card."""
    answer: dict[Any, Any] = answers.read("bytes_per_parameter", dict)
    optimizers = {
        "SGD": tf.keras.optimizers.SGD(0.01),
        "SGD with momentum": tf.keras.optimizers.SGD(0.01, momentum=0.9),
        "Adam": tf.keras.optimizers.Adam(),
    }
    really = {name: _bytes_per_parameter(optimizer) for name, optimizer in optimizers.items()}
    return all_three(answer, really, "wrongBytes")


def _bytes_per_parameter(optimizer: Any) -> int:
    """Returns the bytes of weights, gradients and optimizer state on GPU:0 after a step, per parameter and rounded."""
    shape = (_SIZE, _SIZE)
    bytes_before = _requested()
    with tf.device("/GPU:0"):
        weight, gradient = tf.Variable(tf.zeros(shape)), tf.ones(shape)
        optimizer.apply_gradients([(gradient, weight)])
    return round((_requested() - bytes_before) / (_SIZE * _SIZE))


def _requested() -> int:
    """Returns the bytes that tensors on GPU:0 requested; a chunk in use may be larger than its tensor."""
    return next(device.requested or 0 for device in tf.runtime.devices() if device.name == "GPU:0")


@exercise
def sharded_bytes(answers: Answers) -> Verdict:
    """The bytes per parameter on each GPU, for all stages and several numbers of GPUs."""
    function = answers.call("bytes_per_parameter")
    for stage, gpus in itertools.product(range(4), (4, 8, 64)):
        answer, expected = float(function(stage, gpus)), _sharded(stage, gpus)
        if abs(answer - expected) > 1e-6:
            return Verdict(False, phrase("stageBytes", stage=stage, n=gpus, found=f"{answer:g}", goal=f"{expected:g}"))
    return Verdict(True, phrase("allStages"))


def _sharded(stage: int, gpus: int) -> float:
    """Weights, gradients and moments of a parameter, each divided from its stage on."""
    return sum(size / (gpus if stage >= first else 1) for size, first in ((4, 3), (4, 2), (8, 1)))
