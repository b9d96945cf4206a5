"""What a model learns with: `compile`, `fit`, `evaluate`, `predict`, and the steps that a subclass may write anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from nbtf import distribute
from nbtf._ops.creation import zeros
from nbtf._ops.elementwise import add, cast, multiply
from nbtf.keras import metrics as metric_kinds
from nbtf.keras import optimizers
from nbtf.keras.callbacks import CallbackList, History
from nbtf.keras.dtypes import dtype_policy
from nbtf.keras.optimizers import LossScaleOptimizer
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.training.compiled_losses import CompiledLosses
from nbtf.keras.training.compiled_metrics import CompiledMetrics
from nbtf.keras.training.feeding import class_weights, feed_of, mapped, own_array, split_for_validation, unpacked
from nbtf.keras.training.loops import Epochs, evaluated, predicted
from nbtf.keras.training.replica_parts import SHARE, copy_here, rows_of
from nbtf.keras.training.steps import Steps

NOT_COMPILED = "You must call `compile()` before using the model."


class Compiled:
    """What `compile` was given, and what it made of it."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.optimizer: Any = None
        self.loss: Any = None
        self.losses: CompiledLosses | None = None
        self.metrics: CompiledMetrics | None = None
        self.mean_loss: Any = None
        self.config: dict[str, Any] | None = None
        self.strategy: Any = None
        self.steps_per_execution = 1
        self.run_eagerly = self.jit_compile = self.done = False


