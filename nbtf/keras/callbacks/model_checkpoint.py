"""Callbacks that save a model during training and resume training from a backup."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from nbtf._storage import files
from nbtf.keras.callbacks.monitoring import Monitoring
from nbtf.keras.generation import check_ending


class ModelCheckpoint(Monitoring):
    """Saves the model or its weights, after each epoch or after a number of batches.

    Args:
      filepath: path of the file; `{epoch:02d}`, `{batch}` and names of results in braces are replaced by values.
      monitor: name of the result that decides which epoch is best; `val_loss` by default.
      verbose: 1 prints a line for each save; 0, the default, prints nothing.
      save_best_only: whether to save only if the result improved; false by default.
      save_weights_only: whether to save only weights; false by default.
      mode: `"min"`, `"max"`, or `"auto"` to decide by the name of the result.
      save_freq: `"epoch"`, or a number of batches.
      initial_value_threshold: value that the first result must improve on; None for no limit.
      **ignored: arguments of older programs (`options`, `period`).

    Raises:
      ValueError: if `filepath` does not have the file extension for what is saved.

    >>> tf.keras.callbacks.ModelCheckpoint("model_{epoch:02d}.keras").save_freq
    'epoch'
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        initial_value_threshold: float | None = None,
        **ignored: Any,
    ) -> None:
        super().__init__(monitor, mode)
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values")
        self.filepath: str = os.fspath(filepath)
        if save_weights_only:
            check_ending(
                str(filepath), "When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided"
            )
        self.save_freq: Any = save_freq
        self.verbose: int = verbose
        self.save_best_only: bool = save_best_only
        self.save_weights_only: bool = save_weights_only
        self.best: float | None = initial_value_threshold
        self._epoch = self._since = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Stores the epoch number."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves if the number of batches is reached."""
        if self.save_freq != "epoch":
            self._since += 1
            if self._since >= self.save_freq:
                self._since = 0
                self._save(self._epoch, batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves if `save_freq` is `"epoch"`."""
        if self.save_freq == "epoch":
            self._save(epoch, None, logs)

    def _save(self, epoch: int, batch: int | None, logs: Any) -> None:
        results: dict[str, Any] = logs or {}
        path = self._path(epoch, batch, results)
        text = f"\nEpoch {epoch + 1}: saving model to {path}\n"
        if self.save_best_only:
            value: Any = results.get(self.monitor)
            if value is None:
                warnings.warn(f"Can save best model only with {self.monitor} available.", stacklevel=3)
            elif self.is_better(value, self.best):
                old_best = "None" if self.best is None else f"{self.best:.5f}"
                change = f"{self.monitor} improved from {old_best} to {value:.5f}"
                text = f"\nEpoch {epoch + 1}: {change}, saving model to {path}\n"
                self.best = value
            else:
                self._say(f"\nEpoch {epoch + 1}: {self.monitor} did not improve from {self.best:.5f}\n")
                return
        self._say(text)
        files.make_folder(os.path.dirname(path) or ".")
        if self.save_weights_only:
            self.model.save_weights(path)
        else:
            self.model.save(path)
        self._say(f"\nEpoch {epoch + 1}: finished saving model to {path}\n")

    def _say(self, text: str) -> None:
        if self.verbose:
            sys.stdout.write(text)

    def _path(self, epoch: int, batch: int | None, logs: dict[str, Any]) -> str:
        values = {**logs, "epoch": epoch + 1, **({} if batch is None else {"batch": batch + 1})}
        try:
            return self.filepath.format(**values)
        except KeyError as error:
            raise KeyError(f'Failed to format this callback filepath: "{self.filepath}". Reason: {error}') from None
