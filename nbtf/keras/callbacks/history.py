"""What `fit` returns: the results of all passes."""

from __future__ import annotations

from typing import Any
from weakref import ref

from nbtf.keras.callbacks.callback import Callback


class History(Callback):
    """Keeps the results of each pass: `history` has a list for each name, `epoch` the numbers of the passes."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    # The model has it as `history`: each keeping the other alive would keep weights on their devices.

    @property
    def model(self) -> Any:
        """The model that was trained; None once nobody else has it."""
        return None if self._model is None else self._model()

    def set_model(self, model: Any) -> None:
        """Is given the model."""
        self._model = ref(model)

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins to count anew."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds the results of a pass."""
        self.epoch.append(epoch)
        results: dict[str, Any] = logs or {}
        for name, value in results.items():
            self.history.setdefault(name, []).append(value)
        self.model.__dict__["history"] = self
