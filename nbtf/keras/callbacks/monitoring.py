"""Comparing results between epochs, and ending training when they stop improving."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

from nbtf.keras.callbacks.callback import Callback

_UPWARDS = ("accuracy", "acc", "auc", "precision", "recall", "f1", "iou", "r2")
"""Parts of the names of metrics for which larger is better."""


class Monitoring(Callback):
    """Base class of callbacks that monitor one result of each epoch."""

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        """Stores the name of the result, and whether smaller or larger is better: `"min"`, `"max"` or `"auto"`."""
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        self.monitor: str = monitor
        self.mode = mode
        self.min_delta: float = abs(min_delta)

    @property
    def upwards(self) -> bool:
        """Whether larger is better.

        Raises:
          ValueError: if the model has no metric of that name and `mode` is `"auto"`.
        """
        if self.mode != "auto":
            return self.mode == "max"
        name = self.monitor.removeprefix("val_")
        if name != "loss" and self.model is not None and name not in self.model.get_metrics_result():
            raise ValueError(
                f"{type(self).__name__} callback received monitor={self.monitor}, but Keras isn't able to "
                "automatically determine whether that metric should be maximized or minimized. Pass `mode='max'` in "
                "order to monitor based on the highest metric value, or pass `mode='min'` in order to use the lowest "
                "value."
            )
        return any(word in name.lower().split("_") for word in _UPWARDS) or "cosine_similarity" in name

    def is_better(self, value: float, best: float | None) -> bool:
        """Returns whether a result is better than another by more than `min_delta`."""
        upwards = self.upwards
        if best is None:
            return True
        return value - self.min_delta > best if upwards else value + self.min_delta < best

    def value_in(self, logs: Mapping[str, Any] | None, action: str) -> Any:
        """Returns the result; warns and returns None if it does not exist."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{action} conditioned on metric `{self.monitor}` which is not available. Available metrics are: "
                f"{','.join(logs or {})}",
                stacklevel=3,
            )
        return value


class EarlyStopping(Monitoring):
    """Ends training when a result stops improving.

    Args:
      monitor: name of the result; `val_loss` by default.
      min_delta: smallest change that counts as an improvement; 0 by default.
      patience: number of epochs without improvement before training ends; 0 by default.
      verbose: 1 prints when training ends early; 0, the default, prints nothing.
      mode: `"min"`, `"max"`, or `"auto"` to decide by the name.
      baseline: value that the result must improve on; None for no limit.
      restore_best_weights: whether to restore the weights of the best epoch; false by default.
      start_from_epoch: first epoch that is monitored; 0 by default.

    >>> tf.keras.callbacks.EarlyStopping(patience=3).monitor
    'val_loss'
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0.0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience: int = patience
        self.verbose: int = verbose
        self.baseline: float | None = baseline
        self.restore_best_weights: bool = restore_best_weights
        self.start_from_epoch: int = start_from_epoch
        self.on_train_begin()

    def on_train_begin(self, logs: Any = None) -> None:
        """Resets the best result."""
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Checks the result."""
        assert self.upwards is not None  # raises an error for a wrong `monitor` even if the first results lack it
        value = self.value_in(logs, "Early stopping")
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self.is_better(value, self.best):
            self.best = value
            self.best_epoch: int = epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self.is_better(value, self.baseline):
                self.wait: int = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch: int = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Prints the epoch at which training ended and restores the best weights."""
        if self.stopped_epoch > 0 and self.verbose:
            sys.stdout.write(f"Epoch {self.stopped_epoch + 1}: early stopping\n")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose:
                best = self.best_epoch + 1
                sys.stdout.write(f"Restoring model weights from the end of the best epoch: {best}.\n")
            self.model.set_weights(self.best_weights)
