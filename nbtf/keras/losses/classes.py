"""Losses as objects with options and a reduction."""

from __future__ import annotations

from typing import Any

from nbtf.keras.losses import functions
from nbtf.keras.losses.loss import FunctionLoss


class _Plain(FunctionLoss):
    """Base class of losses without options."""

    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None


class MeanSquaredError(_Plain):
    """Computes the mean of squared errors.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.mean_squared_error


class MeanAbsoluteError(_Plain):
    """Computes the mean of absolute errors.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.mean_absolute_error


class MeanAbsolutePercentageError(_Plain):
    """Computes the mean of absolute errors in percent of the label.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.mean_absolute_percentage_error


class LogCosh(_Plain):
    """Computes the mean of `log(cosh(error))`.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.log_cosh


class Poisson(_Plain):
    """Computes the mean of `y_pred - y_true * log(y_pred)`.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.poisson


class KLDivergence(_Plain):
    """Computes the Kullback-Leibler divergence of predictions from labels.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.kl_divergence


class Hinge(_Plain):
    """Computes the hinge loss, a penalty for answers that are wrong or right by a margin below 1.

    Args:
      dtype: dtype of the result; `floatx()` by default.
    """

    fn = functions.hinge


class Huber(FunctionLoss):
    """Computes a loss that is quadratic for small errors and linear for large ones.

    Args:
      delta: error at which the loss becomes linear; 1 by default.
      dtype: dtype of the result; `floatx()` by default.
    """

    delta: float = 1.0
    reduction: Any = "sum_over_batch_size"
    name: str = "huber_loss"
    dtype: Any = None
    fn = functions.huber


class CategoricalCrossentropy(FunctionLoss):
    """Computes the cross entropy of classes whose labels are probabilities or one-hot vectors.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      label_smoothing: fraction of each label to spread over all classes; 0 by default.
      axis: axis of the classes; the last by default.
      dtype: dtype of the result; `floatx()` by default.
    """

    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None
    fn = functions.categorical_crossentropy


class SparseCategoricalCrossentropy(FunctionLoss):
    """Computes the cross entropy of classes whose labels are class numbers.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      ignore_class: class number that contributes no loss; None by default.
      dtype: dtype of the result; `floatx()` by default.

    >>> loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> loss([1], [[0.0, 2.0]]).numpy().round(4)
    np.float32(0.1269)
    """

    from_logits: bool = False
    ignore_class: int | None = None
    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None
    fn = functions.sparse_categorical_crossentropy


class BinaryCrossentropy(FunctionLoss):
    """Computes the cross entropy of yes-or-no answers.

    Args:
      from_logits: whether predictions are logits instead of probabilities; false by default.
      label_smoothing: fraction of each label to spread over all classes; 0 by default.
      axis: axis of the classes; the last by default.
      dtype: dtype of the result; `floatx()` by default.
    """

    from_logits: bool = False
    label_smoothing: float = 0.0
    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None
    fn = functions.binary_crossentropy


class CosineSimilarity(FunctionLoss):
    """Computes the negative cosine of the angle between labels and predictions: -1 if they point the same way.

    Args:
      axis: axis of the vectors; the last by default.
      dtype: dtype of the result; `floatx()` by default.
    """

    axis: int = -1
    reduction: Any = "sum_over_batch_size"
    name: str = ""
    dtype: Any = None
    fn = functions.cosine_similarity
