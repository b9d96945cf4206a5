"""What a callback may hear of: the hooks of training, testing and predicting."""

from __future__ import annotations

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
