"""When a model is saved during training, and where."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from nbtf._storage import files
from nbtf.keras.callbacks.monitoring import Monitoring


class ModelCheckpoint(Monitoring):
    """Saves the model, or its weights, after each pass or after a number of batches.

    Args:
      filepath: where; `{epoch:02d}`, `{batch}` and the names of results stand for their values.
      monitor: the result by which the best pass is known.
      verbose: 1 says what is saved.
      save_best_only: whether only models are saved that are better than all before.
      save_weights_only: whether only weights are saved.
      mode: `"min"`, `"max"`, or `"auto"` by the name of the result.
      save_freq: `"epoch"`, or a number of batches.
      initial_value_threshold: what the first result must be better than.
      **ignored: accepted for older programs (`options`, `period`).

    Raises:
      ValueError: the ending of `filepath` does not suit what is saved.

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
        self.save_freq: Any = save_freq
        self.verbose, self.save_best_only, self.save_weights_only = verbose, save_best_only, save_weights_only
        self.best: float | None = initial_value_threshold
        self._epoch = self._since = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the number of the pass."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves, if batches count and it is time."""
        if self.save_freq != "epoch":
            self._since += 1
            if self._since >= self.save_freq:
                self._since = 0
                self._save(self._epoch, batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves, if passes count."""
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
