"""Training on real processes: one is killed in the middle, another takes its place."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf.errors import AbortedError
from tests.cluster.test_training import bytes_of, data, model_of, state_of

pytest.importorskip("distributed")
pytest.importorskip("cryptography")


class Kill(tf.keras.callbacks.Callback):
    """Kills a process when the third batch begins, and keeps what the state was then."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.pid, self.state = pid, []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 2:
            self.state = bytes_of(state_of(self.model))
            os.kill(self.pid, signal.SIGKILL)


def test_a_new_process_goes_on_from_the_last_finished_step() -> None:
    with use_context(Context(None, {})), tf.distribute.LocalCluster(worker=2, gpus=1, model="K20m") as cluster:
        strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster)
        model = model_of(strategy)
        kill = Kill(cluster.pids["worker-1"])
        with pytest.raises(tf.errors.UnavailableError, match=r"/job:worker/replica:0/task:1 is lost"):
            model.fit(*data(), batch_size=16, verbose=0, shuffle=False, callbacks=[kill])

        cluster.replace("worker-1")
        strategy.replace("/job:worker/task:1", "/job:worker/task:1")

        assert kill.state == bytes_of(state_of(model))
        assert 2 == strategy.num_replicas_in_sync
        model.fit(*data(), batch_size=16, verbose=0)
        current: Any = CURRENT.context.cluster
        current.end(AbortedError("The test is over."))
