"""The training state of a model: its `compile` arguments, its metrics and its steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbtf import distribute
from nbtf._graph.function import Function
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.math.arithmetic import add, cast, multiply
from nbtf._runtime.phases import FORWARD, METRICS, during
from nbtf.autodiff import GradientTape
from nbtf.keras.generation import is_legacy
from nbtf.keras.layers.calling import Facts
from nbtf.keras.training.compiled_losses import CompiledLosses
from nbtf.keras.training.compiled_metrics import CompiledMetrics, results_by_name
from nbtf.keras.training.feeding import unpack_batch
from nbtf.keras.training.replica_parts import SHARE, copy_here, rows_of
from nbtf.keras.type_guards import is_dict

NOT_COMPILED = "You must call `compile()` before using the model."


class Compiled:
    """The arguments of `compile` and the objects created from them."""

    def __init__(self) -> None:
        self.optimizer: Any = None
        self.loss: Any = None
        self.losses: CompiledLosses | None = None
        self.metrics: CompiledMetrics | None = None
        self.mean_loss: Any = None
        self.config: dict[str, Any] | None = None
        self.steps_per_execution = 1
        self.run_eagerly = self.jit_compile = self.done = False
        self.functions: dict[Any, Function] = {}
        """The traced steps; see `Steps`."""

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for a copy of the model, without traced steps: they train the original."""
        return {**self.__dict__, "functions": {}}


