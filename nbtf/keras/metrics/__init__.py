"""`tf.keras.metrics`: measures of the quality of predictions."""

from __future__ import annotations

from typing import Any

from nbtf._public import public_names as _public_names
from nbtf.keras.catalogue import public_classes, public_functions
from nbtf.keras.losses.functions import binary_crossentropy as binary_crossentropy
from nbtf.keras.losses.functions import categorical_crossentropy as categorical_crossentropy
from nbtf.keras.losses.functions import categorical_hinge as categorical_hinge
from nbtf.keras.losses.functions import cosine_similarity as cosine_similarity
from nbtf.keras.losses.functions import hinge as hinge
from nbtf.keras.losses.functions import kl_divergence as kl_divergence
from nbtf.keras.losses.functions import log_cosh as log_cosh
from nbtf.keras.losses.functions import mean_absolute_error as mean_absolute_error
from nbtf.keras.losses.functions import mean_absolute_percentage_error as mean_absolute_percentage_error
from nbtf.keras.losses.functions import mean_squared_error as mean_squared_error
from nbtf.keras.losses.functions import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from nbtf.keras.losses.functions import poisson as poisson
from nbtf.keras.losses.functions import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from nbtf.keras.losses.functions import squared_hinge as squared_hinge
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
from nbtf.keras.metrics.errors import CategoricalHinge as CategoricalHinge
from nbtf.keras.metrics.errors import CosineSimilarity as CosineSimilarity
from nbtf.keras.metrics.errors import Hinge as Hinge
from nbtf.keras.metrics.errors import KLDivergence as KLDivergence
from nbtf.keras.metrics.errors import LogCoshError as LogCoshError
from nbtf.keras.metrics.errors import MeanAbsoluteError as MeanAbsoluteError
from nbtf.keras.metrics.errors import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from nbtf.keras.metrics.errors import MeanSquaredError as MeanSquaredError
from nbtf.keras.metrics.errors import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from nbtf.keras.metrics.errors import Poisson as Poisson
from nbtf.keras.metrics.errors import RootMeanSquaredError as RootMeanSquaredError
from nbtf.keras.metrics.errors import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from nbtf.keras.metrics.errors import SquaredHinge as SquaredHinge
from nbtf.keras.metrics.metric import Mean as Mean
from nbtf.keras.metrics.metric import MeanMetricWrapper as MeanMetricWrapper
from nbtf.keras.metrics.metric import Metric as Metric
from nbtf.keras.metrics.metric import Sum as Sum
from nbtf.keras.registry import deserialized, look_up, serialized

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh

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
    "msle": MeanSquaredLogarithmicError,
    "MSLE": MeanSquaredLogarithmicError,
    "mean_squared_logarithmic_error": MeanSquaredLogarithmicError,
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


def __dir__() -> list[str]:
    return _public_names(__name__)
