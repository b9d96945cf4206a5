"""The loops over batches and epochs, and the calls of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nbtf.keras.callbacks import CallbackList, History
from nbtf.keras.training.feeding import Batch, Feed, warn_of_end
from nbtf.keras.training.steps import Steps, join_outputs

if TYPE_CHECKING:
    from nbtf.keras.training.learner import Learner


class Epochs:
    """The epochs of a `fit`."""

    def __init__(
        self,
        model: Learner,
        steps: Steps,
        feed: Feed,
        callbacks: CallbackList,
        steps_per_epoch: int | None,
        steps_per_call: int,
    ) -> None:
        self._model, self._steps, self._feed, self._callbacks = model, steps, feed, callbacks
        self._wanted, self._per_call = steps_per_epoch, max(1, steps_per_call)
        self._batches: Iterator[Batch] | None = None
        self._given: Any = None
        self._test: Feed | None = None
        self._test_steps: int | None = None
        self._test_freq: Any = 1

    def validate_with(self, feed: Feed | None, steps: int | None, freq: Any) -> None:
        """Sets the validation data, and the epochs after which to validate."""
        self._test, self._test_steps, self._test_freq = feed, steps, freq

    def run(self, first: int, end: int) -> History:
        """Runs the epochs and returns their results."""
        model, callbacks = self._model, self._callbacks
        callbacks.on_train_begin()
        logs: dict[str, Any] = {}
        for epoch in range(first, end):
            model.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            self._pass()
            logs = model._logs(self._given)
            if self._test is not None and self._is_time(epoch):
                validation = evaluate_batches(model, self._test, callbacks, self._test_steps)
                logs.update({f"val_{name}": value for name, value in validation.items()})
            callbacks.on_epoch_end(epoch, logs)
            if model.stop_training:
                break
        callbacks.on_train_end(logs)
        return callbacks.history

    def _is_time(self, epoch: int) -> bool:
        freq = self._test_freq
        return (epoch + 1) % freq == 0 if isinstance(freq, int) else epoch + 1 in freq

    def _pass(self) -> None:
        """Runs one epoch: all batches of the data, or the requested number."""
        train, callbacks, model, per_call = self._steps.train, self._callbacks, self._model, self._per_call
        begins, ends = callbacks.wants_train_begin, callbacks.wants_train_end

        def logs() -> dict[str, Any]:
            return model._logs(self._given)

        steps_done = steps_told = 0
        for batch in self._next_batches():
            if begins and steps_done == steps_told:
                callbacks.on_train_batch_begin(steps_done)
            self._given = train(batch)
            del batch
            steps_done += 1
            if steps_done - steps_told == per_call:
                steps_told = steps_done
                if ends:
                    callbacks.on_train_batch_end(steps_done - 1, logs)
                if model.stop_training:
                    break
        else:
            if steps_done != steps_told and ends:
                callbacks.on_train_batch_end(steps_done - 1, logs)
            self._check_end(steps_done)

    def _next_batches(self) -> Iterator[Batch]:
        """Yields the batches of an epoch."""
        step_limit, feed = self._wanted, self._feed
        if step_limit is None:
            yield from _first(feed, None)
            return
        for _ in range(step_limit):
            batch = next(self._batches, None) if self._batches is not None else None
            if batch is None and (self._batches is None or feed.steps is not None):
                self._batches = feed.batches()  # the data may have fewer or more batches than an epoch needs
                batch = next(self._batches, None)
            if batch is None:
                return
            yield batch

    def _check_end(self, steps_done: int) -> None:
        step_limit = self._wanted
        if (step_limit is not None and steps_done < step_limit) or not steps_done:
            warn_of_end()
        if step_limit is not None and steps_done < step_limit:
            self._batches = None


def evaluate_batches(model: Learner, feed: Feed, callbacks: CallbackList, steps: int | None) -> dict[str, Any]:
    """Updates the metrics with all batches, or with some, and returns their results."""
    test = Steps(model).test
    outcome: Any = None
    callbacks.on_test_begin()
    model.reset_metrics()

    def logs() -> dict[str, Any]:
        return model._logs(outcome)

    for number, batch in enumerate(_first(feed, steps)):
        if callbacks.wants_test:
            callbacks.on_test_batch_begin(number)
        outcome = test(batch)
        if callbacks.wants_test:
            callbacks.on_test_batch_end(number, logs)
        if model.stop_evaluating:
            break
    results = logs()
    callbacks.on_test_end(results)
    return results


def predict_batches(model: Learner, feed: Feed, callbacks: CallbackList, steps: int | None) -> Any:
    """Returns the outputs for all batches, or for some."""
    predict: Callable[[Any], Any] = Steps(model).predict
    batches_of_outputs: list[Any] = []
    callbacks.on_predict_begin()
    for number, batch in enumerate(_first(feed, steps)):
        callbacks.on_predict_batch_begin(number)
        outputs = predict(batch)
        batches_of_outputs.append(outputs)
        callbacks.on_predict_batch_end(number, {"outputs": outputs})
    callbacks.on_predict_end()
    if not batches_of_outputs:
        raise ValueError("Nothing to predict. The data contains no batches.")
    return join_outputs(batches_of_outputs)


def _first(feed: Feed, steps: int | None) -> Iterator[Batch]:
    """Yields the first batches; all of them if no number is given."""
    if steps is None:
        yield from feed.batches()
        feed.pass_ended()
        return
    batches = feed.batches()
    for _ in range(steps):
        batch = next(batches, None)
        if batch is None:
            warn_of_end()
            return
        yield batch
