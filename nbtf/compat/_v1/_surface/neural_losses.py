"""Cross entropies of `tf.nn` with the arguments of TensorFlow 1."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf.compat._v1._surface.reductions import one_of
from nbtf.compat._v1._surface.scoping import opened


def softmax_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    dim: Any = -1,
    name: str | None = None,
    axis: Any = None,
) -> Any:
    """Computes how far the softmax of logits is from labels that are shares; gradients do not flow into the labels.

    Args:
      labels: shares that add up to 1.
      logits: floats of the same shape.
      dim: the axis of the classes.
      axis: `dim` under its younger name.

    Raises:
      ValueError: an argument is missing.
    """
    class_axis = dim if axis is None else axis
    with opened("softmax_cross_entropy_with_logits_sg", name):
        fixed = None if labels is None else nbtf.stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(fixed, logits, axis=class_axis)


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """Computes how far the softmax of logits is from labels that are shares; gradients flow into the labels as well.

    Args:
      labels: shares that add up to 1.
      logits: floats of the same shape.
      axis: the axis of the classes; the last when None.
      dim: `axis` under its older name.
    """
    class_axis = one_of("axis", axis, "dim", dim)
    with opened("softmax_cross_entropy_with_logits", name):
        return nbtf.nn.softmax_cross_entropy_with_logits(labels, logits, -1 if class_axis is None else class_axis)


def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """Computes how much probability logits give to the right classes.

    Args:
      labels: the number of the right class.
      logits: floats, with one more axis.

    Raises:
      ValueError: an argument is missing, or the shapes do not fit.
    """
    with opened("SparseSoftmaxCrossEntropyWithLogits", name):
        return nbtf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name=name)


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """Computes how far the sigmoid of each logit is from its label; see `nbtf.nn.sigmoid_cross_entropy_with_logits`.

    Raises:
      ValueError: an argument is missing, or the shapes differ.
    """
    with opened("logistic_loss", name) as scope:
        return nbtf.nn.sigmoid_cross_entropy_with_logits(labels, logits, name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Any:
    """Computes `sigmoid_cross_entropy_with_logits` with more or less weight on positive labels.

    Args:
      labels: between 0 and 1.
      logits: floats of the same shape.
      pos_weight: the weight of positive labels.
      targets: `labels` under their older name.
    """
    with opened("logistic_loss", name) as scope:
        target_values = one_of("labels", labels, "targets", targets)
        return nbtf.nn.weighted_cross_entropy_with_logits(target_values, logits, pos_weight, name=scope)
