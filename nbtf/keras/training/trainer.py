"""The training methods of models: `compile`, `fit`, `evaluate`, `predict`, and their variants for single batches."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from nbtf.keras import metrics as metric_classes
from nbtf.keras import optimizers
from nbtf.keras.callbacks import CallbackList, History
from nbtf.keras.dtypes import dtype_policy
from nbtf.keras.model_reference import ModelReference
from nbtf.keras.optimizers import LossScaleOptimizer
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.training.compiled_losses import CompiledLosses
from nbtf.keras.training.compiled_metrics import CompiledMetrics
from nbtf.keras.training.feeding import (
    class_weights,
    feed_of,
    mapped,
    own_array,
    pack_batch,
    split_for_validation,
    unpack_batch,
)
from nbtf.keras.training.learner import Compiled, Learner
from nbtf.keras.training.loops import Epochs, evaluate_batches, predict_batches
from nbtf.keras.training.steps import Steps
from nbtf.keras.type_guards import is_dict, is_list


class Trainer(Learner):
    """The training methods that `Model` inherits."""

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
        """Configures the model for training.

        Args:
          optimizer: an optimizer or its name.
          loss: a loss, a function of labels and predictions, or a name; for several outputs a list, or a dictionary by
            the names of the outputs.
          loss_weights: weights of the losses of several outputs, in the same form.
          metrics: a list of metrics; for several outputs, a list or a dictionary of lists. `"accuracy"` chooses the
            accuracy that fits the shapes of labels and predictions.
          weighted_metrics: metrics that use sample weights.
          run_eagerly: whether each batch runs the Python code of the steps; false by default. Otherwise the steps are
            traced for each shape of a batch, as by `tf.function`. Python code in `call` and `train_step` then runs only
            during tracing, and changes such as `trainable` take effect at the next `compile`.
          steps_per_execution: number of batches between calls of callbacks; 1 by default.
          jit_compile: ignored.
          auto_scale_loss: whether to scale losses of a model with the policy `mixed_float16`; true by default.

        Raises:
          ValueError: if the optimizer does not exist, or if metrics are not given as a list.
        """
        if run_eagerly and jit_compile is True:
            warnings.warn(
                "If `run_eagerly` is True, then `jit_compile` cannot also be True. Disabling `jit_compile`.",
                stacklevel=2,
            )
        compiled = Compiled()
        compiled.config = {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
            "run_eagerly": run_eagerly,
            "steps_per_execution": steps_per_execution,
            "jit_compile": jit_compile is True and not run_eagerly,
        }
        self.__dict__["_compiled"] = compiled  # not `self._compiled`, which would register its contents in the layer
        compiled.optimizer = self._as_optimizer(optimizer, auto_scale_loss)
        compiled.mean_loss = metric_classes.Mean(name="loss")
        compiled.loss, compiled.steps_per_execution = loss, steps_per_execution
        compiled.run_eagerly, compiled.jit_compile = run_eagerly, jit_compile is True and not run_eagerly
        names = partial(_names_of, ModelReference(self))
        compiled.losses = None if loss is None else CompiledLosses(loss, loss_weights, names)
        if metrics or weighted_metrics:
            compiled.metrics = CompiledMetrics(metrics, weighted_metrics, names)
        compiled.done = True
        self.__dict__["stop_training"] = False

    def _as_optimizer(self, optimizer: Any, auto_scale_loss: bool) -> Any:
        optimizer_object = optimizers.get(optimizer)
        policy = getattr(self, "dtype_policy", None) or dtype_policy()
        if (
            auto_scale_loss
            and policy.name == "mixed_float16"
            and optimizer_object
            and not isinstance(optimizer_object, LossScaleOptimizer)
        ):
            return LossScaleOptimizer(optimizer_object)
        return optimizer_object

    def get_compile_config(self) -> dict[str, Any] | None:
        """Returns the arguments of `compile` as plain data; None before `compile`."""
        compiled = self._compiled
        if compiled is None or compiled.config is None:
            return None
        return {name: serialized(value) for name, value in {**compiled.config, "optimizer": compiled.optimizer}.items()}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Compiles the model with the result of another model's `get_compile_config`."""
        arguments = {name: deserialized_all(value) for name, value in config.items()}
        arguments["optimizer"] = optimizers.deserialize(config["optimizer"])
        self.compile(**arguments)
        if self.optimizer is not None and getattr(self, "built", False):
            self.optimizer.build(self.trainable_variables)

    # ---- Loops

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
        """Trains the model for a number of epochs.

        Under a strategy each batch is split: 4 replicas get 3, 3, 3 and 1 of 10 rows. Gradients and metrics are those
        of the whole batch, so several devices give the same results as one. If a step fails or is interrupted on any
        device, all variables keep their values after the last finished step. A note of the error names the replica.

        Args:
          x: inputs: arrays, tensors, data frames, lists or dictionaries of them; or a data set, a generator or a
            `PyDataset`, which also provide targets and weights.
          y: targets.
          batch_size: rows per batch over all replicas; 32 by default.
          epochs: number of the last epoch, counted from 1; 1 by default.
          verbose: 0 for no output, 1 or `"auto"` for a bar, 2 for one line per epoch.
          callbacks: callbacks to call during training.
          validation_split: fraction of the rows, from the end, to use for validation; 0 by default.
          validation_data: `(x, y)` or `(x, y, sample_weight)`, or a data set.
          shuffle: whether each epoch uses another order of the rows of arrays; true by default.
          class_weight: weights of the classes by number.
          sample_weight: weights of the rows.
          initial_epoch: number of epochs completed before; 0 by default.
          steps_per_epoch: batches per epoch; all by default.
          validation_steps: batches per validation; all by default.
          validation_batch_size: rows per batch in validation; `batch_size` by default.
          validation_freq: number of epochs between validations, or a list of epochs; 1 by default.
          **ignored: arguments of older programs (`workers`, `use_multiprocessing`, `max_queue_size`).

        Returns:
          A `History`, whose `history` has a list for each name in the logs.

        Raises:
          ValueError: if `compile` was not called, or if the data does not fit the model.
        """
        compiled = self._need_compiled()
        self._check_arguments("fit", ignored)
        val: Any = validation_data
        if validation_split and val is None:
            (x, y, sample_weight), val = split_for_validation(x, y, sample_weight, validation_split)
        feed = feed_of(x, y, sample_weight, batch_size, shuffle, class_weight)
        feed.check_end(steps_per_epoch)
        test: Any = None
        if val is not None:
            fields = unpack_batch(val) if is_list(val) else (val, None, None)
            test = feed_of(*fields, validation_batch_size or batch_size)
            test.check_end(validation_steps)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=epochs, steps=steps_per_epoch or feed.steps)
        self.stop_training = False
        run = Epochs(self, Steps(self), feed, listeners, steps_per_epoch, compiled.steps_per_execution)
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
          x: inputs, as in `fit`.
          y: targets.
          batch_size: rows per batch; 32 by default.
          verbose: as in `fit`.
          sample_weight: weights of the rows.
          steps: number of batches; all by default.
          callbacks: callbacks to call during evaluation.
          return_dict: whether to return results by name; false by default.

        Returns:
          The loss; with metrics, a list that starts with the loss.

        Raises:
          ValueError: if `compile` was not called, or if the data does not fit the model.
        """
        self._need_compiled()
        self._check_arguments("evaluate", ignored)
        feed = feed_of(x, y, sample_weight, batch_size)
        feed.check_end(steps)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=1, steps=steps or feed.steps, history=False)
        logs = evaluate_batches(self, feed, listeners, steps)
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
        """Returns the outputs for data as arrays.

        Args:
          x: inputs, as in `fit`; targets in a data set are ignored.
          batch_size: rows per batch; 32 by default.
          verbose: as in `fit`.
          steps: number of batches; all by default.
          callbacks: callbacks to call during prediction.
        """
        self._check_arguments("predict", ignored)
        feed = feed_of(x, None, None, batch_size)
        feed.check_end(steps)
        listeners = CallbackList.of(callbacks, self, verbose, epochs=1, steps=steps or feed.steps, history=False)
        return predict_batches(self, feed, listeners, steps)

    def _check_arguments(self, name: str, arguments: Mapping[str, Any]) -> None:
        wrong = [key for key in arguments if key not in ("workers", "use_multiprocessing", "max_queue_size")]
        if wrong:
            raise TypeError(f"Trainer.{name}() got an unexpected keyword argument '{wrong[0]}'")

    # ---- Single batches

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Mapping[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Trains on a single batch and returns loss and metrics of this batch.

        Args:
          x: inputs.
          y: targets.
          sample_weight: weights of the rows.
          class_weight: weights of the classes by number.
          return_dict: whether to return results by name; false by default.
        """
        self._need_compiled()
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = class_weights(y, class_weight)
        self.reset_metrics()
        logs = Steps(self).train(mapped(own_array, pack_batch(x, y, sample_weight)))
        results = self._logs(logs)
        return results if return_dict else self._in_order(results)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Returns loss and metrics of a single batch.

        Args:
          x: inputs.
          y: targets.
          sample_weight: weights of the rows.
          return_dict: whether to return results by name; false by default.
        """
        self._need_compiled()
        self.reset_metrics()
        results = self._logs(Steps(self).test(mapped(own_array, pack_batch(x, y, sample_weight))))
        return results if return_dict else self._in_order(results)

    def predict_on_batch(self, x: Any) -> Any:
        """Returns the outputs for a single batch as arrays."""
        return Steps(self).predict(mapped(own_array, pack_batch(x)))


def _names_of(model: ModelReference) -> list[str]:
    """Returns the names of a model's outputs."""
    return list(getattr(model(), "output_names", None) or ())


def deserialized_all(config: Any) -> Any:
    """Returns plain data with the serialized objects in it restored."""
    if is_dict(config) and "class_name" not in config:
        return {key: deserialized_all(value) for key, value in config.items()}
    return [deserialized_all(item) for item in config] if is_list(config) else deserialized(config)
