"""Check of the lesson about a machine that fails."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from nbtf.notebook.checks.answers import Answers, Verdict, exercise
from nbtf.notebook.checks.wording import phrase


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
