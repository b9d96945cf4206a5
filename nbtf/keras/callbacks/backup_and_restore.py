"""How training goes on after the program was ended in the middle."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from nbtf._storage.documents import parse_document
from nbtf._storage.refusal import refusing
from nbtf.keras.callbacks.callback import Callback
from nbtf.keras.saving import arrays


class BackupAndRestore(Callback):
    """Keeps weights and optimizer in a folder after each pass, and goes on from there in the next `fit`.

    Passes that were made before are not made again: their hooks come, and their batches do not.

    Args:
      backup_dir: the folder.
      save_freq: `"epoch"`, or after how many batches.
      double_checkpoint: accepted and ignored.
      delete_checkpoint: whether what was kept is deleted when `fit` has come to its end.

    Raises:
      ValueError: no folder.
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
        self.save_freq, self.delete_checkpoint = save_freq, delete_checkpoint
        self._epoch = self._batches = 0

    @property
    def _path(self) -> str:
        return os.path.join(self.backup_dir, "latest.npz")

    def on_train_begin(self, logs: Any = None) -> None:
        """Brings back what was kept."""
        if not os.path.exists(self._path):
            return
        if not self.model.built or not self.model.optimizer.built:
            self.model.optimizer.build(self.model.trainable_variables)
        backup = arrays.read(self._path)
        with refusing(self._path, "is no backup of this model"):
            state = parse_document(str(backup["state"]), self._path, {"epoch": int})
            values = [(variable, backup[str(number)]) for number, variable in enumerate(self._variables())]
            for number, (variable, value) in enumerate(values):
                arrays.check_dtype(variable.dtype, value, str(number))
                arrays.put(variable, value, str(number))
        self.model.__dict__["_initial_epoch"] = state["epoch"]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keeps the state."""
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._keep()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Keeps the state, if batches count."""
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._keep()

    def on_train_end(self, logs: Any = None) -> None:
        """Deletes what was kept."""
        if self.delete_checkpoint and os.path.exists(self._path):
            os.remove(self._path)

    def _keep(self) -> None:
        values = {str(number): arrays.value_of(variable) for number, variable in enumerate(self._variables())}
        arrays.write(self._path, {"state": np.array(json.dumps({"epoch": self._epoch})), **values})

    def _variables(self) -> list[Any]:
        return [*self.model.weights, *self.model.optimizer.variables]
