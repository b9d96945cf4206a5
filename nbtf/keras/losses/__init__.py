"""`tf.keras.losses`: measures of the error of predictions."""

from __future__ import annotations

from typing import Any

from nbtf.keras import border as _border
from nbtf.keras.catalogue import public_classes, public_functions
from nbtf.keras.losses.classes import BinaryCrossentropy as BinaryCrossentropy
from nbtf.keras.losses.classes import CategoricalCrossentropy as CategoricalCrossentropy
from nbtf.keras.losses.classes import CosineSimilarity as CosineSimilarity
from nbtf.keras.losses.classes import Hinge as Hinge
from nbtf.keras.losses.classes import Huber as Huber
from nbtf.keras.losses.classes import KLDivergence as KLDivergence
from nbtf.keras.losses.classes import LogCosh as LogCosh
from nbtf.keras.losses.classes import MeanAbsoluteError as MeanAbsoluteError
from nbtf.keras.losses.classes import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from nbtf.keras.losses.classes import MeanSquaredError as MeanSquaredError
from nbtf.keras.losses.classes import Poisson as Poisson
from nbtf.keras.losses.classes import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from nbtf.keras.losses.functions import binary_crossentropy as binary_crossentropy
from nbtf.keras.losses.functions import categorical_crossentropy as categorical_crossentropy
from nbtf.keras.losses.functions import cosine_similarity as cosine_similarity
from nbtf.keras.losses.functions import hinge as hinge
from nbtf.keras.losses.functions import huber as huber
from nbtf.keras.losses.functions import kl_divergence as kl_divergence
from nbtf.keras.losses.functions import log_cosh as log_cosh
from nbtf.keras.losses.functions import mean_absolute_error as mean_absolute_error
from nbtf.keras.losses.functions import mean_absolute_percentage_error as mean_absolute_percentage_error
from nbtf.keras.losses.functions import mean_squared_error as mean_squared_error
from nbtf.keras.losses.functions import poisson as poisson
from nbtf.keras.losses.functions import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from nbtf.keras.losses.loss import Loss as Loss
from nbtf.keras.losses.loss import LossFunctionWrapper as LossFunctionWrapper
from nbtf.keras.losses.loss import Reduction as Reduction
from nbtf.keras.registry import deserialized, look_up, serialized

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
kld = KLD = kullback_leibler_divergence = kl_divergence
bce = BCE = binary_crossentropy
logcosh = log_cosh

_KNOWN: dict[str, Any] = {**public_classes(globals()), **public_functions(globals())}


def get(identifier: Any) -> Any:
    """Returns the loss for a name, a config, a class or a function; None for None.

    >>> tf.keras.losses.get("mse").__name__
    'mean_squared_error'
    """
    return look_up(identifier, _KNOWN, "loss")


def serialize(loss: Any) -> Any:
    """Returns a loss as plain data."""
    return serialized(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """Creates a loss from the result of `serialize`."""
    return get(name) if isinstance(name, str) else deserialized(name, custom_objects, _KNOWN)


_border.guard(__name__)
