"""`tf.keras.metrics`: measures of the quality of predictions."""

from __future__ import annotations

from typing import Any

from nbtf.keras import border as _border
from nbtf.keras.catalogue import public_classes, public_functions
from nbtf.keras.metrics.accuracy import Accuracy as Accuracy
from nbtf.keras.metrics.accuracy import BinaryAccuracy as BinaryAccuracy
from nbtf.keras.metrics.accuracy import CategoricalAccuracy as CategoricalAccuracy
from nbtf.keras.metrics.accuracy import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from nbtf.keras.metrics.accuracy import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from nbtf.keras.metrics.accuracy import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from nbtf.keras.metrics.accuracy import binary_accuracy as binary_accuracy
from nbtf.keras.metrics.accuracy import categorical_accuracy as categorical_accuracy
from nbtf.keras.metrics.accuracy import sparse_categorical_accuracy as sparse_categorical_accuracy
from nbtf.keras.metrics.accuracy import sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy
from nbtf.keras.metrics.accuracy import top_k_categorical_accuracy as top_k_categorical_accuracy
from nbtf.keras.metrics.confusion import AUC as AUC
from nbtf.keras.metrics.confusion import FalseNegatives as FalseNegatives
from nbtf.keras.metrics.confusion import FalsePositives as FalsePositives
from nbtf.keras.metrics.confusion import Precision as Precision
from nbtf.keras.metrics.confusion import Recall as Recall
from nbtf.keras.metrics.confusion import TrueNegatives as TrueNegatives
from nbtf.keras.metrics.confusion import TruePositives as TruePositives
from nbtf.keras.metrics.errors import BinaryCrossentropy as BinaryCrossentropy
from nbtf.keras.metrics.errors import CategoricalCrossentropy as CategoricalCrossentropy
from nbtf.keras.metrics.errors import MeanAbsoluteError as MeanAbsoluteError
from nbtf.keras.metrics.errors import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from nbtf.keras.metrics.errors import MeanSquaredError as MeanSquaredError
from nbtf.keras.metrics.errors import RootMeanSquaredError as RootMeanSquaredError
from nbtf.keras.metrics.errors import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from nbtf.keras.metrics.metric import Mean as Mean
from nbtf.keras.metrics.metric import MeanMetricWrapper as MeanMetricWrapper
from nbtf.keras.metrics.metric import Metric as Metric
from nbtf.keras.metrics.metric import Sum as Sum
from nbtf.keras.registry import deserialized, look_up, serialized

_KNOWN: dict[str, Any] = {
    **public_classes(globals()),
    **public_functions(globals()),
    "accuracy": Accuracy,
    "mse": MeanSquaredError,
    "MSE": MeanSquaredError,
    "mean_squared_error": MeanSquaredError,
    "mae": MeanAbsoluteError,
    "MAE": MeanAbsoluteError,
    "mean_absolute_error": MeanAbsoluteError,
    "mape": MeanAbsolutePercentageError,
    "MAPE": MeanAbsolutePercentageError,
    "mean_absolute_percentage_error": MeanAbsolutePercentageError,
}


def get(identifier: Any) -> Any:
    """Returns the metric for a name, a config, a class or a function; None for None.

    >>> tf.keras.metrics.get("mse")
    <MeanSquaredError name=mean_squared_error>
    """
    return look_up(identifier, _KNOWN, "metric")


def serialize(metric: Any) -> Any:
    """Returns a metric as plain data."""
    return serialized(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates a metric from the result of `serialize`."""
    return get(config) if isinstance(config, str) else deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)
