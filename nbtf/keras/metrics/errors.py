"""How far predictions are off: means of the losses, and what is made of them."""

from __future__ import annotations

from typing import Any

from nbtf._ops.division import divide_no_nan
from nbtf._ops.elementwise import subtract
from nbtf._ops.functions import sqrt
from nbtf._ops.magnitude import square
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.keras.losses import functions
from nbtf.keras.losses.functions import same_rank
from nbtf.keras.metrics.metric import Mean, MeanMetricWrapper


class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # pyright: ignore[reportIncompatibleMethodOverride]  # Keras has it so
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Gathers the squared errors of a batch."""
        labels, predicted = same_rank(self._as_floats(y_true), self._as_floats(y_pred))
        super().update_state(square(subtract(predicted, labels)), sample_weight)

    def result(self) -> Any:
        """Returns the root of their mean."""
        return sqrt(divide_no_nan(as_tensor(self.total), as_tensor(self.count)))


class MeanSquaredError(MeanMetricWrapper):
    """The mean of squared errors."""

    def __init__(self, name: str = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(functions.mean_squared_error, name, dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of absolute errors."""

    def __init__(self, name: str = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(functions.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of absolute errors in percent of the label."""

    def __init__(self, name: str = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(functions.mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of squared errors of logarithms."""

    def __init__(self, name: str = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(functions.mean_squared_logarithmic_error, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """The mean of `log(cosh(error))`."""

    def __init__(self, name: str = "logcosh", dtype: Any = None) -> None:
        super().__init__(functions.log_cosh, name, dtype)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Returns the cosine of the angle between vectors: 1 where they point the same way. The loss is minus that."""
    return -functions.cosine_similarity(y_true, y_pred, axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between labels and predictions.

    Args:
      axis: along which the vectors lie.
    """

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(cosine_similarity, name, dtype, axis=axis)


class KLDivergence(MeanMetricWrapper):
    """How far predicted shares are from those of the labels."""

    def __init__(self, name: str = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(functions.kl_divergence, name, dtype)


class Poisson(MeanMetricWrapper):
    """The mean of `y_pred - y_true * log(y_pred)`."""

    def __init__(self, name: str = "poisson", dtype: Any = None) -> None:
        super().__init__(functions.poisson, name, dtype)


class Hinge(MeanMetricWrapper):
    """The mean of `losses.Hinge`."""

    def __init__(self, name: str = "hinge", dtype: Any = None) -> None:
        super().__init__(functions.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The mean of `losses.SquaredHinge`."""

    def __init__(self, name: str = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(functions.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The mean of `losses.CategoricalHinge`."""

    def __init__(self, name: str = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(functions.categorical_hinge, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of yes-or-no answers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
    """

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            functions.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of classes that are given as shares.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
    """

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of classes that are given by their numbers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      ignore_class: a number that costs nothing.
      axis: of the classes.
    """

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(
            functions.sparse_categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )
