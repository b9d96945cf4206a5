"""The base class of callbacks, with the hooks of training, testing and prediction as methods or functions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any


class Callback:
    """Base class of callbacks. Subclass it and define the hooks that you need; all others cost no time.

    `model` is the model; `params` contains `verbose`, `epochs` and `steps`. Setting `model.stop_training` ends `fit`
    after the current batch.

    >>> class Losses(tf.keras.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs=None):
    ...         print(epoch, sorted(logs))
    >>> Losses().on_epoch_end(0, {"loss": 0.5})
    0 ['loss']
    """

    _model: Any = None
    params: Any = None

    @property
    def model(self) -> Any:
        """The model that is trained."""
        return self._model

    def set_params(self, params: Any) -> None:
        """Stores the parameters of `fit`."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Stores the model."""
        self._model = model

    # Batches; `on_batch_begin` and `on_batch_end` are older names of the training hooks.

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a training batch."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a training batch."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a training batch."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a training batch, with the means of the epoch so far."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a test or validation batch."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a test or validation batch."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a prediction batch."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a prediction batch; `logs` contains its `outputs`."""

    # Epochs and whole runs

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Called before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Called after an epoch, with its results and, as `val_...`, those of the validation."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Called at the start of `fit`."""

    def on_train_end(self, logs: Any = None) -> None:
        """Called at the end of `fit`."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Called at the start of `evaluate` or of a validation."""

    def on_test_end(self, logs: Any = None) -> None:
        """Called at the end of `evaluate` or of a validation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Called at the start of `predict`."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Called at the end of `predict`."""


class LambdaCallback(Callback):
    """A callback that calls functions.

    Args:
      on_epoch_begin: function of the epoch number and the results, called before each epoch.
      on_epoch_end: function of the same arguments, called after each epoch.
      on_train_begin: function of the results, called at the start of `fit`.
      on_train_end: function of the results, called at the end of `fit`.
      on_train_batch_begin: function of the batch number and the results, called before each batch.
      on_train_batch_end: function of the same arguments, called after each batch.
      **kwargs: functions for other hooks, by name.

    >>> seen = []
    >>> tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch)).on_epoch_end(3)
    >>> seen
    [3]
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        hooks = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            **kwargs,
        }
        for name, function in hooks.items():
            if function is not None:
                setattr(self, name, _hook(function) if name in _NUMBERED else function)


_NUMBERED = ("on_epoch_begin", "on_epoch_end")


def _hook(function: Callable[..., Any]) -> Callable[..., Any]:
    def hook(number: int, logs: Any = None) -> Any:
        return function(number, logs)

    return hook


class TerminateOnNaN(Callback):
    """Ends training if the loss is not a finite number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Checks the loss."""
        results: dict[str, Any] = logs or {}
        loss = results.get("loss")
        if loss is not None and not math.isfinite(loss):
            sys.stdout.write(f"Batch {batch}: Invalid loss, terminating training\n")
            self.model.stop_training = True
