"""What a callback may hear of: the hooks of training, testing and predicting; as methods, or as functions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any


class Callback:
    """Subclass it, and write the hooks that are wanted. All others do nothing, and cost nothing.

    `model` is the model, `params` tells of `verbose`, `epochs` and `steps`. Setting `model.stop_training` ends `fit`
    after the batch.

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
        """The model that it listens to."""
        return self._model

    def set_params(self, params: Any) -> None:
        """Is given what `fit` was told."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Is given the model."""
        self._model = model

    # Batches; `on_batch_begin` and `on_batch_end` are older names for those of training.

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Is called before a batch of training."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Is called after a batch of training."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Is called before a batch of training."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Is called after a batch of training, with the means of the pass so far."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Is called before a batch of testing or validation."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Is called after a batch of testing or validation."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Is called before a batch of predicting."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Is called after a batch of predicting; `logs` has its `outputs`."""

    # Passes and all

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Is called before a pass."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Is called after a pass, with its results and, as `val_...`, those of the validation."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Is called first in `fit`."""

    def on_train_end(self, logs: Any = None) -> None:
        """Is called last in `fit`."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Is called first in `evaluate`, and in a validation."""

    def on_test_end(self, logs: Any = None) -> None:
        """Is called last in `evaluate`, and in a validation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Is called first in `predict`."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Is called last in `predict`."""


class LambdaCallback(Callback):
    """Calls functions.

    Args:
      on_epoch_begin: is called with the number of the pass, and the results.
      on_epoch_end: the same, after it.
      on_train_begin: is called with the results.
      on_train_end: the same, after all.
      on_train_batch_begin: is called with the number of the batch, and the results.
      on_train_batch_end: the same, after it.
      **kwargs: functions for other hooks, by their names.

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
    """Ends training when the loss is no longer a finite number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Looks at the loss."""
        results: dict[str, Any] = logs or {}
        loss = results.get("loss")
        if loss is not None and not math.isfinite(loss):
            sys.stdout.write(f"Batch {batch}: Invalid loss, terminating training\n")
            self.model.stop_training = True
