"""Functions of `tf.nn` with TensorFlow 1's arguments that have rules of their own; the others are in the table."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.math.arithmetic import multiply, subtract
from nbtf._ops.math.comparison import greater_equal, where
from nbtf._ops.math.division import divide
from nbtf._ops.nn.ctc_decoding import beam_search
from nbtf._ops.nn.ctc_loss import loss_of_sparse_labels
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._surface.random_numbers import random_uniform
from nbtf.compat._v1._surface.scoping import opened
from nbtf.compat._v1._surface.wrapping import tabled


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Sets random elements to 0, and scales up the others to preserve the expected sum.

    Args:
      x: float tensor.
      keep_prob: fraction of elements to keep; may be a tensor.
      noise_shape: shape of the random mask, which is broadcast to `x`'s shape.
      seed: seed of the op; None uses only the graph's seed.
      rate: fraction of elements to drop: `1 - keep_prob`.

    Raises:
      ValueError: if neither or both of `keep_prob` and `rate` are given, or a value is out of range.
    """
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'.")
    if keep_prob is None and rate is None:
        raise ValueError(f"`rate` must be provided. Received: rate={rate}")
    with opened("dropout", name) as scope:
        drop_rate = rate if keep_prob is None else 1.0 - keep_prob
        if scope is None:
            return nbtf.nn.dropout(x, drop_rate, noise_shape, seed)
        tensor: Any = as_tensor(x)
        return _drop(tensor, drop_rate, shape_of(tensor) if noise_shape is None else noise_shape, seed)


def _drop(x: Any, rate: Any, noise_shape: Any, seed: int | None) -> Any:
    if isinstance(rate, int | float):
        if not 0 <= rate < 1:
            text = "`rate` must be a scalar tensor or a float in the range [0, 1). "
            raise ValueError(f"{text}Received: rate={rate}")
        if rate == 0:
            return x
        scaled: Any = multiply(x, 1 / (1 - rate))
    else:
        rate = reshape(as_tensor(rate), [])
        scaled = divide(x, subtract(as_tensor(1, x._dtype), rate))
    survives = greater_equal(random_uniform(noise_shape, dtype=x._dtype, seed=seed), rate)
    dropped: Any = where(survives, scaled, as_tensor(0, x._dtype))
    dropped.set_shape(x._shape)
    return dropped


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Returns `x @ weights + biases`.

    Args:
      x: tensor with shape `[batch, in]`.
      weights: tensor with shape `[in, out]`.
      biases: tensor with shape `[out]`.
    """
    with opened("xw_plus_b", name) as scope:
        return nbtf.nn.bias_add(nbtf.matmul(x, weights), biases, name=scope)


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: Any = -1, name: str | None = None, axis: Any = None
) -> Any:
    """Computes the softmax cross entropy for label probabilities; no gradients flow into the labels.

    Args:
      labels: probabilities that add up to 1.
      logits: float tensor with the same shape.
      dim: axis of the classes.
      axis: newer name of `dim`.

    Raises:
      ValueError: if an argument is missing.
    """
    class_axis = dim if axis is None else axis
    with opened("softmax_cross_entropy_with_logits_sg", name):
        fixed = None if labels is None else nbtf.stop_gradient(labels, name="labels_stop_gradient")
        return tabled("nn.softmax_cross_entropy_with_logits_v2")(fixed, logits, axis=class_axis)


def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """Computes the softmax cross entropy for integer class labels.

    Args:
      labels: indices of the correct classes.
      logits: float tensor with one more axis.

    Raises:
      ValueError: if an argument is missing or the shapes do not match.
    """
    with opened("SparseSoftmaxCrossEntropyWithLogits", name):
        return nbtf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name=name)


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """Returns the negative logarithm of the probability that logits spell the labels; the last class is the blank.

    Args:
      labels: a sparse int32 tensor of class numbers, shape `[batch, longest]`.
      inputs: floats of shape `[steps, batch, classes]`.
      sequence_length: the number of steps of each row.
      preprocess_collapse_repeated: whether repeated labels become one label; False by default.
      ctc_merge_repeated: whether repeated classes without a blank between them spell one label; True by default.
      ignore_longer_outputs_than_inputs: whether the loss of a row with too few steps is 0 and no error.
      time_major: False if the shape of the logits is `[batch, steps, classes]`; True by default.
      logits: the current name of `inputs`.

    Raises:
      TypeError: if the labels are not sparse.
    """
    if not isinstance(labels, SparseTensor):
        text = f"Expected argument `labels` to be a SparseTensor. Received labels={labels} of type: "
        raise TypeError(f"{text}{type(labels).__name__}")
    scores = inputs if logits is None else logits
    switches = (preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs)
    return loss_of_sparse_labels(labels, scores, sequence_length, *switches, time_major)


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> Any:
    """Returns the likeliest sequences of labels, found by a beam search; the last class is the blank.

    Args:
      inputs: logits of shape `[steps, batch, classes]`.
      sequence_length: the number of steps of each row.
      beam_width: how many sequences each step keeps; 100 by default.
      top_paths: the number of sequences to return; 1 by default.
      merge_repeated: whether repeated labels of a sequence become one label; True by default.
    """
    return beam_search(inputs, sequence_length, beam_width, top_paths, merge_repeated)
