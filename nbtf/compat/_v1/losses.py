"""`tf.compat.v1.losses`: losses that are added to a graph collection and summed at the end."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._ops.arrays.identity import identity
from nbtf._ops.math.arithmetic import add, add_n, cast, multiply, negative, subtract
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.math.exponentials import log
from nbtf._ops.math.magnitude import abs as absolute
from nbtf._ops.math.magnitude import minimum, squared_difference
from nbtf._public import public_names as _public_names
from nbtf._runtime.conversion import as_tensor
from nbtf._types import float32
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface import neural
from nbtf.compat._v1._surface.scoping import inside, opened
from nbtf.compat._v1._variables.keys import GraphKeys


def __dir__() -> list[str]:
    return _public_names(__name__)


_LOSSES = GraphKeys.LOSSES


class Reduction:
    """Methods for reducing losses to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reduction methods."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises `ValueError` if `key` is not a reduction method."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


_BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


# Collections of losses


def add_loss(loss: Any, loss_collection: str | None = _LOSSES) -> None:
    """Adds a loss to a graph collection.

    Args:
      loss: a tensor.
      loss_collection: name of the collection; None adds it to none.
    """
    graph = building()
    if loss_collection and graph is not None:
        graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = _LOSSES) -> list[Any]:
    """Returns the losses in a graph collection.

    Args:
      scope: prefix of their names; None returns all.
      loss_collection: name of the collection.
    """
    graph = building()
    return [] if graph is None else graph.get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the regularization losses of variables.

    Args:
      scope: prefix of their names; None returns all.
    """
    return get_losses(scope, GraphKeys.REGULARIZATION_LOSSES)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """Returns the sum of the regularization losses of variables; 0 if there are none.

    Args:
      scope: prefix of their names; None includes all.
    """
    regularization_losses = get_regularization_losses(scope)
    with inside():
        return _sum_losses(regularization_losses, name) if regularization_losses else as_tensor(0.0, float32)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Any:
    """Returns the sum of all losses.

    Args:
      add_regularization_losses: whether to include the regularization losses of variables.
      scope: prefix of their names; None includes all.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = [*losses, *get_regularization_losses(scope)]
    if not losses:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
        )
    with inside():
        return _sum_losses(losses, name)


def _sum_losses(losses: list[Any], name: str) -> Any:
    return add_n(losses, name=name) if len(losses) > 1 else identity(losses[0], name=name)