class Learner:
    """The training state of a model and its steps, which a subclass may override.

    The model must accept `training=` and list its weights and losses.
    """

    stop_training = False
    stop_evaluating = False
    _compiled: Compiled | None = None

    # Attributes of the model, declared for the type checker.
    trainable_variables: Any
    non_trainable_variables: Any
    losses: Any
    output_names: Any = None
    _facts: Facts
    __call__: Callable[..., Any]

    def __init__(self) -> None:
        if distribute.has_strategy():
            self.__dict__["_distribute_strategy"] = distribute.get_strategy()

    # ---- Attributes

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
        self._compiled.functions.clear()

    @property
    def loss(self) -> Any:
        """The `loss` argument of `compile`."""
        return None if self._compiled is None else self._compiled.loss

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope the model or its weights were created; otherwise the current one."""
        noted = self.__dict__.get("_distribute_strategy")
        if noted is not None:
            return noted
        for weight in getattr(self, "weights", ()):
            strategy = getattr(getattr(weight, "handle", weight), "distribute_strategy", None)
            if strategy is not None:
                return strategy
        return distribute.get_strategy()

    @property
    def _is_of_strategy(self) -> bool:
        """Whether the model was created in the scope of a strategy."""
        return "_distribute_strategy" in self.__dict__

    @property
    def run_eagerly(self) -> bool:
        """Whether each batch runs the Python code of the steps instead of a traced function."""
        return self._compiled is not None and self._compiled.run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        if self._compiled is not None:
            self._compiled.run_eagerly = value

    @property
    def metrics(self) -> list[Any]:
        """The mean loss, the metrics of layers and of `compile`, and the mean losses of individual outputs."""
        compiled = self._compiled
        layer_metrics = list(getattr(super(), "metrics", ()))
        if compiled is None or compiled.mean_loss is None:
            return layer_metrics
        of_losses = compiled.losses.metrics if compiled.losses is not None else []
        return [
            compiled.mean_loss,
            *layer_metrics,
            *([compiled.metrics] if compiled.metrics is not None else []),
            *of_losses,
        ]

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Resets all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns the results of the metrics by name."""
        return results_by_name((metric.name, metric) for metric in self.metrics)

    def _all_variables(self) -> list[Any]:
        """Returns all variables that a step may change."""
        variables = [
            *getattr(self, "variables", ()),
            *(variable for metric in self.metrics for variable in metric.variables),
        ]
        return variables if self.optimizer is None else [*variables, *self.optimizer.variables]

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Learner, name)

    def _need_compiled(self) -> Compiled:
        compiled = self._compiled
        if compiled is None or not compiled.done:
            raise ValueError(NOT_COMPILED)
        return compiled

    # ---- Steps

    def train_step(self, data: Any) -> dict[str, Any]:
        """Trains on a batch; a subclass may override it.

        Args:
          data: a tuple of inputs, targets and weights, as the data source yields it.

        Returns:
          The results of the metrics by name.
        """
        self._change(*self._gradients(*unpack_batch(data)))
        return self.get_metrics_result()

    def _gradients(self, x: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[Any]]:
        """Returns the trainable weights and their gradients for a batch, after updating the metrics."""
        compiled = self._need_compiled()
        with GradientTape() as tape:
            y_pred = self._called(x, True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            target = loss if compiled.optimizer is None else compiled.optimizer.scale_loss(loss)
        weights: list[Any] = list(self.trainable_variables)
        if not weights:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        grads: list[Any] = tape.gradient(target, [copy_here(weight) for weight in weights]) if weights else []
        self._gather(x, y, y_pred, sample_weight, loss)
        return weights, grads

    def _change(self, weights: list[Any], grads: list[Any]) -> None:
        if weights:
            self._need_compiled().optimizer.apply_gradients(zip(grads, weights, strict=True))

    @during(METRICS)
    def _gather(self, x: Any, y: Any, y_pred: Any, sample_weight: Any, loss: Any) -> None:
        """Updates the metrics with a batch and its loss."""
        rows, share = rows_of(x), SHARE.get()
        mean = self._need_compiled().mean_loss
        mean._gather(multiply(loss, float(rows if share is None else share.of)), rows)
        if self._overrides("compute_metrics"):
            self.compute_metrics(x, y, y_pred, sample_weight)
        else:
            self._update_metrics(y, y_pred, sample_weight)

    def _update_metrics(self, y: Any, y_pred: Any, sample_weight: Any) -> None:
        compiled = self._compiled
        if compiled is not None and compiled.metrics is not None:
            compiled.metrics.update_state(y, y_pred, sample_weight)

    def _called(self, x: Any, training: bool) -> Any:
        """Calls the model; as in Keras 3, a `call` without `training` is called without it."""
        return self(x, training=training) if self._facts.has_training or is_legacy() else self(x)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Updates the metrics with a batch; a subclass may override it.

        Args:
          data: a tuple of inputs, targets and weights, as the data source yields it.

        Returns:
          The results of the metrics by name.
        """
        self._tested(data)
        return self.get_metrics_result()

    def _tested(self, data: Any) -> None:
        x, y, sample_weight = unpack_batch(data)
        y_pred = self._called(x, False)
        loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._gather(x, y, y_pred, sample_weight, loss)

    def predict_step(self, data: Any) -> Any:
        """Returns the outputs for a batch; a subclass may override it."""
        return self._called(unpack_batch(data)[0], False)

    @during(FORWARD)
    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """Returns the loss of a batch, including losses added by layers; a subclass may override it.

        In a replica, this is the contribution of the replica's rows to the loss of the whole batch.

        Args:
          x: inputs.
          y: targets.
          y_pred: outputs.
          sample_weight: weights of the rows.
          training: whether the loss is computed for training; true by default.

        Raises:
          ValueError: if no loss is defined.
        """
        compiled = self._compiled
        total = None if compiled is None or compiled.losses is None else compiled.losses(y, y_pred, sample_weight)
        share = SHARE.get()
        for loss in self.losses:
            extra = cast(loss, "float32") if loss.dtype.name == "float16" else loss
            extra = extra if share is None else multiply(extra, share.rows / share.of)
            total = extra if total is None else add(total, extra)
        if total is None:
            if compiled is None or compiled.losses is None:
                raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
            total = zeros(())
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Updates the metrics with a batch and returns their results; a subclass may override it."""
        self._update_metrics(y, y_pred, sample_weight)
        return self.get_metrics_result()

    # ---- Logs

    def _logs(self, outcome: Any) -> dict[str, float]:
        """Returns the results of a step as numbers by name, in alphabetical order.

        `outcome` is the return value of an overridden step. If its names are those of the metrics, the metrics are
        read instead, because under a strategy each replica knows only its own part.
        """
        results = self.get_metrics_result()
        if is_dict(outcome):
            numbers = dict(_leaves(outcome))
            results = results if set(numbers) == set(results) else numbers
        return {name: _number(results[name]) for name in sorted(results)}

    def _in_order(self, logs: Mapping[str, float]) -> Any:
        """Returns logs as a list in the order of `metrics`; a single number is returned alone."""
        names: list[str] = []
        for metric in self.metrics:
            inner = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [metric.name for metric in inner if metric.name in logs and metric.name not in names]
        names += sorted(name for name in logs if name not in names)
        values = [logs[name] for name in names]
        return values[0] if len(values) == 1 else values


def _leaves(logs: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in logs.items():
        if is_dict(value):
            yield from _leaves(value)
        else:
            yield name, value


def _number(value: Any) -> Any:
    if isinstance(value, distribute.DistributedValues):
        replica_numbers: list[float] = [float(number) for number in value.values if number is not None]
        return sum(replica_numbers) / len(replica_numbers)
    try:
        return float(value)
    except (TypeError, ValueError):
        return value
