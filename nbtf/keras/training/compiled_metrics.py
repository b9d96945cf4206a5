"""The metrics given to `compile`, assigned to outputs under unique names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from nbtf.keras import metrics
from nbtf.keras.metrics import MeanMetricWrapper, Metric
from nbtf.keras.training.compiled_losses import in_row, values_for
from nbtf.keras.type_guards import is_dict, is_list


class _OfOutput(NamedTuple):
    """The metrics of an output, by their names in the logs."""

    output_index: int
    plain: list[tuple[str, Metric]]
    weighted: list[tuple[str, Metric]]


class CompiledMetrics:
    """All metrics given to `compile`.

    Args:
      unweighted: metrics as a list, or by output as a list or a dictionary.
      weighted: metrics that use sample weights, in the same form.
      output_names: function that returns the names of the model's outputs, or an empty list.
    """

    name = "compile_metrics"

    def __init__(self, unweighted: Any, weighted: Any, output_names: Callable[[], Sequence[str]]) -> None:
        """Stores the arguments; they are resolved at the first batch, when the outputs are known.

        Raises:
          ValueError: if an argument is neither a list nor a dictionary.
        """
        for argument, value in (("metrics", unweighted), ("weighted_metrics", weighted)):
            if value is not None and not (is_list(value) or is_dict(value)):
                raise ValueError(
                    f"Expected `{argument}` argument to be a list, tuple, or dict. Received instead: "
                    f"{argument}={value} of type {type(value)}"
                )
        self._given, self._weighted = unweighted, weighted
        self._names_of_model = output_names  # called at the first batch, when the model is built
        self._output_names: Sequence[str] = ()
        self._parts: list[_OfOutput] = []
        self.built = False

    def __repr__(self) -> str:
        return f"<CompileMetrics name={self.name}>"

    @property
    def metrics(self) -> list[Metric]:
        """All metrics."""
        return [
            metric for output_metrics in self._parts for _, metric in (*output_metrics.plain, *output_metrics.weighted)
        ]

    @property
    def variables(self) -> list[Any]:
        """The variables of all metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Updates each metric with a batch."""
        if not self.built:
            self._build(y_true, y_pred)
        if not self._parts:
            return
        targets = values_for(y_true, y_pred, self._output_names)
        weights = values_for(sample_weight, y_pred, self._output_names)
        outputs = in_row(y_pred, self._output_names).values
        for output_index, plain, weighted in self._parts:
            for _, metric in plain:
                metric.update_state(targets[output_index], outputs[output_index])
            for _, metric in weighted:
                metric.update_state(targets[output_index], outputs[output_index], sample_weight=weights[output_index])

    def result(self) -> dict[str, Any]:
        """Returns the results by name; a metric with several results uses its own names for them."""
        return results_by_name(
            (name, metric) for _, plain, weighted in self._parts for name, metric in (*plain, *weighted)
        )

    def reset_state(self) -> None:
        """Resets all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def _build(self, y_true: Any, y_pred: Any) -> None:
        self._output_names = self._names_of_model()
        names, outputs = in_row(y_pred, self._output_names)
        several = len(outputs) > 1
        plain = self._by_output(self._given, names, "metrics")
        weighted = self._by_output(self._weighted, names, "weighted_metrics")
        targets = values_for(y_true, y_pred, self._output_names) if any(plain) or any(weighted) else [None] * len(names)
        used: set[str] = set()
        for output_index, (name, target, output) in enumerate(zip(names, targets, outputs, strict=True)):
            prefix = f"{name}_" if several and name is not None else ""
            sides = [
                [metric for identifier in side if (metric := metric_for(identifier, target, output)) is not None]
                for side in (plain[output_index], weighted[output_index])
            ]
            first = [(_unused(prefix + metric.name, used), metric) for metric in sides[0]]
            second = [(_weighted_name(prefix, metric.name, used), metric) for metric in sides[1]]
            if first or second:
                self._parts.append(_OfOutput(output_index, first, second))
        self.built: bool = True

    def _by_output(self, identifiers: Any, names: list[str | None], argument: str) -> list[list[Any]]:
        if identifiers is None:
            return [[] for _ in names]
        if is_dict(identifiers) and set(identifiers) <= {name for name in names if name is not None}:
            return [_as_list(identifiers.get(name)) for name in names]
        if is_list(identifiers):
            row: list[Any] = list(identifiers)
            if len(names) == 1:
                return [_as_list(row[0]) if len(row) == 1 and isinstance(row[0], list) else row]
            if not row:
                return [[] for _ in names]
            if len(row) == len(names):
                return [_as_list(entry) for entry in row]
        raise ValueError(
            f"Invalid `{argument}`. `{argument}` should contain metrics objects and either be a dict or a list "
            f"matching the output names of the functional model {[name for name in names if name is not None]} or "
            f"match the output structure of the model: {['X'] * len(names)}.\nReceived: {argument}={identifiers}"
        )


def results_by_name(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the results of metrics by name; a metric may have several, which it names itself."""
    results: dict[str, Any] = {}
    for name, metric in named:
        result = metric.result()
        results.update(result if is_dict(result) else {name: result})
    return results


def _as_list(value: Any) -> list[Any]:
    return list(value) if is_list(value) else [] if value is None else [value]


def _unused(name: str, used: set[str]) -> str:
    number, free = 0, name
    while free in used:
        number += 1
        free = f"{name}_{number}"
    used.add(free)
    return free


def _weighted_name(prefix: str, name: str, used: set[str]) -> str:
    plain = prefix + name
    return _unused(f"{prefix}weighted_{name}" if plain in used else plain, used)


def metric_for(identifier: Any, y_true: Any, y_pred: Any) -> Metric | None:
    """Returns the metric for a name, a function or an object; `"accuracy"` is resolved by the shapes."""
    if identifier is None:
        return None
    metric: Any = None
    if isinstance(identifier, str):
        metric_classes = _BY_SHAPE.get(identifier.lower())
        metric = metric_classes[_label_form(y_true, y_pred)](name=identifier) if metric_classes else None
    if metric is None:
        metric = metrics.get(identifier)
    if not isinstance(metric, Metric):
        metric = MeanMetricWrapper(metric, name=getattr(metric, "__name__", None))
    if isinstance(identifier, str):
        metric.name = identifier
    return metric


def _label_form(y_true: Any, y_pred: Any) -> int:
    """Returns 0 for yes-or-no labels, 1 for class numbers, and 2 for labels with one number per class."""
    true, predicted = tuple(y_true.shape), tuple(y_pred.shape)
    if predicted and predicted[-1] == 1:
        return 0
    return 1 if len(true) < len(predicted) or (true and true[-1] == 1 and predicted[-1] > 1) else 2


_ACCURACIES = (metrics.BinaryAccuracy, metrics.SparseCategoricalAccuracy, metrics.CategoricalAccuracy)
_CROSSENTROPIES = (metrics.BinaryCrossentropy, metrics.SparseCategoricalCrossentropy, metrics.CategoricalCrossentropy)
_BY_SHAPE: dict[str, tuple[Any, ...]] = {
    "accuracy": _ACCURACIES,
    "acc": _ACCURACIES,
    "crossentropy": _CROSSENTROPIES,
    "ce": _CROSSENTROPIES,
}
