"""Metrics that measure the error of predictions, most of them as means of losses."""

from __future__ import annotations

from typing import Any

from nbtf._ops.math.arithmetic import subtract
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.magnitude import square
from nbtf._runtime.conversion import as_tensor
from nbtf.keras.losses import functions
from nbtf.keras.losses.functions import same_rank
from nbtf.keras.metrics.metric import FunctionMetric, Mean


class RootMeanSquaredError(Mean):
    """Computes the root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # pyright: ignore[reportIncompatibleMethodOverride]  # as in Keras
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Adds the squared errors of a batch."""
        labels, predicted = same_rank(self._as_floats(y_true), self._as_floats(y_pred))
        super().update_state(square(subtract(predicted, labels)), sample_weight)

    def result(self) -> Any:
        """Returns the root of the mean."""
        return sqrt(divide_no_nan(as_tensor(self.total), as_tensor(self.count)))


class MeanSquaredError(FunctionMetric):
    """Computes the mean of squared errors."""

    _fn = functions.mean_squared_error


class MeanAbsoluteError(FunctionMetric):
    """Computes the mean of absolute errors."""

    _fn = functions.mean_absolute_error


class MeanAbsolutePercentageError(FunctionMetric):
    """Computes the mean of absolute errors in percent of the label."""

    _fn = functions.mean_absolute_percentage_error


class BinaryCrossentropy(FunctionMetric):
    """Computes the mean cross entropy of yes-or-no answers.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      label_smoothing: fraction of each label to spread over all classes; 0 by default.
    """

    from_logits: bool = False
    label_smoothing: float = 0
    _fn = functions.binary_crossentropy


class CategoricalCrossentropy(FunctionMetric):
    """Computes the mean cross entropy of classes whose labels are probabilities or one-hot vectors.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      label_smoothing: fraction of each label to spread over all classes; 0 by default.
      axis: axis of the classes; the last by default.
    """

    from_logits: bool = False
    label_smoothing: float = 0
    axis: int = -1
    _fn = functions.categorical_crossentropy


class SparseCategoricalCrossentropy(FunctionMetric):
    """Computes the mean cross entropy of classes whose labels are class numbers.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      ignore_class: class number that contributes no loss; None by default.
      axis: axis of the classes; the last by default.
    """

    from_logits: bool = False
    ignore_class: int | None = None
    axis: int = -1
    _fn = functions.sparse_categorical_crossentropy
