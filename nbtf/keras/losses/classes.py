"""The losses as objects, which carry options and a reduction."""

from __future__ import annotations

from typing import Any

from nbtf.keras.losses import functions
from nbtf.keras.losses.loss import LossFunctionWrapper


class MeanSquaredError(LossFunctionWrapper):
    """The mean of squared errors.

    Args:
      dtype: of the result.
    """

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str = "mean_squared_error", dtype: Any = None
    ) -> None:
        super().__init__(functions.mean_squared_error, reduction, name, dtype)


class MeanAbsoluteError(LossFunctionWrapper):
    """The mean of absolute errors.

    Args:
      dtype: of the result.
    """

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str = "mean_absolute_error", dtype: Any = None
    ) -> None:
        super().__init__(functions.mean_absolute_error, reduction, name, dtype)


class MeanAbsolutePercentageError(LossFunctionWrapper):
    """The mean of absolute errors in percent of the label.

    Args:
      dtype: of the result.
    """

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str = "mean_absolute_percentage_error", dtype: Any = None
    ) -> None:
        super().__init__(functions.mean_absolute_percentage_error, reduction, name, dtype)


class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """The mean of squared errors of logarithms.

    Args:
      dtype: of the result.
    """

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str = "mean_squared_logarithmic_error", dtype: Any = None
    ) -> None:
        super().__init__(functions.mean_squared_logarithmic_error, reduction, name, dtype)


class LogCosh(LossFunctionWrapper):
    """The mean of `log(cosh(error))`.

    Args:
      dtype: of the result.
    """

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str = "log_cosh", dtype: Any = None) -> None:
        super().__init__(functions.log_cosh, reduction, name, dtype)


class Poisson(LossFunctionWrapper):
    """`y_pred - y_true * log(y_pred)`.

    Args:
      dtype: of the result.
    """

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str = "poisson", dtype: Any = None) -> None:
        super().__init__(functions.poisson, reduction, name, dtype)


class KLDivergence(LossFunctionWrapper):
    """How far predicted shares are from those of the labels.

    Args:
      dtype: of the result.
    """

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(functions.kl_divergence, reduction, name, dtype)


class Hinge(LossFunctionWrapper):
    """What answers cost that are wrong, or right by less than 1.

    Args:
      dtype: of the result.
    """

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str = "hinge", dtype: Any = None) -> None:
        super().__init__(functions.hinge, reduction, name, dtype)


class SquaredHinge(LossFunctionWrapper):
    """The square of `Hinge`, for each answer.

    Args:
      dtype: of the result.
    """

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(functions.squared_hinge, reduction, name, dtype)


class CategoricalHinge(LossFunctionWrapper):
    """What a class costs that comes within 1 of the right one.

    Args:
      dtype: of the result.
    """

    def __init__(
        self, reduction: Any = "sum_over_batch_size", name: str = "categorical_hinge", dtype: Any = None
    ) -> None:
        super().__init__(functions.categorical_hinge, reduction, name, dtype)


class Huber(LossFunctionWrapper):
    """Squared errors when small, absolute errors when large.

    Args:
      delta: from which error on it grows straight.
      dtype: of the result.
    """

    def __init__(
        self, delta: float = 1.0, reduction: Any = "sum_over_batch_size", name: str = "huber_loss", dtype: Any = None
    ) -> None:
        super().__init__(functions.huber, reduction, name, dtype, delta=delta)


class CategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of classes that are given as shares.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: Any = "sum_over_batch_size",
        name: str = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of classes that are given by their numbers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      ignore_class: a number that costs nothing.
      dtype: of the result.

    >>> loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> loss([1], [[0.0, 2.0]]).numpy().round(4)
    np.float32(0.1269)
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: Any = "sum_over_batch_size",
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.sparse_categorical_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
        )


class BinaryCrossentropy(LossFunctionWrapper):
    """The cross entropy of yes-or-no answers.

    Args:
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: Any = "sum_over_batch_size",
        name: str = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.binary_crossentropy,
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class BinaryFocalCrossentropy(LossFunctionWrapper):
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

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: Any = "sum_over_batch_size",
        name: str = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.binary_focal_crossentropy,
            reduction,
            name,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(LossFunctionWrapper):
    """`CategoricalCrossentropy` in which easy examples count less.

    Args:
      alpha: the weight of the answer 1.
      gamma: how much less easy examples count.
      from_logits: whether predictions are logits, and not shares.
      label_smoothing: the part of the labels that is spread over all classes.
      axis: of the classes.
      dtype: of the result.
    """

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: Any = "sum_over_batch_size",
        name: str = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            functions.categorical_focal_crossentropy,
            reduction,
            name,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class Dice(LossFunctionWrapper):
    """One minus twice what two regions share, by their size.

    Args:
      axis: of the classes.
      dtype: of the result.
    """

    def __init__(
        self, axis: Any = None, reduction: Any = "sum_over_batch_size", name: str = "dice", dtype: Any = None
    ) -> None:
        super().__init__(functions.dice, reduction, name, dtype, axis=axis)


class CosineSimilarity(LossFunctionWrapper):
    """Minus the cosine of the angle between labels and predictions: -1 where they point the same way.

    Args:
      axis: along which the vectors lie.
      dtype: of the result.
    """

    def __init__(
        self, axis: int = -1, reduction: Any = "sum_over_batch_size", name: str = "cosine_similarity", dtype: Any = None
    ) -> None:
        super().__init__(functions.cosine_similarity, reduction, name, dtype, axis=axis)
