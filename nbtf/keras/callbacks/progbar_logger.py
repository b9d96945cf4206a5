"""The output of `fit`, `evaluate` and `predict` while they run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbtf.keras.callbacks.callback import Callback


class ProgbarLogger(Callback):
    """Prints the progress of an epoch and its results. `tf.keras.utils.Progbar` describes where it prints a bar."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._verbose = 1
        self._epochs = 1
        self._target: int | None = None
        self._done = 0
        self._training = False

    def set_params(self, params: Any) -> None:
        """Stores the verbosity and the number of steps."""
        self._verbose, self._epochs, self._target = params["verbose"], params["epochs"], params["steps"]
        self.params = params

    def _begin(self) -> None:
        from nbtf.keras.training.progress import Progbar  # imported late: the trainer imports the callbacks

        self._done = 0
        self._bar = Progbar(self._target, verbose=self._verbose)

    def on_train_begin(self, logs: Any = None) -> None:
        """Marks training as running, so that validations within it print nothing."""
        self._training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Marks training as ended."""
        self._training = False

    def on_test_begin(self, logs: Any = None) -> None:
        """Starts a line."""
        if not self._training:
            self._begin()

    def on_predict_begin(self, logs: Any = None) -> None:
        """Starts a line."""
        self._begin()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts a line, below the epoch number if there are several epochs."""
        self._begin()
        if self._verbose and self._epochs > 1:
            sys.stdout.write(f"Epoch {epoch + 1}/{self._epochs}\n")

    # Batches: `logs` are computed only if they are printed.

    def advance(self, batch: int, logs: Callable[[], dict[str, Any]]) -> None:
        """Updates the bar after a training or test batch."""
        self._done = batch + 1
        self._bar.note_step()
        if self._bar.due and (self._target is None or self._done < self._target):
            self._show(logs(), False)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Updates the bar after a prediction batch."""
        self.advance(batch, dict)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Ends the line."""
        self._end(logs)

    def on_test_end(self, logs: Any = None) -> None:
        """Ends the line."""
        if not self._training:
            self._end(logs)

    def on_predict_end(self, logs: Any = None) -> None:
        """Ends the line."""
        self._end({})

    def _end(self, logs: Any) -> None:
        self._target = self._done if self._target is None else self._target
        self._bar.target = self._target
        self._show(logs, True)

    def _show(self, logs: Any, last: bool) -> None:
        # The logs are already means over the epoch.
        self._bar.show(self._done, logs or {}, last)
