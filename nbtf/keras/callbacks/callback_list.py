"""Calls all callbacks of a `fit`, an `evaluate` or a `predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbtf.keras.callbacks.callback import Callback
from nbtf.keras.callbacks.history import History
from nbtf.keras.callbacks.progbar_logger import ProgbarLogger


class CallbackList(Callback):
    """Calls several callbacks in order.

    Hooks of training and test batches that no callback defines are not called.

    Args:
      callbacks: a callback or a list of callbacks.
      add_history: whether to add a `History` if the list contains none.
      add_progbar: whether to add a `ProgbarLogger` if the list contains none.
      model: model that is trained.
      **params: parameters of the run, such as `epochs`.
    """

    def __init__(
        self,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ) -> None:
        """Adds the requested callbacks and gives all callbacks the model.

        Raises:
          ValueError: if an item in the list is not a callback.
        """
        chosen: Any = callbacks or ()
        self.callbacks: list[Any] = list(chosen) if isinstance(chosen, Iterable) else [chosen]  # pyright: ignore
        history = next((callback for callback in self.callbacks if isinstance(callback, History)), None)
        self._bar = next((callback for callback in self.callbacks if isinstance(callback, ProgbarLogger)), None)
        if add_progbar and self._bar is None:
            self._bar = ProgbarLogger()
            self.callbacks.append(self._bar)
        self.history: History = history or History()
        if add_history and history is None:
            self.callbacks.append(self.history)
        for callback in self.callbacks:
            if not hasattr(callback, "set_model"):
                raise ValueError(
                    "All items in the `callbacks` argument must be of type `keras.callbacks.Callback`. "
                    f"Received instead: {callback} (of type {type(callback)})"
                )
        self.set_params(params)
        if model is not None:
            self.set_model(model)
        self._sort()

    @classmethod
    def of(
        cls, callbacks: Any, model: Any, verbose: Any, epochs: int, steps: int | None, history: bool = True
    ) -> CallbackList:
        """Returns a list of callbacks for a run; a `CallbackList` is returned unchanged."""
        if isinstance(callbacks, CallbackList):
            return callbacks
        verbose = 1 if verbose == "auto" else int(verbose)
        params: dict[str, Any] = {"verbose": verbose, "epochs": epochs, "steps": steps}
        return cls(callbacks, add_history=history, add_progbar=verbose != 0, model=model, **params)

    def _sort(self) -> None:
        """Collects the callbacks that define batch hooks."""
        self._train_begin = self._callbacks_with("on_train_batch_begin", "on_batch_begin")
        self._train_end = self._callbacks_with("on_train_batch_end", "on_batch_end")
        self._test_begin = self._callbacks_with("on_test_batch_begin")
        self._test_end = self._callbacks_with("on_test_batch_end")
        self.wants_train_begin: bool = bool(self._train_begin)
        self.wants_train_end: bool = bool(self._train_end) or self._bar is not None
        self.wants_test: bool = bool(self._test_begin or self._test_end) or self._bar is not None

    def _callbacks_with(self, *names: str) -> list[Any]:
        def has_written(callback: Any, name: str) -> bool:
            hook = getattr(callback, name)
            return getattr(hook, "__func__", hook) is not getattr(Callback, name)

        return [callback for callback in self.callbacks if any(has_written(callback, name) for name in names)]

    def append(self, callback: Any) -> None:
        """Adds a callback."""
        self.callbacks.append(callback)
        self._sort()

    def set_params(self, params: dict[str, Any]) -> None:
        """Gives all callbacks the parameters of the run."""
        super().set_params(params)
        for callback in self.callbacks:
            callback.set_params(params)
        self.history.set_params(params)

    def set_model(self, model: Any) -> None:
        """Gives all callbacks the model."""
        super().set_model(model)
        for callback in self.callbacks:
            callback.set_model(model)
        self.history.set_model(model)

    # Batches

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks before a training batch."""
        for callback in self._train_begin:
            callback.on_train_batch_begin(batch, {})

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks after a training batch; `logs` computes the results so far if a callback needs them."""
        self._batch_end(self._train_end, "on_train_batch_end", batch, logs)
        if self._bar is not None:
            self._bar.advance(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks before a test batch."""
        for callback in self._test_begin:
            callback.on_test_batch_begin(batch, {})

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks after a test batch."""
        self._batch_end(self._test_end, "on_test_batch_end", batch, logs)
        if self._bar is not None and not self._bar._training:
            self._bar.advance(batch, logs)

    def _batch_end(self, callbacks: list[Any], name: str, batch: int, logs: Any) -> None:
        if callbacks:
            results = logs() if callable(logs) else logs
            for callback in callbacks:
                getattr(callback, name)(batch, results)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks before a prediction batch."""
        for callback in self.callbacks:
            callback.on_predict_batch_begin(batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Calls the callbacks after a prediction batch."""
        for callback in self.callbacks:
            callback.on_predict_batch_end(batch, logs)


def _passing_on(hook: str) -> Callable[..., None]:
    """Returns a method that calls a hook of all callbacks."""

    def call_for_epoch(self: CallbackList, epoch: int, logs: Any = None) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(epoch, {} if logs is None else logs)

    def call(self: CallbackList, logs: Any = None) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)({} if logs is None else logs)

    method: Any = call_for_epoch if "epoch" in hook else call
    method.__name__, method.__doc__ = hook, f"Calls `{hook}` of all callbacks."
    return method


for _period in ("epoch", "train", "test", "predict"):
    for _hook in (f"on_{_period}_begin", f"on_{_period}_end"):
        setattr(CallbackList, _hook, _passing_on(_hook))
