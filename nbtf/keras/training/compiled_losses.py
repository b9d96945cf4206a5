"""The losses given to `compile`, combined to one number for all outputs of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nbtf._ops.math.arithmetic import add, multiply
from nbtf.keras import losses
from nbtf.keras.losses import Loss, LossFunctionWrapper
from nbtf.keras.metrics import Mean
from nbtf.keras.training.replica_parts import SHARE, rows_of
from nbtf.keras.type_guards import is_dict, is_list


class Named(NamedTuple):
    """The outputs of a model, or values for them, as a flat list with names."""

    names: list[str | None]
    values: list[Any]


class _OfOutput(NamedTuple):
    """The loss of one output, its weight and its metric."""

    output_index: int
    name: str | None
    fn: Loss
    weight: float | None
    mean: Mean | None


class CompiledLosses:
    """The weighted sum of the losses of all outputs.

    Args:
      loss: a loss for all outputs, or a list or a dictionary of losses.
      loss_weights: weights of the losses, in the same form.
      output_names: function that returns the names of the model's outputs, or an empty list.
    """

    def __init__(self, loss: Any, loss_weights: Any, output_names: Callable[[], Sequence[str]]) -> None:
        """Stores the arguments; they are resolved at the first batch, when the outputs are known."""
        self._loss, self._loss_weights = loss, loss_weights
        self._names_of_model = output_names  # called at the first batch, when the model is built
        self._output_names: Sequence[str] = ()
        self._parts: list[_OfOutput] | None = None
        self._only: Loss | None = None

    @property
    def metrics(self) -> list[Mean]:
        """The mean losses of the individual outputs, if there are several."""
        return [output_loss.mean for output_loss in self._parts or () if output_loss.mean is not None]

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Returns the loss of a batch; in a replica, the replica's part of the loss of the whole batch."""
        if self._parts is None:
            self._build(y_true, y_pred)
        only = self._only
        if only is not None:
            return _shared(only, only(in_one(y_true), in_one(y_pred), in_one(sample_weight)))
        targets = values_for(y_true, y_pred, self._output_names)
        weights = values_for(sample_weight, y_pred, self._output_names)
        outputs, total = in_row(y_pred, self._output_names).values, None
        for output_index, _, fn, weight, mean in self._parts or ():
            loss = fn(targets[output_index], outputs[output_index], weights[output_index])
            if mean is not None:
                mean.update_state(loss, sample_weight=rows_of(outputs[output_index]))
            loss = _shared(fn, loss)
            loss = loss if weight is None else multiply(loss, weight)
            total = loss if total is None else add(total, loss)
        return total

    def _build(self, y_true: Any, y_pred: Any) -> None:
        self._output_names = self._names_of_model()
        outputs = in_row(y_pred, self._output_names)
        if y_true is None:
            raise ValueError("None values not supported.")
        fns = self._for_outputs(self._loss, outputs.names, "loss")
        count = sum(fn is not None for fn in fns)
        weights = self._weights(outputs.names, fns, count)
        values_for(y_true, y_pred, self._output_names)  # reports a wrong structure before any object is created
        output_losses: list[_OfOutput] = []
        for output_index, (name, fn, weight) in enumerate(zip(outputs.names, fns, weights, strict=True)):
            if fn is not None:
                title = name or (fn if isinstance(fn, str) else f"{as_loss(fn).name}_{output_index}")
                mean = Mean(name=f"{title}_loss") if count > 1 else None
                output_losses.append(_OfOutput(output_index, name, as_loss(fn), weight, mean))
        plain = len(output_losses) == len(outputs.values) == 1 and output_losses[0].weight is None
        self._parts, self._only = output_losses, output_losses[0].fn if plain else None

    def _for_outputs(self, identifiers: Any, names: list[str | None], argument: str) -> list[Any]:
        if is_dict(identifiers):
            output_names = [name for name in names if name is not None]
            if not set(identifiers) <= set(output_names) or len(identifiers) < len(output_names):
                raise ValueError(
                    f"Expected keys {output_names} in {argument} dict, but found {argument}.keys()={list(identifiers)}"
                )
            return [identifiers[name] for name in names]
        if not is_list(identifiers):
            return [identifiers] * len(names)
        fns: list[Any] = list(identifiers)
        if len(fns) > len(names):
            raise KeyError(
                f"The path: ({len(names)},) in the `{argument}` argument, can't be found in either the model's output "
                "(`y_pred`) or in the labels (`y_true`)."
            )
        return fns + [None] * (len(names) - len(fns))

    def _weights(self, names: list[str | None], fns: list[Any], count: int) -> list[float | None]:
        loss_weights = self._loss_weights
        if loss_weights is None:
            return [None] * len(names)
        if is_dict(loss_weights):
            return [loss_weights[name] if fn is not None else None for name, fn in zip(names, fns, strict=True)]
        weights: list[Any] = list(loss_weights) if is_list(loss_weights) else [loss_weights] * len(names)
        if len(weights) < count:
            raise ValueError(
                f"`loss_weights` must match the number of losses, got {count} losses and {len(weights)} weights."
            )
        return weights + [None] * (len(names) - len(weights))


def _shared(fn: Loss, loss: Any) -> Any:
    """Returns the part of a replica's loss in that of the whole batch: its share of a mean, or all of a sum."""
    share = SHARE.get()
    if share is None or fn.reduction == "sum":
        return loss
    return multiply(loss, share.rows / share.of)


def as_loss(identifier: Any) -> Loss:
    """Returns the loss object for a name, a function or an object."""
    loss: Any = losses.get(identifier)
    if isinstance(loss, Loss):
        return loss
    function: Callable[..., Any] = loss
    return LossFunctionWrapper(function, name=getattr(function, "__name__", None))


# Structures of outputs


def in_row(outputs: Any, output_names: Sequence[str]) -> Named:
    """Returns the outputs of a model as a flat list with names."""
    if is_dict(outputs):
        return Named(list(outputs), list(outputs.values()))
    if not is_list(outputs):
        return Named([output_names[0] if len(output_names) == 1 else None], [outputs])
    values: list[Any] = list(outputs)
    names: list[str | None] = list(output_names) if len(output_names) == len(values) else [None] * len(values)
    return Named(names, values)


def in_one(value: Any) -> Any:
    """Returns the only element of a structure for a single output."""
    if is_dict(value):
        return next(iter(value.values())) if len(value) == 1 else value
    return value[0] if is_list(value) and len(value) == 1 else value


def values_for(values_by_output: Any, outputs: Any, output_names: Sequence[str]) -> list[Any]:
    """Returns the values for each output: targets or weights.

    Raises:
      ValueError: if the structures do not match.
    """
    names, values = in_row(outputs, output_names)
    if values_by_output is None or (len(values) == 1 and not (is_list(values_by_output) or is_dict(values_by_output))):
        return [values_by_output] * len(values)
    if is_dict(values_by_output):
        return [values_by_output.get(name) for name in names]
    if is_list(values_by_output):
        row: list[Any] = list(values_by_output)
        if len(row) == len(values):
            return row
    raise ValueError(
        f"y_true and y_pred have different structures.\ny_true: {_stars(values_by_output)}\ny_pred: {_stars(outputs)}\n"
    )


def _stars(structure: Any) -> str:
    if is_dict(structure):
        return repr({key: "*" for key in structure})
    if is_list(structure):
        row: list[Any] = ["*"] * len(structure)
        return repr(tuple(row) if isinstance(structure, tuple) else row)
    return "*"
