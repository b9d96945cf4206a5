"""`tf.compat.v1.losses`: losses that are added to a graph collection and summed at the end."""

from __future__ import annotations

from typing import Any, NoReturn

import nbtf
from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf._runtime.conversion import as_tensor
from nbtf._types import float32
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface import neural
from nbtf.compat._v1._surface.arithmetic import add_n
from nbtf.compat._v1._surface.removed import without_arguments
from nbtf.compat._v1._surface.scoping import inside, opened
from nbtf.compat._v1._surface.wrapping import tabled
from nbtf.compat._v1._variables.keys import GraphKeys


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing(f"losses.{name}")


_LOSSES = GraphKeys.LOSSES


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
    losses = get_regularization_losses(scope)
    with inside():
        return add_n(losses, name) if losses else as_tensor(0.0, float32)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Any:
    """Returns the sum of all losses.

    Args:
      add_regularization_losses: whether to include the regularization losses of variables.
      scope: prefix of their names; None includes all.
    """
    return add_n([*get_losses(scope), *(get_regularization_losses(scope) if add_regularization_losses else ())], name)


@without_arguments("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = _LOSSES
) -> Any:
    """Returns the mean of losses with weights other than 0.

    Args:
      losses: a tensor.
      weights: a number, or a tensor that has the losses' shape, possibly with dimensions of 1.
      scope: name scope of the nodes.
      loss_collection: collection to which the result is added; None adds it to none.
    """
    with opened("weighted_loss", scope):
        values: Any = nbtf.cast(losses, float32)
        weight: Any = nbtf.cast(weights, float32)
        total = nbtf.reduce_sum(nbtf.multiply(values, weight))
        spread = nbtf.multiply(nbtf.ones_like(values), weight)
        count = nbtf.reduce_sum(nbtf.cast(nbtf.not_equal(spread, 0.0), float32))
        loss: Any = nbtf.cast(nbtf.math.divide_no_nan(total, count, name="value"), as_tensor(losses)._dtype)
        add_loss(loss, loss_collection)
        return loss


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Returns labels and predictions as float32 tensors with the same shape."""
    if labels is None or predictions is None:
        raise ValueError(f"Argument `{'labels' if labels is None else 'predictions'}` must not be None.")
    predicted: Any = nbtf.cast(predictions, float32)
    expected: Any = nbtf.cast(labels, float32)
    predicted.shape.assert_is_compatible_with(expected.shape)
    return expected, predicted


@without_arguments("losses.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Any:
    """Returns the mean squared difference between labels and predictions; see `compute_weighted_loss`."""
    with opened("mean_squared_error", scope) as name:
        expected, predicted = _pair(labels, predictions)
        squares = nbtf.math.squared_difference(predicted, expected)
        return compute_weighted_loss(squares, weights, name, loss_collection)


@without_arguments("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Any:
    """Returns the mean softmax cross entropy of logits; see `compute_weighted_loss`.

    Args:
      onehot_labels: label probabilities that add up to 1, with shape `[batch, classes]`.
      logits: logits with the same shape.
      weights: as in `compute_weighted_loss`, with shape `[batch]`.
      label_smoothing: fraction of the labels that is spread over all classes.
      scope: name scope of the nodes.
      loss_collection: collection to which the result is added.
    """
    with opened("softmax_cross_entropy_loss", scope) as name:
        predicted: Any = as_tensor(logits)
        expected: Any = nbtf.cast(onehot_labels, predicted._dtype)
        if label_smoothing > 0:
            classes = nbtf.cast(nbtf.shape(expected)[1], predicted._dtype)
            expected = expected * (1.0 - label_smoothing) + label_smoothing / classes
        fixed = nbtf.stop_gradient(expected)
        losses = tabled("nn.softmax_cross_entropy_with_logits_v2")(fixed, predicted, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection)


@without_arguments("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Any:
    """Returns the mean softmax cross entropy of logits, for integer class labels; see `compute_weighted_loss`."""
    with opened("sparse_softmax_cross_entropy_loss", scope) as name:
        predicted: Any = as_tensor(logits)
        expected: Any = as_tensor(labels)
        if expected.shape.rank is not None and expected.shape.rank == predicted.shape.rank and expected.shape[-1] == 1:
            expected = nbtf.squeeze(expected, [-1])
        losses = neural.sparse_softmax_cross_entropy_with_logits(labels=expected, logits=predicted, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection)