class Trainer:
    """The part of a model that learns. A model is called with `training=`, and lists its weights and losses."""

    stop_training = False
    stop_evaluating = False
    _compiled: Compiled | None = None
    _train_steps: Steps | None = None

    # What a model says of itself; written here for the type checker alone.
    trainable_variables: Any
    losses: Any
    output_names: Any = None
    __call__: Callable[..., Any]

    def __init__(self) -> None:
        """Notes the strategy in whose scope the model is made."""
        if distribute.has_strategy():
            self.__dict__["_distribute_strategy"] = distribute.get_strategy()

    # ---- compile

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Says how the model is to learn.

        Args:
          optimizer: an optimizer, or its name.
          loss: a loss, a function of labels and predictions, or a name; for several outputs a list, or a dictionary by
            the names of the outputs.
          loss_weights: how much the losses of several outputs count, in the same form.
          metrics: what to watch, in a list; for several outputs a list or a dictionary of lists. `"accuracy"` means the
            accuracy that suits the shapes of labels and predictions.
          weighted_metrics: metrics that take sample weights into account.
          run_eagerly: accepted; nothing is compiled in any case.
          steps_per_execution: after how many batches callbacks are called.
          jit_compile: accepted and ignored.
          auto_scale_loss: whether losses are scaled for a model with the policy `mixed_float16`.

        Raises:
          ValueError: there is no optimizer of that name, or metrics in no list.
        """
        if run_eagerly and jit_compile is True:
            warnings.warn(
                "If `run_eagerly` is True, then `jit_compile` cannot also be True. Disabling `jit_compile`.",
                stacklevel=2,
            )
        made = Compiled()
        made.config = {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
            "run_eagerly": run_eagerly,
            "steps_per_execution": steps_per_execution,
            "jit_compile": jit_compile is True and not run_eagerly,
        }
        before = self._compiled
        made.strategy = distribute.get_strategy() if distribute.has_strategy() else before and before.strategy
        self.__dict__["_compiled"] = made  # not `self._compiled`: what belongs to a layer is noted there
        strategy = self.distribute_strategy
        with strategy.scope() if strategy.num_replicas_in_sync > 1 else nullcontext():
            made.optimizer = self._as_optimizer(optimizer, auto_scale_loss)
            made.mean_loss = metric_kinds.Mean(name="loss")
        made.loss, made.steps_per_execution = loss, steps_per_execution
        made.run_eagerly, made.jit_compile = run_eagerly, jit_compile is True and not run_eagerly
        made.losses = None if loss is None else CompiledLosses(loss, loss_weights, self._output_names)
        if metrics or weighted_metrics:
            made.metrics = CompiledMetrics(metrics, weighted_metrics, self._output_names)
        made.done = True
        self.__dict__["_train_steps"] = None
        self.__dict__["stop_training"] = False

    def _output_names(self) -> list[str]:
        return list(getattr(self, "output_names", None) or ())

    def _as_optimizer(self, optimizer: Any, auto_scale_loss: bool) -> Any:
        found = optimizers.get(optimizer)
        policy = getattr(self, "dtype_policy", None) or dtype_policy()
        if auto_scale_loss and policy.name == "mixed_float16" and found and not isinstance(found, LossScaleOptimizer):
            return LossScaleOptimizer(found)
        return found

    def get_compile_config(self) -> dict[str, Any] | None:
        """Returns what `compile` was given, as plain data; None before."""
        made = self._compiled
        if made is None or made.config is None:
            return None
        return {name: serialized(value) for name, value in {**made.config, "optimizer": made.optimizer}.items()}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Compiles as a model was whose `get_compile_config` is given."""
        given = {name: deserialized_all(value) for name, value in config.items()}
        given["optimizer"] = optimizers.deserialize(config["optimizer"])
        self.compile(**given)
        if self.optimizer is not None and getattr(self, "built", False):
            self.optimizer.build(self.trainable_variables)

    # ---- what there is

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self._compiled is not None and self._compiled.done

    @property
    def optimizer(self) -> Any:
        """The optimizer; None before `compile`."""
        return None if self._compiled is None else self._compiled.optimizer

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        if self._compiled is None:
            self.__dict__["_compiled"] = Compiled()
        assert self._compiled is not None
        self._compiled.optimizer = value

    @property
    def loss(self) -> Any:
        """The loss as it was given to `compile`."""
        return None if self._compiled is None else self._compiled.loss

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope the model or its weights were made, else the current one."""
        made = self._compiled
        if made is not None and made.strategy is not None:
            return made.strategy
        noted = self.__dict__.get("_distribute_strategy")
        if noted is not None:
            return noted
        for weight in getattr(self, "weights", ()):
            found = getattr(getattr(weight, "handle", weight), "distribute_strategy", None)
            if found is not None:
                return found
        return distribute.get_strategy()

    @property
    def run_eagerly(self) -> bool:
        """What `compile` was told; nothing is compiled in any case."""
        return self._compiled is not None and self._compiled.run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        if self._compiled is not None:
            self._compiled.run_eagerly = value

    @property
    def metrics(self) -> list[Any]:
        """The mean loss, the metrics of layers, those of `compile`, and the mean losses of single outputs."""
        made = self._compiled
        own = list(getattr(super(), "metrics", ()))
        if made is None or made.mean_loss is None:
            return own
        of_losses = made.losses.metrics if made.losses is not None else []
        return [made.mean_loss, *own, *([made.metrics] if made.metrics is not None else []), *of_losses]

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Has all metrics forget what they gathered."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns what the metrics say, by name."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            if isinstance(result, dict):
                results.update(result)  # pyright: ignore[reportUnknownArgumentType]
            else:
                results[metric.name] = result
        return results

    def _all_variables(self) -> list[Any]:
        """Returns all that a step may change."""
        found = [*getattr(self, "variables", ()), *(one for metric in self.metrics for one in metric.variables)]
        return found if self.optimizer is None else [*found, *self.optimizer.variables]

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Trainer, name)

    def _need_compiled(self) -> Compiled:
        made = self._compiled
        if made is None or not made.done:
            raise ValueError(NOT_COMPILED)
        return made

    # ---- steps

    def train_step(self, data: Any) -> dict[str, Any]:
        """Learns from a batch; a subclass may write it anew.

        Args:
          data: a tuple of inputs, targets and weights, as the data has them.

        Returns:
          What the metrics say, by name.
        """
        x, y, sample_weight = unpacked(data)
        weights, grads = self._gradients(x, y, sample_weight)
        self._change(weights, grads)
        return self.get_metrics_result()

    def _gradients(self, x: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[Any]]:
        """Returns the trainable weights and their gradients for a batch; metrics have looked at it."""
        from nbtf import GradientTape

        made = self._need_compiled()
        with GradientTape() as tape:
            y_pred = self._called(x, True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            target = loss if made.optimizer is None else made.optimizer.scale_loss(loss)
        weights: list[Any] = list(self.trainable_variables)
        if not weights:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        grads: list[Any] = tape.gradient(target, [copy_here(one) for one in weights]) if weights else []
        self._gather(x, y, y_pred, sample_weight, loss)
        return weights, grads

    def _change(self, weights: list[Any], grads: list[Any]) -> None:
        if weights:
            self._need_compiled().optimizer.apply_gradients(zip(grads, weights, strict=True))

    def _gather(self, x: Any, y: Any, y_pred: Any, sample_weight: Any, loss: Any) -> None:
        """Has the metrics look at a batch and its loss."""
        rows, share = rows_of(x), SHARE.get()
        mean = self._need_compiled().mean_loss
        mean._gather(multiply(loss, float(rows if share is None else share.of)), rows)
        if self._overrides("compute_metrics"):
            self.compute_metrics(x, y, y_pred, sample_weight)
        else:
            self._update_metrics(y, y_pred, sample_weight)

    def _update_metrics(self, y: Any, y_pred: Any, sample_weight: Any) -> None:
        made = self._compiled
        if made is not None and made.metrics is not None:
            made.metrics.update_state(y, y_pred, sample_weight)

    def _called(self, x: Any, training: bool) -> Any:
        return self(x, training=training)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Takes a batch to the metrics; a subclass may write it anew.

        Args:
          data: a tuple of inputs, targets and weights, as the data has them.

        Returns:
          What the metrics say, by name.
        """
        self._tested(data)
        return self.get_metrics_result()

    def _tested(self, data: Any) -> None:
        x, y, sample_weight = unpacked(data)
        y_pred = self._called(x, False)
        loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._gather(x, y, y_pred, sample_weight, loss)

    def predict_step(self, data: Any) -> Any:
        """Returns the outputs for a batch; a subclass may write it anew."""
        return self._called(unpacked(data)[0], False)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """Returns the loss of a batch, with those that layers add; a subclass may write it anew.

        In a replica it is what the replica's rows add to the loss of the whole batch.

        Args:
          x: inputs.
          y: targets.
          y_pred: outputs.
          sample_weight: weights of the rows.
          training: whether this is for training.

        Raises:
          ValueError: there is nothing to compute.
        """
        made = self._compiled
        total = None if made is None or made.losses is None else made.losses(y, y_pred, sample_weight)
        share = SHARE.get()
        for loss in self.losses:
            extra = cast(loss, "float32") if loss.dtype.name == "float16" else loss
            extra = extra if share is None else multiply(extra, share.rows / share.of)
            total = extra if total is None else add(total, extra)
        if total is None:
            if made is None or made.losses is None:
                raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
            total = zeros(())
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Has the metrics look at a batch, and returns what they say; a subclass may write it anew."""
        self._update_metrics(y, y_pred, sample_weight)
        return self.get_metrics_result()

    # ---- the functions that take an iterator of batches, as Keras makes them

    def make_train_function(self, force: bool = False) -> Callable[[Iterator[Any]], Any]:
        """Returns a function that learns from the next batches of an iterator."""
        steps = Steps(self)
        return lambda iterator: steps.train(next(iterator))

    def make_test_function(self, force: bool = False) -> Callable[[Iterator[Any]], Any]:
        """Returns a function that takes the next batch of an iterator to the metrics."""
        steps = Steps(self)
        return lambda iterator: steps.test(next(iterator))

    def make_predict_function(self, force: bool = False) -> Callable[[Iterator[Any]], Any]:
        """Returns a function that gives the outputs for the next batch of an iterator."""
        steps = Steps(self)
        return lambda iterator: steps.predict(next(iterator))

    # ---- loops

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        **ignored: Any,
    ) -> History:
        """Learns from data, pass after pass.

        Under a strategy each batch is split: of 10 rows 4 replicas get 3, 3, 3 and 1. Gradients and metrics are those
        of the whole batch, so several devices give what one gives. If a step fails or is interrupted, on any device,
        all variables keep the values of the last finished step; a note of the error says which replica it was.

        Args:
          x: inputs: arrays, tensors, data frames, lists or dictionaries of them; or a data set, a generator or a
            `PyDataset`, which give targets and weights as well.
          y: targets.
          batch_size: rows in a batch, of all replicas together; 32 when None.
          epochs: the number of the last pass, counted from 1.
          verbose: 0 for silence, 1 or `"auto"` for a bar, 2 for one line for each pass.
          callbacks: objects that are told what happens.
          validation_split: the fraction of the rows, taken from the end, that is kept for validation.
          validation_data: `(x, y)` or `(x, y, sample_weight)`, or a data set.
          shuffle: whether rows of arrays come in another order in each pass.
          class_weight: how much each class counts, by its number.
          sample_weight: how much each row counts.
          initial_epoch: how many passes were made before.
          steps_per_epoch: batches in a pass; all there are when None.
          validation_steps: batches in a validation; all there are when None.
          validation_batch_size: rows in a batch for validation.
          validation_freq: after how many passes validation comes; or a list of passes.
          **ignored: accepted for older programs (`workers`, `use_multiprocessing`, `max_queue_size`).

        Returns:
          A `History`: its `history` has a list for each name in the logs.

        Raises:
          ValueError: `compile` was not called, or the data does not fit.
        """
        made = self._need_compiled()
        self._check_arguments("fit", ignored)
        val: Any = validation_data
        if validation_split and val is None:
            (x, y, sample_weight), val = split_for_validation(x, y, sample_weight, validation_split)
        feed = feed_of(x, y, sample_weight, batch_size, shuffle, class_weight)
        feed.check_end(steps_per_epoch)
        test: Any = None
        if val is not None:
            parts = unpacked(val) if isinstance(val, tuple | list) else (val, None, None)
            test = feed_of(*parts, validation_batch_size or batch_size)
            test.check_end(validation_steps)
        verbose = 1 if verbose == "auto" else int(verbose)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=epochs, steps=steps_per_epoch or feed.steps)
        self.stop_training = False
        self._train_steps = Steps(self)
        run = Epochs(self, self._train_steps, feed, listeners, steps_per_epoch, made.steps_per_execution)
        run.validate_with(test, validation_steps, validation_freq)
        return run.run(initial_epoch, epochs)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **ignored: Any,
    ) -> Any:
        """Returns loss and metrics for data.

        Args:
          x: as for `fit`.
          y: targets.
          batch_size: rows in a batch.
          verbose: as for `fit`.
          sample_weight: how much each row counts.
          steps: how many batches; all there are when None.
          callbacks: objects that are told what happens.
          return_dict: whether results come by name.
          **ignored: accepted for older programs.

        Returns:
          The loss; with metrics a list, the loss first.

        Raises:
          ValueError: `compile` was not called, or the data does not fit.
        """
        self._need_compiled()
        self._check_arguments("evaluate", ignored)
        feed = feed_of(x, y, sample_weight, batch_size)
        feed.check_end(steps)
        verbose = 1 if verbose == "auto" else int(verbose)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=1, steps=steps or feed.steps, history=False)
        logs = evaluated(self, feed, listeners, steps)
        return logs if return_dict else self._in_order(logs)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        **ignored: Any,
    ) -> Any:
        """Returns the outputs for data, as arrays.

        Args:
          x: as for `fit`; targets that a data set has are left out.
          batch_size: rows in a batch.
          verbose: as for `fit`.
          steps: how many batches; all there are when None.
          callbacks: objects that are told what happens.
          **ignored: accepted for older programs.
        """
        self._check_arguments("predict", ignored)
        feed = feed_of(x, None, None, batch_size)
        feed.check_end(steps)
        verbose = 1 if verbose == "auto" else int(verbose)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=1, steps=steps or feed.steps, history=False)
        return predicted(self, feed, listeners, steps)

    def _check_arguments(self, name: str, given: Mapping[str, Any]) -> None:
        wrong = [key for key in given if key not in ("workers", "use_multiprocessing", "max_queue_size")]
        if wrong:
            raise TypeError(f"Trainer.{name}() got an unexpected keyword argument '{wrong[0]}'")

    # ---- one batch

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Mapping[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Learns from one batch; returns loss and metrics.

        Args:
          x: inputs.
          y: targets.
          sample_weight: how much each row counts.
          class_weight: how much each class counts.
          return_dict: whether results come by name.
        """
        self._need_compiled()
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = class_weights(y, class_weight)
        self._train_steps = self._train_steps or Steps(self)
        logs = self._train_steps.train(mapped(own_array, (x, y, sample_weight)))
        made = self._logs(logs)
        return made if return_dict else self._in_order(made)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Returns loss and metrics for one batch.

        Args:
          x: inputs.
          y: targets.
          sample_weight: how much each row counts.
          return_dict: whether results come by name.
        """
        self._need_compiled()
        made = self._logs(Steps(self).test(mapped(own_array, (x, y, sample_weight))))
        return made if return_dict else self._in_order(made)

    def predict_on_batch(self, x: Any) -> Any:
        """Returns the outputs for one batch, as arrays."""
        return Steps(self).predict((mapped(own_array, x), None, None))

    # ---- logs

    def _logs(self, given: Any) -> dict[str, float]:
        """Returns what a step has to tell, as numbers by name in alphabetical order.

        `given` is what a step returned that a subclass has written: where its names are those of the metrics, these
        are asked, since under a strategy each replica knows its own part alone.
        """
        results = self.get_metrics_result()
        if isinstance(given, Mapping) and set(given) != set(results):  # pyright: ignore[reportUnknownArgumentType]
            results = given  # pyright: ignore[reportUnknownVariableType]
        return {name: _number(results[name]) for name in sorted(results)}  # pyright: ignore

    def _in_order(self, logs: Mapping[str, float]) -> Any:
        """Returns logs as a list in the order of `metrics`; a single number as it is."""
        names: list[str] = []
        for metric in self.metrics:
            inner = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [one.name for one in inner if one.name in logs and one.name not in names]
        names += sorted(name for name in logs if name not in names)
        values = [logs[name] for name in names]
        return values[0] if len(values) == 1 else values


def _number(value: Any) -> Any:
    if isinstance(value, distribute.DistributedValues):
        parts: list[float] = [float(one) for one in value.values if one is not None]
        return sum(parts) / len(parts)
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def deserialized_all(config: Any) -> Any:
    """Returns plain data with the objects that stand in it."""
    if isinstance(config, dict) and "class_name" not in config:
        return {key: deserialized_all(one) for key, one in config.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(config, list):
        return [deserialized_all(one) for one in config]  # pyright: ignore[reportUnknownVariableType]
    return deserialized(config)
