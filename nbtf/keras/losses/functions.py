"""The formulas of losses, which return one number for each example."""

from __future__ import annotations

from typing import Any

from nbtf import nn
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.shapes import squeeze
from nbtf._ops.linalg.norms import l2_normalize
from nbtf._ops.math.arithmetic import cast, subtract
from nbtf._ops.math.comparison import equal, less_equal, where
from nbtf._ops.math.exponentials import log
from nbtf._ops.math.magnitude import abs, clip_by_value, maximum, square
from nbtf._ops.reductions.means_and_extremes import reduce_max, reduce_mean
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.keras.dtypes import epsilon, floatx
from nbtf.keras.losses.loss import same_rank as same_rank
from nbtf.keras.symbolic import take_symbols

_LOG_OF_2 = 0.6931471805599453


def _pair(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Returns both as floats of the same dtype and rank."""
    return same_rank(*_floats(y_true, y_pred))


def _pair_of_a_shape(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Returns both as floats of the same dtype and shape."""
    y_true, y_pred = _pair(y_true, y_pred)
    if tuple(y_true.shape) != tuple(y_pred.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. Received: "
            f"target.shape={y_true.shape}, output.shape={y_pred.shape}"
        )
    return y_true, y_pred


def _floats(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Returns both as floats of the same dtype, which broadcast if Keras does not adjust the ranks."""
    predicted = as_tensor(y_pred)
    if not predicted.dtype.is_floating:
        predicted = cast(predicted, floatx())
    labels = as_tensor(y_true)
    if labels.dtype is not predicted.dtype:
        labels = cast(labels, predicted.dtype)
    return labels, predicted


# ---- Losses of numbers


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `mean(square(y_true - y_pred))` over the last axis.

    >>> tf.keras.losses.mean_squared_error([[1.0, 2.0]], [[1.0, 4.0]]).numpy()
    array([2.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(square(subtract(y_true, y_pred)), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `mean(abs(y_true - y_pred))` over the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(abs(subtract(y_true, y_pred)), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `100 * mean(abs((y_true - y_pred) / y_true))` over the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(abs((y_true - y_pred) / maximum(abs(y_true), epsilon())), axis=-1) * 100.0


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Returns the negative cosine of the angle between vectors: -1 for the same direction, 1 for opposite ones.

    >>> tf.keras.losses.cosine_similarity([[1.0, 0.0]], [[2.0, 0.0]]).numpy()
    array([-1.], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return -reduce_sum(l2_normalize(y_true, axis) * l2_normalize(y_pred, axis), axis=axis)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Returns the mean loss over the last axis: half the squared error up to `delta`, and linear beyond.

    For integers, one half becomes 0, as in Keras; use floats.
    """
    predicted = as_tensor(y_pred)
    labels, predicted = same_rank(cast(as_tensor(y_true), predicted.dtype), predicted)
    error = abs(predicted - labels)
    limit, half = cast(delta, error.dtype), cast(0.5, error.dtype)
    costs = where(less_equal(error, limit), half * square(error), limit * error - half * square(limit))
    return reduce_mean(costs if costs.dtype.is_floating else cast(costs, floatx()), axis=-1)


def log_cosh(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `mean(log(cosh(y_pred - y_true)))` over the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    error = y_pred - y_true
    return reduce_mean(error + nn.softplus(error * -2.0) - _LOG_OF_2, axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `mean(y_pred - y_true * log(y_pred))` over the last axis."""
    y_true, y_pred = _floats(y_true, y_pred)
    return reduce_mean(y_pred - y_true * log(y_pred + epsilon()), axis=-1)


def kl_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `sum(y_true * log(y_true / y_pred))` over the last axis."""
    y_true, y_pred = _floats(y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, epsilon(), 1.0), clip_by_value(y_pred, epsilon(), 1.0)
    return reduce_sum(y_true * log(y_true / y_pred), axis=-1)


# ---- Losses of signs


def _signs(y_true: Tensor) -> Tensor:
    """Returns labels of -1 and 1 for labels of 0 and 1."""
    binary = equal(y_true, 0.0) | equal(y_true, 1.0)
    return where(reduce_max(cast(~binary, "int32")) > 0, y_true, 2.0 * y_true - 1.0)


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Returns `mean(maximum(1 - y_true * y_pred, 0))` over the last axis; labels are -1 and 1, or 0 and 1."""
    y_true, y_pred = _floats(y_true, y_pred)
    return reduce_mean(maximum(1.0 - _signs(y_true) * y_pred, 0.0), axis=-1)


# ---- Losses of classes


def check_classes(output: Any) -> Any:
    """Returns predictions unchanged if they have an axis of classes, and raises a ValueError otherwise."""
    if not len(output.shape):
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    return output


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Returns the cross entropy of classes whose labels are probabilities or one-hot vectors.

    Args:
      y_true: probabilities of the classes, shape `[..., classes]`.
      y_pred: predicted probabilities or logits.
      from_logits: whether predictions are logits; false by default.
      label_smoothing: fraction of each label to spread over all classes; 0 by default.
      axis: axis of the classes; the last by default.
    """
    y_true, y_pred = _pair_of_a_shape(y_true, y_pred)
    check_classes(y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_true.shape[axis]
    if from_logits:
        return nn.softmax_cross_entropy_with_logits(labels=y_true, logits=y_pred, axis=axis)
    shares = clip_by_value(y_pred / reduce_sum(y_pred, axis=axis, keepdims=True), epsilon(), 1.0 - epsilon())
    return -reduce_sum(y_true * log(shares), axis=axis)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Tensor:
    """Returns the cross entropy of classes whose labels are class numbers.

    Args:
      y_true: class numbers, shape `[...]` or with a last axis of length 1.
      y_pred: predicted probabilities or logits, shape `[..., classes]`.
      from_logits: whether predictions are logits; false by default.
      ignore_class: class number that contributes no loss; None by default.
      axis: axis of the classes, which must be the last.

    >>> tf.keras.losses.sparse_categorical_crossentropy([1], [[0.2, 0.8]]).numpy().round(4)
    array([0.2231], dtype=float32)
    """
    predicted = check_classes(as_tensor(y_pred))
    labels = as_tensor(y_true)
    if len(labels.shape) == len(predicted.shape) and labels.shape[-1] == 1:
        labels = squeeze(labels, [-1])
    if labels.dtype.name not in ("int32", "int64"):
        labels = cast(labels, "int64")
    if not from_logits:
        predicted = log(clip_by_value(predicted, epsilon(), 1.0 - epsilon()))
    if ignore_class is None:
        return _sparse(labels, predicted)
    valid = ~equal(labels, cast(ignore_class, labels.dtype))
    losses = _sparse(where(valid, labels, zeros_like(labels)), predicted)
    counted_losses = where(valid, losses, zeros_like(losses))
    counted_losses._keras_mask = valid  # type: ignore[attr-defined]  # the mean excludes ignored examples
    return counted_losses


def _sparse(labels: Tensor, logits: Tensor) -> Tensor:
    if len(logits.shape) == 2:
        return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    flat = nn.sparse_softmax_cross_entropy_with_logits(
        labels=reshape(labels, [-1]), logits=reshape(logits, [-1, logits.shape[-1]])
    )
    return reshape(flat, labels.shape)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Returns the mean cross entropy of yes-or-no answers over an axis.

    Args:
      y_true: 0 or 1, or probabilities.
      y_pred: predicted probabilities or logits.
      from_logits: whether predictions are logits; false by default.
      label_smoothing: fraction of each label to spread over both answers; 0 by default.
      axis: axis over which the mean is computed; the last by default.
    """
    y_true, y_pred = _pair_of_a_shape(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduce_mean(_binary(y_true, y_pred, from_logits), axis=axis)


def _binary(y_true: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    if from_logits:
        return nn.sigmoid_cross_entropy_with_logits(labels=y_true, logits=y_pred)
    chance = clip_by_value(y_pred, epsilon(), 1.0 - epsilon())
    return -(y_true * log(chance) + (1.0 - y_true) * log(1.0 - chance))


# ---- Losses of regions


take_symbols(globals())
