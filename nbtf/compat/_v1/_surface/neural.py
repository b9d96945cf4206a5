"""Functions of `tf.nn` with TensorFlow 1's arguments: convolutions, pooling, normalization, losses."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.math.comparison import greater_equal, where
from nbtf._ops.math.division import divide
from nbtf._runtime.conversion import as_tensor
from nbtf._types import float32
from nbtf.compat._v1._surface.random_numbers import random_uniform
from nbtf.compat._v1._surface.reductions import one_of
from nbtf.compat._v1._surface.scoping import inside, opened


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Computes a two-dimensional convolution; see `nbtf.nn.conv2d`.

    Args:
      filter: filters with shape `[rows, columns, channels, results]`.
      use_cudnn_on_gpu: accepted and ignored.
    """
    with inside():
        kernel = one_of("filters", filters, "filter", filter)
        return nbtf.nn.conv2d(input, kernel, strides, padding, data_format, dilations, name=name)


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Computes a transposed convolution, the gradient of `conv2d`; see `nbtf.nn.conv2d_transpose`.

    Args:
      value: images.
      filter: filters with shape `[rows, columns, results, channels]`.
    """
    with inside():
        images, weights = one_of("input", input, "value", value), one_of("filters", filters, "filter", filter)
        return nbtf.nn.conv2d_transpose(
            images, weights, output_shape, strides, padding, data_format, dilations, name=name or "conv2d_transpose"
        )


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Returns the largest element in each window; see `nbtf.nn.max_pool`.

    Args:
      value: images with shape `[batch, rows, columns, channels]`.
    """
    with inside():
        return nbtf.nn.max_pool2d(one_of("input", input, "value", value), ksize, strides, padding, data_format, name)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Returns the mean of the elements in each window; see `max_pool`."""
    with inside():
        return nbtf.nn.avg_pool2d(one_of("input", input, "value", value), ksize, strides, padding, data_format, name)


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


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Returns the softmax; `dim` is an older name of `axis`. See `nbtf.nn.softmax`."""
    with inside():
        return nbtf.nn.softmax(logits, one_of("axis", axis, "dim", dim), name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Returns the logarithm of the softmax; `dim` is an older name of `axis`."""
    with inside():
        return nbtf.nn.log_softmax(logits, one_of("axis", axis, "dim", dim), name)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> Any:
    """Returns the mean and variance along axes; `keep_dims` is an older name of `keepdims`. See `nbtf.nn.moments`."""
    with opened("moments", name):
        return nbtf.nn.moments(x, axes, shift, bool(one_of("keepdims", keepdims, "keep_dims", keep_dims)))


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Looks up rows in a table; see `nbtf.nn.embedding_lookup`.

    Args:
      partition_strategy: accepted and ignored, because there is only one table.
      validate_indices: accepted and ignored.

    Raises:
      ValueError: if there are several tables; join them with `tf.concat`.
    """
    if isinstance(params, list | tuple) and len(params) > 1:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("nbtf does not support tables in several parts. Join them with `tf.concat` along axis 0.")
    with opened("embedding_lookup", name):
        return nbtf.nn.embedding_lookup(params, ids, max_norm)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Any:
    """Returns whether each target is among the `k` largest predictions in its row; see `nbtf.nn.in_top_k`."""
    with opened("in_top_k", name):
        return nbtf.nn.in_top_k(targets, predictions, k)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Returns `x @ weights + biases`.

    Args:
      x: tensor with shape `[batch, in]`.
      weights: tensor with shape `[in, out]`.
      biases: tensor with shape `[out]`.
    """
    with opened("xw_plus_b", name) as scope:
        return nbtf.nn.bias_add(nbtf.matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Returns `relu(x @ weights + biases)`; see `xw_plus_b`."""
    with opened("relu_layer", name) as scope:
        return nbtf.nn.relu(nbtf.nn.bias_add(nbtf.matmul(x, weights), biases), name=scope)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Any:
    """Scales vectors to norm 1; `dim` is an older name of `axis`. See `nbtf.math.l2_normalize`."""
    with opened("l2_normalize", name) as scope:
        return nbtf.math.l2_normalize(x, one_of("axis", axis, "dim", dim), epsilon, name=scope)


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Returns the fraction of elements that are 0."""
    with opened("zero_fraction", name):
        return nbtf.reduce_mean(nbtf.cast(nbtf.equal(value, nbtf.zeros_like(value)), float32), name="fraction")


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Normalizes each image channel to mean `offset` and standard deviation `scale`.

    Args:
      x: images.
      scale: one value per channel.
      offset: one value per channel.
      mean: means of the channels, if this is not training.
      variance: variances of the channels, if this is not training.
      epsilon: number added to variances.
      data_format: `"NHWC"` or `"NCHW"`.
      is_training: whether to use the means and variances of these images.
      exponential_avg_factor: weight of the new means and variances relative to the given ones.

    Returns:
      The normalized images, the means, and the variances. In training, variances are unbiased, and means and variances
        are averaged with the given ones unless the factor is 1.
    """
    with opened("FusedBatchNorm", name):
        tensor: Any = as_tensor(x)
        if data_format == "NCHW":
            tensor = nbtf.transpose(tensor, [0, 2, 3, 1])
        if is_training:
            new_mean, new_variance = nbtf.nn.moments(tensor, [0, 1, 2])
        else:
            new_mean, new_variance = as_tensor(mean), as_tensor(variance)
        normalized: Any = nbtf.nn.batch_normalization(tensor, new_mean, new_variance, offset, scale, epsilon)
        if data_format == "NCHW":
            normalized = nbtf.transpose(normalized, [0, 3, 1, 2])
        if is_training:
            count = divide(nbtf.cast(nbtf.size(tensor), float32), nbtf.cast(nbtf.size(new_mean), float32))
            new_variance = multiply(new_variance, divide(count, nbtf.maximum(subtract(count, 1.0), 1.0)))
            if exponential_avg_factor != 1.0:
                new_mean = _mixed(new_mean, mean, exponential_avg_factor)
                new_variance = _mixed(new_variance, variance, exponential_avg_factor)
        return normalized, new_mean, new_variance


def _mixed(new: Any, old: Any, share: float) -> Any:
    return add(multiply(new, share), multiply(as_tensor(old), 1.0 - share))


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Any:
    """Normalizes a tensor with a given mean and variance; see `nbtf.nn.batch_normalization`."""
    with opened("batchnorm", name):
        return nbtf.nn.batch_normalization(x, mean, variance, offset, scale, variance_epsilon)


def softmax_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    dim: Any = -1,
    name: str | None = None,
    axis: Any = None,
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
        return softmax_cross_entropy_with_logits_v2(fixed, logits, axis=class_axis)


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """Computes the softmax cross entropy for label probabilities; gradients flow into the labels as well.

    Args:
      labels: probabilities that add up to 1.
      logits: float tensor with the same shape.
      axis: axis of the classes; None for the last.
      dim: older name of `axis`.
    """
    class_axis = one_of("axis", axis, "dim", dim)
    with opened("softmax_cross_entropy_with_logits", name):
        return nbtf.nn.softmax_cross_entropy_with_logits(labels, logits, -1 if class_axis is None else class_axis)


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


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """Computes the sigmoid cross entropy of each logit; see `nbtf.nn.sigmoid_cross_entropy_with_logits`.

    Raises:
      ValueError: if an argument is missing or the shapes differ.
    """
    with opened("logistic_loss", name) as scope:
        return nbtf.nn.sigmoid_cross_entropy_with_logits(labels, logits, name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Any:
    """Computes the sigmoid cross entropy with a weight for positive labels.

    Args:
      labels: values between 0 and 1.
      logits: float tensor with the same shape.
      pos_weight: weight of positive labels.
      targets: older name of `labels`.
    """
    with opened("logistic_loss", name) as scope:
        target_values = one_of("labels", labels, "targets", targets)
        return nbtf.nn.weighted_cross_entropy_with_logits(target_values, logits, pos_weight, name=scope)
