"""`tf.compat.v1.metrics`: metrics that accumulate over many runs in local variables."""

from __future__ import annotations

from typing import Any, NoReturn

import nbtf
from nbtf._ops.math.division import divide_no_nan
from nbtf._public import public_names as _public_names
from nbtf._types import float32
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface.absent import refusal
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import get_variable, variable_scope


def __dir__() -> list[str]:
    return _public_names(__name__)


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean of all values so far, and the node that adds the current values.

    Args:
      values: a tensor.
      weights: weights of the values; must be broadcastable to their shape.
      metrics_collections: collections to which the mean is added.
      updates_collections: collections to which the update node is added.

    Returns:
      Two tensors: the mean, and the mean after its own update. The accumulators are local variables, so run
      `tf.local_variables_initializer()` first.

    Raises:
      RuntimeError: if ops run eagerly.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("tf.metrics.mean is not supported when eager execution is enabled.")
    with graph.inside(), variable_scope(name, default_name="mean"):
        total, count = _zero("total"), _zero("count")
        counted_values: Any = nbtf.cast(values, float32)
        counted: Any = nbtf.cast(nbtf.size(counted_values), float32)
        if weights is not None:
            weight: Any = nbtf.cast(weights, float32)
            spread: Any = nbtf.broadcast_to(weight, nbtf.shape(counted_values))
            counted_values, counted = counted_values * spread, nbtf.reduce_sum(spread)
        new_total = total.assign_add(nbtf.reduce_sum(counted_values))
        with graph.control_dependencies([counted_values]):
            further = count.assign_add(counted)
        value = divide_no_nan(total.value(), count.value(), name="value")
        update = divide_no_nan(new_total, further, name="update_op")
        graph.add_to_collections(metrics_collections or (), value)
        graph.add_to_collections(updates_collections or (), update)
        return value, update


def _zero(name: str) -> Any:
    return get_variable(
        name,
        shape=[],
        initializer=Zeros(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    )


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the fraction of correct predictions so far, and the node that adds the current ones; see `mean`.

    Args:
      labels: expected values.
      predictions: predicted values, with the same shape.
      weights: weights of the predictions.
      metrics_collections: collections to which the accuracy is added.
      updates_collections: collections to which the update node is added.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("tf.metrics.accuracy is not supported when eager execution is enabled.")
    with graph.inside():
        predicted: Any = nbtf.convert_to_tensor(predictions)
        expected: Any = nbtf.cast(labels, predicted.dtype)
        right = nbtf.cast(nbtf.equal(predicted, expected), float32)
        return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def __getattr__(name: str) -> NoReturn:
    raise refusal(f"metrics.{name}")
