"""What a training writes down for TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbtf.keras.callbacks.callback import Callback
from nbtf.summary import SummaryWriter, create_file_writer, scalar


class TensorBoard(Callback):
    """Writes losses and metrics of each epoch into event files, in the folders `train` and `validation`.

    Args:
      log_dir: the folder around these.
      **kwargs: accepted and ignored: histograms of weights, graphs, images and profiles are not written.

    >>> tf.keras.callbacks.TensorBoard(log_dir="./logs", histogram_freq=1).log_dir
    './logs'
    """

    def __init__(self, log_dir: Any = "logs", **kwargs: Any) -> None:
        self.log_dir = str(log_dir)
        self._writers: dict[str, SummaryWriter] = {}

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Writes what the epoch has come to."""
        for name, value in (logs or {}).items():
            run = "validation" if name.startswith("val_") else "train"
            if run not in self._writers:
                self._writers[run] = create_file_writer(os.path.join(self.log_dir, run))
            with self._writers[run].as_default(step=epoch):
                scalar(f"epoch_{name.removeprefix('val_')}", value)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Writes what waits, and closes the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
