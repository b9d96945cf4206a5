"""Callbacks that save a model during training and resume training from a backup."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

from nbtf._storage import files
from nbtf._storage.documents import parse_document
from nbtf._storage.refusal import refusing
from nbtf.keras.callbacks.callback import Callback
from nbtf.keras.callbacks.monitoring import Monitoring
from nbtf.keras.generation import check_ending
from nbtf.keras.saving import arrays


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


class BackupAndRestore(Callback):
    """Backs up weights and optimizer after each epoch, and resumes from the backup in the next `fit`.

    Epochs that were completed before are not repeated: their hooks are called, but no batches run.

    Args:
      backup_dir: folder of the backup.
      save_freq: `"epoch"`, or a number of batches.
      double_checkpoint: ignored.
      delete_checkpoint: whether to delete the backup when `fit` completes; true by default.

    Raises:
      ValueError: if `backup_dir` is empty.
    """

    def __init__(
        self,
        backup_dir: Any,
        save_freq: Any = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        self.backup_dir: str = os.fspath(backup_dir)
        self.save_freq: Any = save_freq
        self.delete_checkpoint: bool = delete_checkpoint
        self._epoch = self._batches = 0

    @property
    def _path(self) -> str:
        return os.path.join(self.backup_dir, "latest.npz")

    def on_train_begin(self, logs: Any = None) -> None:
        """Restores the backup if it exists."""
        if not os.path.exists(self._path):
            return
        if not self.model.built or not self.model.optimizer.built:
            self.model.optimizer.build(self.model.trainable_variables)
        backup = arrays.read(self._path)
        with refusing(self._path, "is not a backup of this model"):
            state = parse_document(str(backup["state"]), self._path, {"epoch": int})
            values = [(variable, backup[str(number)]) for number, variable in enumerate(self._variables())]
            for number, (variable, value) in enumerate(values):
                arrays.check_dtype(variable.dtype, value, str(number))
                arrays.put(variable, value, str(number))
        self.model.__dict__["_initial_epoch"] = state["epoch"]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Backs up the state if `save_freq` is `"epoch"`."""
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._keep()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Backs up the state if the number of batches is reached."""
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._keep()

    def on_train_end(self, logs: Any = None) -> None:
        """Deletes the backup."""
        if self.delete_checkpoint and os.path.exists(self._path):
            os.remove(self._path)

    def _keep(self) -> None:
        values = {str(number): arrays.value_of(variable) for number, variable in enumerate(self._variables())}
        arrays.write(self._path, {"state": np.array(json.dumps({"epoch": self._epoch})), **values})

    def _variables(self) -> list[Any]:
        return [*self.model.weights, *self.model.optimizer.variables]
