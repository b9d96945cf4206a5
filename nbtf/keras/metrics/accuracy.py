"""Metrics that count correct predictions."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.shapes import squeeze
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import equal, greater
from nbtf._ops.math.ordering import in_top_k
from nbtf._ops.reductions.extreme_indices import argmax
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.keras.dtypes import floatx
from nbtf.keras.losses.functions import check_classes, same_rank
from nbtf.keras.metrics.metric import FunctionMetric, MeanMetricWrapper
from nbtf.keras.symbolic import take_symbols


def _like(y_true: Any, dtype: Any) -> Tensor:
    tensor = as_tensor(y_true)
    return tensor if tensor.dtype is dtype else cast(tensor, dtype)


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Returns 1 where both are equal, 0 elsewhere."""
    predicted = as_tensor(y_pred)
    labels, predicted = same_rank(_like(y_true, predicted.dtype), predicted)
    return cast(equal(labels, predicted), floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """Returns 1 where the prediction, 1 above the threshold and 0 below, equals the label; 0 elsewhere."""
    predicted = as_tensor(y_pred)
    labels, predicted = same_rank(_like(y_true, predicted.dtype), predicted)
    right = equal(labels, cast(greater(cast(predicted, floatx()), threshold), labels.dtype))
    return cast(right, floatx())


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Returns 1 where the largest prediction and the largest label are at the same index; 0 elsewhere."""
    labels, predicted = as_tensor(y_true), as_tensor(y_pred)
    return cast(equal(argmax(labels, axis=-1), argmax(predicted, axis=-1)), floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Returns 1 where the largest prediction is at the index given by the label; 0 elsewhere.

    >>> from nbtf.keras.metrics import sparse_categorical_accuracy
    >>> sparse_categorical_accuracy([1, 0], [[0.1, 0.9], [0.2, 0.8]]).numpy()
    array([1., 0.], dtype=float32)
    """
    labels, predicted = as_tensor(y_true), check_classes(as_tensor(y_pred))
    if len(labels.shape) == len(predicted.shape) and labels.shape[-1] == 1:
        labels = squeeze(labels, [-1])
    classes = argmax(predicted, axis=-1)
    return cast(equal(_like(labels, classes.dtype), classes), floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """Returns 1 where the class with the largest label is among the `k` largest predictions; 0 elsewhere."""
    return sparse_top_k_categorical_accuracy(argmax(as_tensor(y_true), axis=-1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False) -> Tensor:
    """Returns 1 where the class given by the label is among the `k` largest predictions; 0 elsewhere."""
    labels, predicted = as_tensor(y_true), check_classes(as_tensor(y_pred))
    shape = labels.shape
    flat = reshape(_like(labels, as_tensor(0).dtype), [-1])
    right = in_top_k(flat, reshape(predicted, [-1, predicted.shape[-1]]), k)
    return reshape(cast(right, floatx()), shape)


take_symbols(globals())


class Accuracy(FunctionMetric):
    """Computes the fraction of predictions that equal their labels."""

    _fn = accuracy


class BinaryAccuracy(FunctionMetric):
    """Computes the fraction of yes-or-no answers that are right.

    Args:
      threshold: predictions above this value mean yes; 0.5 by default.
    """

    threshold: float = 0.5
    _fn = binary_accuracy


class CategoricalAccuracy(FunctionMetric):
    """Computes the fraction of examples whose largest prediction and largest label are at the same index."""

    _fn = categorical_accuracy


class SparseCategoricalAccuracy(FunctionMetric):
    """Computes the fraction of examples whose largest prediction is that of the right class; labels are class numbers.

    >>> accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    >>> float(accuracy([1, 0], [[0.1, 0.9], [0.2, 0.8]]))
    0.5
    """

    _fn = sparse_categorical_accuracy


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """Computes the fraction of examples whose right class is among the `k` largest predictions.

    Args:
      k: number of predictions to consider; 5 by default.
    """

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """Computes the same fraction as `TopKCategoricalAccuracy`, for labels that are class numbers.

    Args:
      k: number of predictions to consider; 5 by default.
    """

    def __init__(self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)
