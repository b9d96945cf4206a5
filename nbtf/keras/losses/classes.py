"""The losses as objects, which carry options and a reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtf.keras.losses import functions
from nbtf.keras.losses.loss import FunctionLoss


@dataclass(eq=False, repr=False)
class _Plain(FunctionLoss):
    """A loss without options."""

    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None


@dataclass(eq=False, repr=False)
class MeanSquaredError(_Plain):
    """The mean of squared errors.

    Args:
      dtype: of the result.
    """

    name: str = "mean_squared_error"
    fn = functions.mean_squared_error


@dataclass(eq=False, repr=False)
class MeanAbsoluteError(_Plain):
    """The mean of absolute errors.

    Args:
      dtype: of the result.
    """

    name: str = "mean_absolute_error"
    fn = functions.mean_absolute_error


@dataclass(eq=False, repr=False)
class MeanAbsolutePercentageError(_Plain):
    """The mean of absolute errors in percent of the label.

    Args:
      dtype: of the result.
    """

    name: str = "mean_absolute_percentage_error"
    fn = functions.mean_absolute_percentage_error


@dataclass(eq=False, repr=False)
class MeanSquaredLogarithmicError(_Plain):
    """The mean of squared errors of logarithms.

    Args:
      dtype: of the result.
    """

    name: str = "mean_squared_logarithmic_error"
    fn = functions.mean_squared_logarithmic_error


@dataclass(eq=False, repr=False)
class LogCosh(_Plain):
    """The mean of `log(cosh(error))`.

    Args:
      dtype: of the result.
    """

    name: str = "log_cosh"
    fn = functions.log_cosh


@dataclass(eq=False, repr=False)
class Poisson(_Plain):
    """`y_pred - y_true * log(y_pred)`.

    Args:
      dtype: of the result.
    """

    name: str = "poisson"
    fn = functions.poisson


@dataclass(eq=False, repr=False)
class KLDivergence(_Plain):
    """How far predicted shares are from those of the labels.

    Args:
      dtype: of the result.
    """

    name: str = "kl_divergence"
    fn = functions.kl_divergence


@dataclass(eq=False, repr=False)
class Hinge(_Plain):
    """What answers cost that are wrong, or right by less than 1.

    Args:
      dtype: of the result.
    """

    name: str = "hinge"
    fn = functions.hinge


@dataclass(eq=False, repr=False)
class SquaredHinge(_Plain):
    """The square of `Hinge`, for each answer.

    Args:
      dtype: of the result.
    """

    name: str = "squared_hinge"
    fn = functions.squared_hinge


@dataclass(eq=False, repr=False)
class CategoricalHinge(_Plain):
    """What a class costs that comes within 1 of the right one.

    Args:
      dtype: of the result.
    """

    name: str = "categorical_hinge"
    fn = functions.categorical_hinge


@dataclass(eq=False, repr=False)
class Huber(FunctionLoss):
    """Squared errors when small, absolute errors when large.

    Args:
      delta: from which error on it grows straight.
      dtype: of the result.
    """

    delta: float = 1.0
    reduction: Any = "sum_over_batch_size"
    name: str = "huber_loss"
    dtype: Any = None
    fn = functions.huber


@dataclass(eq=False, repr=False)
class CategoricalCrossentropy(FunctionLoss):
    """The cross entropy of classes that are given as shares.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = "categorical_crossentropy"
    dtype: Any = None
    fn = functions.categorical_crossentropy


@dataclass(eq=False, repr=False)
class SparseCategoricalCrossentropy(FunctionLoss):
    """The cross entropy of classes that are given by their numbers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      ignore_class: a number that costs nothing.
      dtype: of the result.

    >>> loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> loss([1], [[0.0, 2.0]]).numpy().round(4)
    np.float32(0.1269)
    """

    from_logits: bool = False
    ignore_class: int | None = None
    reduction: Any = "sum_over_batch_size"
    name: str = "sparse_categorical_crossentropy"
    dtype: Any = None
    fn = functions.sparse_categorical_crossentropy


@dataclass(eq=False, repr=False)
class BinaryCrossentropy(FunctionLoss):
    """The cross entropy of yes-or-no answers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = "binary_crossentropy"
    dtype: Any = None
    fn = functions.binary_crossentropy


@dataclass(eq=False, repr=False)
class BinaryFocalCrossentropy(FunctionLoss):
    """`BinaryCrossentropy` in which easy examples count less.

    Args:
      apply_class_balancing: whether `alpha` weighs the answers.
      alpha: the weight of the answer 1.
      gamma: how much less easy examples count.
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    apply_class_balancing: bool = False
    alpha: float = 0.25
    gamma: float = 2.0
    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = "binary_focal_crossentropy"
    dtype: Any = None
    fn = functions.binary_focal_crossentropy


@dataclass(eq=False, repr=False)
class CategoricalFocalCrossentropy(FunctionLoss):
    """`CategoricalCrossentropy` in which easy examples count less.

    Args:
      alpha: the weight of the answer 1.
      gamma: how much less easy examples count.
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    alpha: float = 0.25
    gamma: float = 2.0
    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = "categorical_focal_crossentropy"
    dtype: Any = None
    fn = functions.categorical_focal_crossentropy


@dataclass(eq=False, repr=False)
class Dice(FunctionLoss):
    """One minus twice what two regions share, by their size.

    Args:
      axis: of the classes.
      dtype: of the result.
    """

    axis: Any = None
    reduction: Any = "sum_over_batch_size"
    name: str = "dice"
    dtype: Any = None
    fn = functions.dice


@dataclass(eq=False, repr=False)
class CosineSimilarity(FunctionLoss):
    """Minus the cosine of the angle between labels and predictions: -1 where they point the same way.

    Args:
      axis: along which the vectors lie.
      dtype: of the result.
    """

    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = "cosine_similarity"
    dtype: Any = None
    fn = functions.cosine_similarity
