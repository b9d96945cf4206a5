"""Which of two results is the better one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from nbtf.keras.callbacks.callback import Callback

_UPWARDS = ("accuracy", "acc", "auc", "precision", "recall", "f1", "iou", "r2")
"""Parts of the names of metrics that are the better the larger they are."""


class Monitoring(Callback):
    """Looks at one of the results after each pass."""

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        """Takes the name of a result, and the direction in which it is to go: `"min"`, `"max"` or `"auto"`."""
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)

    @property
    def upwards(self) -> bool:
        """Whether larger is better.

        Raises:
          ValueError: the model has no metric of that name, and nobody says in which direction it is to go.
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
        """Tells whether a result is better than another, by more than `min_delta`."""
        upwards = self.upwards
        if best is None:
            return True
        return value - self.min_delta > best if upwards else value + self.min_delta < best

    def value_in(self, logs: Mapping[str, Any] | None, action: str) -> Any:
        """Returns the result; None, with a warning, if there is none of that name."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{action} conditioned on metric `{self.monitor}` which is not available. Available metrics are: "
                f"{','.join(logs or {})}",
                stacklevel=3,
            )
        return value