# Weights


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns weighted losses, reduced to one number.

    Args:
      losses: a tensor.
      weights: a number, or a tensor that has the losses' shape, possibly with dimensions of 1.
      scope: name scope of the nodes.
      loss_collection: collection to which the result is added; None adds it to none.
      reduction: a method in `Reduction`.

    Raises:
      ValueError: if the shapes do not match or the reduction is unknown.
    """
    Reduction.validate(reduction)
    with opened("weighted_loss", scope):
        loss_values: Any = as_tensor(losses)
        precise: Any = cast(loss_values, float32)
        weight: Any = cast(weights, float32)
        _check_weights(precise, weight)
        loss: Any = _reduce(multiply(precise, weight), precise, weight, reduction)
        loss = cast(loss, loss_values._dtype)
        add_loss(loss, loss_collection)
        return loss


def _check_weights(values: Any, weights: Any) -> None:
    """Rejects weights that could be broadcast only along dimensions other than those of length 1."""
    weight_dims: Any = weights.shape.dims
    value_dims: Any = values.shape.dims
    if not weight_dims or value_dims is None:
        return
    text = "weights can not be broadcast to values. "
    shapes = f"values.shape={tuple(value_dims)}. weights.shape={tuple(weight_dims)}."
    if len(weight_dims) != len(value_dims):
        raise ValueError(f"{text}values.rank={len(value_dims)}. weights.rank={len(weight_dims)}. {shapes}")
    for axis, (weight, value) in enumerate(zip(weight_dims, value_dims, strict=True)):
        if weight not in (1, None, value) and value is not None:
            raise ValueError(f"{text}Mismatch at dim {axis}. {shapes}")


def _reduce(weighted: Any, losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == Reduction.NONE:
        return weighted
    total = nbtf.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return divide_no_nan(total, cast(nbtf.size(losses), float32), name="value")
    spread = multiply(nbtf.ones_like(losses), weights)
    if reduction == Reduction.MEAN:
        return divide_no_nan(total, nbtf.reduce_sum(spread), name="value")
    present = nbtf.reduce_sum(cast(nbtf.not_equal(spread, 0.0), float32))
    return divide_no_nan(total, present, name="value")


# Losses


def _check_given(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Returns labels and predictions as float32 tensors with the same shape."""
    predicted: Any = cast(predictions, float32)
    expected: Any = cast(labels, float32)
    predicted.shape.assert_is_compatible_with(expected.shape)
    return expected, predicted


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean absolute difference between labels and predictions; see `compute_weighted_loss`."""
    _check_given(labels=labels, predictions=predictions)
    with opened("absolute_difference", scope) as name:
        expected, predicted = _pair(labels, predictions)
        return compute_weighted_loss(absolute(subtract(predicted, expected)), weights, name, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean squared difference between labels and predictions; see `compute_weighted_loss`."""
    _check_given(labels=labels, predictions=predictions)
    with opened("mean_squared_error", scope) as name:
        expected, predicted = _pair(labels, predictions)
        return compute_weighted_loss(squared_difference(predicted, expected), weights, name, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean cross entropy of predicted probabilities; `epsilon` keeps logarithms finite."""
    _check_given(labels=labels, predictions=predictions)
    with opened("log_loss", scope) as name:
        expected, predicted = _pair(labels, predictions)
        hits = negative(multiply(expected, log(add(predicted, epsilon))))
        misses = multiply(subtract(1.0, expected), log(add(subtract(1.0, predicted), epsilon)))
        return compute_weighted_loss(subtract(hits, misses), weights, name, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean of `max(0, 1 - logits)` for labels of 1 and `max(0, 1 + logits)` for labels of 0."""
    _check_given(labels=labels, logits=logits)
    with opened("hinge_loss", scope) as name:
        expected, predicted = _pair(labels, logits)
        sign = subtract(multiply(expected, 2.0), 1.0)
        return compute_weighted_loss(
            nbtf.nn.relu(subtract(1.0, multiply(sign, predicted))), weights, name, loss_collection, reduction
        )


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean Huber loss: half the squared difference, continued linearly beyond `delta`."""
    _check_given(labels=labels, predictions=predictions)
    with opened("huber_loss", scope) as name:
        expected, predicted = _pair(labels, predictions)
        distance = absolute(subtract(predicted, expected))
        near = minimum(distance, delta)
        far = subtract(distance, near)
        losses = add(multiply(multiply(near, near), 0.5), multiply(far, delta))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean softmax cross entropy of logits; see `compute_weighted_loss`.

    Args:
      onehot_labels: label probabilities that add up to 1, with shape `[batch, classes]`.
      logits: logits with the same shape.
      weights: as in `compute_weighted_loss`, with shape `[batch]`.
      label_smoothing: fraction of the labels that is spread over all classes.
      scope: name scope of the nodes.
      loss_collection: collection to which the result is added.
      reduction: a method in `Reduction`.
    """
    _check_given(onehot_labels=onehot_labels, logits=logits)
    with opened("softmax_cross_entropy_loss", scope) as name:
        predicted: Any = as_tensor(logits)
        expected: Any = cast(onehot_labels, predicted._dtype)
        if label_smoothing > 0:
            classes = nbtf.cast(nbtf.shape(expected)[1], predicted._dtype)
            expected = add(multiply(expected, 1.0 - label_smoothing), nbtf.divide(label_smoothing, classes))
        fixed = nbtf.stop_gradient(expected)
        losses = neural.softmax_cross_entropy_with_logits_v2(fixed, predicted, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean softmax cross entropy of logits, for integer class labels; see `compute_weighted_loss`."""
    _check_given(labels=labels, logits=logits)
    with opened("sparse_softmax_cross_entropy_loss", scope) as name:
        predicted: Any = as_tensor(logits)
        expected: Any = as_tensor(labels)
        if expected.shape.rank is not None and expected.shape.rank == predicted.shape.rank and expected.shape[-1] == 1:
            expected = nbtf.squeeze(expected, [-1])
        losses = neural.sparse_softmax_cross_entropy_with_logits(labels=expected, logits=predicted, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Any:
    """Returns the mean sigmoid cross entropy of logits; see `softmax_cross_entropy`."""
    _check_given(multi_class_labels=multi_class_labels, logits=logits)
    with opened("sigmoid_cross_entropy_loss", scope) as name:
        predicted: Any = as_tensor(logits)
        expected: Any = cast(multi_class_labels, predicted._dtype)
        if label_smoothing > 0:
            expected = add(multiply(expected, 1.0 - label_smoothing), 0.5 * label_smoothing)
        losses = neural.sigmoid_cross_entropy_with_logits(labels=expected, logits=predicted, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHTS,
    dim: Any = None,
) -> Any:
    """Returns the mean of 1 minus the dot product of unit vectors along `axis`; `dim` is its older name."""
    vector_axis = axis if dim is None else dim
    if vector_axis is None:
        raise ValueError("You must specify argument `axis`.")
    _check_given(labels=labels, predictions=predictions)
    with opened("cosine_distance_loss", scope) as name:
        expected, predicted = _pair(labels, predictions)
        losses = subtract(1.0, nbtf.reduce_sum(multiply(predicted, expected), vector_axis, keepdims=True))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)
