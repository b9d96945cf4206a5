"""Metrics that count right and wrong yes-or-no answers, at one threshold or at several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import constant, ones_like
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.comparison import greater, not_equal
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.math.exponentials import sigmoid
from nbtf._ops.math.logic import logical_and, logical_not
from nbtf._ops.math.magnitude import clip_by_value, minimum
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.keras import allowance
from nbtf.keras.losses.functions import same_rank
from nbtf.keras.losses.loss import weights_like
from nbtf.keras.metrics.metric import Metric

_THRESHOLD_BYTES = 32  # a Python float and its place in a list


class _Counts(Metric):
    """Counts answers by label and prediction, separately for each threshold."""

    def __init__(self, thresholds: Any, name: str | None, dtype: Any, counted: Sequence[str]) -> None:
        super().__init__(dtype, name)
        self._given = thresholds
        limits: list[float] = [0.5] if thresholds is None else list(np.atleast_1d(np.asarray(thresholds, float)))
        wrong = [
            limit for limit in limits if not 0 <= limit <= 1 and not np.isinf(limit) and not -1e-6 <= limit <= 1 + 1e-6
        ]
        if wrong:
            raise ValueError(f"Threshold values must be in [0, 1]. Received: {wrong}")
        self._thresholds = limits
        names = ["accumulator"] if len(counted) == 1 else counted
        shape = (len(limits),)
        self._counts = {
            count_name: self.add_weight(shape=shape, name=name) for count_name, name in zip(counted, names, strict=True)
        }

    def _gather(self, y_true: Any, y_pred: Any, sample_weight: Any) -> None:
        predicted = self._as_floats(y_pred)
        labels, predicted = same_rank(self._as_floats(y_true), predicted)
        weights = None if sample_weight is None else weights_like(sample_weight, predicted)
        if weights is not None:
            weights = reshape(multiply(weights, ones_like(predicted)), [1, -1])
        answers = greater(reshape(predicted, [1, -1]), constant(self._thresholds, predicted.dtype)[:, None])
        right = not_equal(reshape(labels, [1, -1]), 0.0)  # any label other than 0 means yes, as in Keras
        for name, count in self._counts.items():
            yes, no = answers if "positives" in name else logical_not(answers), right
            agree = ("true" in name) == ("positives" in name)
            hits = cast(logical_and(yes, no if agree else logical_not(no)), self.dtype)
            count._gather(reduce_sum(hits if weights is None else multiply(hits, weights), axis=1))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self._gather(y_true, y_pred, sample_weight)

    def _count(self, name: str) -> Tensor:
        return as_tensor(self._counts[name])

    def _shaped(self, values: Tensor) -> Tensor:
        return values[0] if len(self._thresholds) == 1 else values

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self._given}


class _OneCount(_Counts):
    COUNTED = ""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, name, dtype, [self.COUNTED])

    def result(self) -> Any:
        """Returns the count."""
        return self._shaped(self._count(self.COUNTED))


class TruePositives(_OneCount):
    """Counts the predictions of yes that are right.

    Args:
      thresholds: predictions above these values mean yes; 0.5 by default.
    """

    COUNTED = "true_positives"


class TrueNegatives(_OneCount):
    """Counts the predictions of no that are right; see `TruePositives` for the arguments."""

    COUNTED = "true_negatives"


class FalsePositives(_OneCount):
    """Counts the predictions of yes that are wrong; see `TruePositives` for the arguments."""

    COUNTED = "false_positives"


class FalseNegatives(_OneCount):
    """Counts the predictions of no that are wrong; see `TruePositives` for the arguments."""

    COUNTED = "false_negatives"


class Precision(_Counts):
    """Computes the fraction of predictions of yes that are right.

    Args:
      thresholds: predictions above these values mean yes; 0.5 by default.
      top_k: not supported.
      class_id: column to use; all columns by default.
    """

    COUNTED = ("true_positives", "false_positives")

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        if top_k is not None:
            raise NotImplementedError("`top_k` is not supported in nbtf. Omit it and use `thresholds`.")
        super().__init__(thresholds, name, dtype, self.COUNTED)
        self.class_id = class_id

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if self.class_id is not None:
            y_true, y_pred = as_tensor(y_true)[..., self.class_id], as_tensor(y_pred)[..., self.class_id]
        self._gather(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        """Returns the fraction."""
        right, wrong = (self._count(name) for name in self._counts)
        return self._shaped(divide_no_nan(right, right + wrong))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "top_k": None, "class_id": self.class_id}


class Recall(Precision):
    """Computes the fraction of labels of yes that are predicted; see `Precision` for the arguments."""

    COUNTED = ("true_positives", "false_negatives")


class AUC(_Counts):
    """Computes the area under the ROC or precision-recall curve.

    Args:
      num_thresholds: number of evenly spaced thresholds; 200 by default.
      curve: `"ROC"` or `"PR"`.
      summation_method: `"interpolation"`, `"minoring"` or `"majoring"`.
      thresholds: thresholds to use instead of evenly spaced ones.
      multi_label: not supported.
      num_labels: not supported.
      label_weights: not supported.
      from_logits: whether predictions are logits; false by default.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        if multi_label:
            raise NotImplementedError("`multi_label` is not supported in nbtf. Create one AUC for each label.")
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid `curve` argument value "{curve}". Expected one of: ["PR", "ROC"]')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(
                f'Invalid `summation_method` argument value "{summation_method}". '
                'Expected one of: ["interpolation", "majoring", "minoring"]'
            )
        allowance.take((num_thresholds, _THRESHOLD_BYTES), "uint8")
        inner = [(number + 1) / (num_thresholds - 1) for number in range(num_thresholds - 2)]
        inner = sorted(thresholds) if thresholds is not None else inner
        all_four = ["true_positives", "false_positives", "true_negatives", "false_negatives"]
        super().__init__([-1e-7, *inner, 1 + 1e-7], name, dtype, all_four)
        self._own_thresholds = thresholds
        self.curve, self.summation_method, self._from_logits = curve, summation_method, from_logits

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        predicted = self._as_floats(y_pred)
        predicted = sigmoid(predicted) if self._from_logits else predicted
        if self._own_thresholds is None:
            predicted = clip_by_value(predicted, 0.0, 1.0)  # as in Keras, which sorts them into bins from 0 to 1
        self._gather(y_true, predicted, sample_weight)

    def result(self) -> Any:
        """Returns the area."""
        found_yes, wrong_yes, right_no, missed_yes = (self._count(name) for name in self._counts)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._interpolated(found_yes.numpy(), wrong_yes.numpy(), missed_yes.numpy())
        recall = divide_no_nan(found_yes, found_yes + missed_yes)
        x, y = (
            (divide_no_nan(wrong_yes, wrong_yes + right_no), recall)
            if self.curve == "ROC"
            else (recall, divide_no_nan(found_yes, found_yes + wrong_yes))
        )
        first, second = y[:-1], y[1:]
        heights = {
            "interpolation": (first + second) / 2.0,
            "minoring": minimum(first, second),
            "majoring": first + second - minimum(first, second),
        }
        return reduce_sum((x[:-1] - x[1:]) * heights[self.summation_method])

    def _interpolated(self, found_yes: Any, wrong_yes: Any, missed_yes: Any) -> Tensor:
        """Returns the area under the precision-recall curve with interpolated counts (Davis, 2006)."""
        answered_yes = found_yes + wrong_yes
        step = found_yes[:-1] - found_yes[1:]
        slope = _quotient(step, np.maximum(answered_yes[:-1] - answered_yes[1:], 0))
        start = found_yes[1:] - slope * answered_yes[1:]
        both = (answered_yes[:-1] > 0) & (answered_yes[1:] > 0)
        ratio = np.where(both, _quotient(answered_yes[:-1], np.maximum(answered_yes[1:], 0)), 1.0)
        areas: Any = _quotient(slope * (step + start * np.log(ratio)), np.maximum(found_yes[1:] + missed_yes[1:], 0))
        return constant(areas.sum(), self.dtype)

    def get_config(self) -> dict[str, Any]:
        thresholds_config = {"thresholds": self._own_thresholds} if self._own_thresholds is not None else {}
        return {
            "name": self.name,
            "dtype": self.dtype,
            "num_thresholds": len(self._thresholds),
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": False,
            "num_labels": None,
            "label_weights": None,
            "from_logits": self._from_logits,
            **thresholds_config,
        }


def _quotient(x: Any, y: Any) -> Any:
    return np.divide(x, y, out=np.zeros_like(x), where=y != 0)
