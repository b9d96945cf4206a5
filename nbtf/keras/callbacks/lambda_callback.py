"""A callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf.keras.callbacks.callback import Callback


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
