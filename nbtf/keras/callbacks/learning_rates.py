"""Callbacks that change the learning rate between epochs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from nbtf.keras.callbacks.callback import Callback
from nbtf.keras.callbacks.monitoring import Monitoring

_NUMBERS: Any = (float, np.floating)


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
      schedule: function of the epoch number, counted from 0, and optionally of the current learning rate.
      verbose: 1 prints each new learning rate; 0, the default, prints nothing.

    >>> schedule = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    >>> schedule.verbose
    0
    """

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        self.schedule: Callable[..., Any] = schedule
        self.verbose: int = verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Sets the learning rate.

        Raises:
          ValueError: if the function does not return a number.
        """
        optimizer = self.model.optimizer
        rate: Any
        try:
            rate = self.schedule(epoch, float(optimizer.learning_rate))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, _NUMBERS) and not hasattr(rate, "numpy"):
            raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate}")
        optimizer.learning_rate = float(rate)
        if self.verbose > 0:
            sys.stdout.write(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.\n")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds the learning rate to the results."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class ReduceLROnPlateau(Monitoring):
    """Reduces the learning rate when a result stops improving.

    Args:
      monitor: name of the result; `val_loss` by default.
      factor: factor by which the learning rate is multiplied; 0.1 by default.
      patience: number of epochs without improvement before a reduction; 10 by default.
      verbose: 1 prints each new learning rate; 0, the default, prints nothing.
      mode: `"min"`, `"max"`, or `"auto"` to decide by the name.
      min_delta: smallest change that counts as an improvement; 0.0001 by default.
      cooldown: number of epochs after a reduction that are not counted; 0 by default.
      min_lr: lower limit of the learning rate; 0 by default.

    Raises:
      ValueError: if `factor` is 1 or more.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        **ignored: Any,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}")
        self.factor: float = factor
        self.patience: int = patience
        self.verbose: int = verbose
        self.cooldown: int = cooldown
        self.min_lr: float = min_lr
        self.on_train_begin()

    def on_train_begin(self, logs: Any = None) -> None:
        """Resets the best result."""
        self.best: float | None = None
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Checks the result and adds the learning rate to the results."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
        value = self.value_in(logs, "Learning rate reduction is")
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        optimizer = self.model.optimizer
        old_rate = float(optimizer.learning_rate)
        if old_rate <= self.min_lr:
            return
        rate = max(old_rate * self.factor, self.min_lr)
        optimizer.learning_rate = rate
        self.cooldown_counter: int = self.cooldown
        self.wait: int = 0
        if self.verbose > 0:
            sys.stdout.write(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {rate}.\n")
