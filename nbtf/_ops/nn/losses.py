"""Losses: cross entropies, and functions that average them."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.shapes import expand_dims, lengths_of, transpose
from nbtf._ops.debugging.shapes_and_dtypes import assert_integer, assert_scalar
from nbtf._ops.debugging.values import assert_non_negative
from nbtf._ops.math.arithmetic import add, cast, multiply, negative, subtract
from nbtf._ops.math.comparison import greater_equal, where
from nbtf._ops.math.division import divide, divide_no_nan
from nbtf._ops.math.exponentials import exp, log1p
from nbtf._ops.math.magnitude import abs
from nbtf._ops.nn.activations import relu
from nbtf._ops.nn.softmax import log_softmax, softmax
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import reduce_sum, unbroadcast
from nbtf._ops.specs import bracketed, broadcast_shapes
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike, float16, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError


def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, name: str | None = None) -> Tensor:
    """Computes the cross entropy of logits and class numbers, `-log(softmax(logits)[label])`.

    Args:
      labels: the correct class numbers, int32 or int64, shape `[d0, ..., dn]`.
      logits: floats, shape `[d0, ..., dn, classes]`.

    Returns:
      The losses, shape `[d0, ..., dn]`.

    Raises:
      ValueError: if an argument is missing, or the shapes do not fit.
      InvalidArgumentError: if a class does not exist (checked on the CPU only), or a dtype is not supported.

    >>> tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    _check_given("sparse_softmax_cross_entropy_with_logits", labels, logits)
    right, scores = as_tensor(labels), as_tensor(logits)
    precise = cast(scores, float32) if scores.dtype is float16 else scores
    rank = _sparse_rank(right, scores)
    if rank == 2:
        losses = SparseSoftmaxCrossEntropyWithLogits(precise, right, name=name)[0]
    else:
        classes = lengths_of(precise)[-1]
        rows, row_labels = reshape(precise, [-1, classes]), reshape(right, [-1])
        losses = reshape(SparseSoftmaxCrossEntropyWithLogits(rows, row_labels, name=name)[0], lengths_of(right))
    return cast(losses, scores.dtype)


def _check_given(function: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        values = [value.numpy() if isinstance(value, Tensor) else value for value in (labels, logits)]
        text = f"Both `labels` and `logits` must be provided for {function}"
        raise ValueError(f"{text}Received: labels={values[0]} and logits={values[1]}")


def _sparse_rank(labels: Tensor, logits: Tensor) -> int | None:
    """Returns the rank of the logits after checking that they fit the labels."""
    if labels.__class__ is Tensor is logits.__class__:  # 15 times as fast, in every training step
        shape = logits._array.shape
        if shape and labels._array.shape == shape[:-1]:
            return len(shape)
    if logits.shape.rank == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits.numpy()}`")
    if None in (labels.shape.rank, logits.shape.rank):  # known only at run time
        return logits.shape.rank
    if labels.shape.rank != len(logits.shape) - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
            f"labels.shape={labels.shape} of rank {labels.shape.rank} and logits.shape={logits.shape} of rank "
            f"{logits.shape.rank}"
        )
    if not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. "
            f"Received: labels.shape={labels.shape} and logits.shape={logits.shape}"
        )
    return logits.shape.rank


@op("T L -> T T", T=FLOATS, L=frozenset({int32, int64}))
def SparseSoftmaxCrossEntropyWithLogits(xp: Any, features: Any, labels: Any) -> Any:
    classes = features.shape[1]
    if xp.__name__ == "numpy":  # on a GPU, the check would wait for the values; TensorFlow does not check either
        _check_labels(labels, classes)
    shifted = features - features.max(1, None, True) if features.size else features
    shares = xp.exp(shifted)
    totals = xp.add.reduce(shares, 1, shares.dtype, None, True)
    shares /= totals
    rows = xp.arange(labels.size)
    losses = xp.log(totals)[:, 0] - shifted[rows, labels]
    shares[rows, labels] -= 1
    return losses, shares


def _check_labels(labels: Any, classes: int) -> None:
    outside = labels.view(f"u{labels.itemsize}") >= classes  # as unsigned, negative numbers are large
    if outside.any():
        wrong = labels[outside][0]
        text = f"Received a label value of {wrong} which is outside the valid range of [0, {classes}).  Label values: "
        raise InvalidArgumentError(text + " ".join(map(str, labels.tolist())))


@SparseSoftmaxCrossEntropyWithLogits.infer
def _(features: Spec, labels: Spec) -> list[Spec]:
    return [Spec(features.shape[:1], features.dtype), features]


@SparseSoftmaxCrossEntropyWithLogits.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor | None, grad_of_grad: Tensor | None = None) -> Gradients:
    return [_towards_logits(call, grad, grad_of_grad), None]


def _towards_logits(call: Call, grad: Tensor | None, grad_of_grad: Tensor | None) -> Tensor | None:
    """Returns the gradient of the logits: the op's second result is the derivative of the first by the logits."""
    first = None if grad is None else expand_dims(grad, -1) * call.outputs[1]
    if grad_of_grad is None:
        return first
    shares = softmax(call.inputs[0])
    shared = reduce_sum(grad_of_grad * shares, -1, True)
    second = (grad_of_grad - shared) * shares
    return second if first is None else first + second


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of logits and labels that are probabilities.

    Args:
      labels: probabilities that add up to 1 along `axis`; the shape must broadcast with that of `logits`.
      logits: floats.
      axis: the axis of the classes; the last by default.

    Returns:
      The losses, of `logits`' shape without `axis`.

    Raises:
      ValueError: if an argument is missing.

    >>> tf.nn.softmax_cross_entropy_with_logits(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    scores = as_tensor(logits)
    shares = as_tensor(labels)
    precise = cast(scores, float32) if scores.dtype is float16 else scores
    shares = cast(shares, precise.dtype)
    rank = precise.shape.rank or shares.shape.rank  # in a graph, one of them may be unknown until the run
    if rank is not None and axis not in (-1, rank - 1):
        order = list(range(rank))
        order.append(order.pop(axis))
        precise, shares = transpose(precise, order), transpose(shares, order)
    if precise.shape.rank == shares.shape.rank == 2:
        losses = SoftmaxCrossEntropyWithLogits(precise, shares, name=name)[0]
    else:
        if 0 in (precise.shape.rank, shares.shape.rank):
            raise InvalidArgumentError("logits and labels must have at least 1 dimension, got a scalar")
        rows = [reshape(tensor, [-1, lengths_of(tensor)[-1]]) for tensor in (precise, shares)]
        losses = reshape(SoftmaxCrossEntropyWithLogits(*rows, name=name)[0], lengths_of(precise)[:-1])
    return cast(losses, scores.dtype)


@op("T T -> T T", T=FLOATS)
def SoftmaxCrossEntropyWithLogits(xp: Any, features: Any, labels: Any) -> Any:
    shifted = features - features.max(1, None, True) if features.size else features
    shares = xp.exp(shifted)
    totals = xp.add.reduce(shares, 1, shares.dtype, None, True)
    losses = xp.add.reduce(labels * (xp.log(totals) - shifted), 1, shares.dtype)
    return losses, shares / totals - labels


@SoftmaxCrossEntropyWithLogits.infer
def _(features: Spec, labels: Spec) -> list[Spec]:
    try:
        shape = broadcast_shapes(features.shape, labels.shape)
    except InvalidArgumentError:
        sizes = f"logits_size={bracketed(features.shape)} labels_size={bracketed(labels.shape)}"
        raise InvalidArgumentError(f"logits and labels must be broadcastable: {sizes}") from None
    return [Spec(shape[:1], features.dtype), Spec(shape, features.dtype)]


@SoftmaxCrossEntropyWithLogits.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor | None, grad_of_grad: Tensor | None = None) -> Gradients:
    features, labels = call.inputs
    for_features = _towards_logits(call, grad, grad_of_grad)
    if for_features is not None:
        for_features = unbroadcast(for_features, features)
    if grad is None or not call.needs(1):
        return [for_features, None]
    for_labels = expand_dims(grad, -1) * -log_softmax(features)
    return [for_features, unbroadcast(for_labels, labels)]


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of each logit's sigmoid and its label.

    Args:
      labels: between 0 and 1, of `logits`' shape and dtype.
      logits: floats.

    Returns:
      The losses, of the same shape.

    Raises:
      ValueError: if an argument is missing, or the shapes differ.

    >>> tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 100.0]).numpy()
    array([  0.6931472, 100.       ], dtype=float32)
    """
    _check_given("sigmoid_cross_entropy_with_logits", labels, logits)
    scores, right = as_tensor(logits), as_tensor(labels)
    if not right.shape.is_compatible_with(scores.shape):
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({scores.shape} vs {right.shape}).")
    zeros = zeros_like(scores)
    positive = greater_equal(scores, zeros)
    above = where(positive, scores, zeros)
    below = where(positive, negative(scores), scores)  # -abs, with a gradient at 0
    return add(above - scores * right, log1p(exp(below)), name)


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Computes `sigmoid_cross_entropy_with_logits` with a weight for positive labels.

    Args:
      labels: between 0 and 1, of `logits`' shape and dtype.
      logits: floats.
      pos_weight: the weight of positive labels; above 1, the model misses fewer of them.

    Returns:
      The losses, of the same shape.

    Raises:
      ValueError: if the shapes differ.

    >>> tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], pos_weight=2.0).numpy()
    array([1.3862944], dtype=float32)
    """
    scores, right = as_tensor(logits), as_tensor(labels)
    if not right.shape.is_compatible_with(scores.shape):
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({scores.shape} vs {right.shape}).")
    weight = add(multiply(subtract(as_tensor(pos_weight, scores.dtype), 1), right), 1)
    softened = add(log1p(exp(negative(abs(scores)))), relu(negative(scores)))
    return add(multiply(subtract(as_tensor(1, scores.dtype), right), scores), multiply(weight, softened), name)


def compute_average_loss(
    per_example_loss: TensorLike, sample_weight: TensorLike | None = None, global_batch_size: Any = None
) -> Tensor:
    """Returns the average of losses over the examples of all replicas.

    Args:
      per_example_loss: one loss per example of this replica; may have more axes.
      sample_weight: factors of the losses; none by default.
      global_batch_size: total number of examples of all replicas; by default the first length of
        `per_example_loss` times the number of replicas.

    Returns:
      A scalar: the sum of the losses divided by `global_batch_size`. The replicas' scalars add up to the average.

    Raises:
      ValueError: if `per_example_loss` is a scalar, or `global_batch_size` is not a scalar.
      TypeError: if `global_batch_size` is not an integer.
      InvalidArgumentError: if `global_batch_size` is negative.

    >>> tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=4).numpy()
    np.float32(0.75)
    """
    losses = as_tensor(per_example_loss)
    if losses.shape.rank == 0:
        text = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. Received "
        raise ValueError(f"{text}per_example_loss={losses.numpy()} with rank 0")
    dtype = losses.dtype
    if sample_weight is not None:
        losses = multiply(losses, cast(as_tensor(sample_weight), dtype))
    if global_batch_size is None:
        global_batch_size = losses.shape[0] * _replicas()
    size = as_tensor(global_batch_size)
    assert_scalar(size, message="global_batch_size must be scalar.")
    assert_integer(size, message="global_batch_size must be an integer.")
    assert_non_negative(size, message="global_batch_size must be non-negative.")
    total = reduce_sum(losses)
    if not dtype.is_floating:
        total = cast(total, float64)
    return divide_no_nan(total, cast(size, total.dtype))


def _replicas() -> int:
    scope = SCOPE()
    return 1 if scope is None or scope.strategy is None else scope.strategy.num_replicas_in_sync


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Returns a loss, which is the same on every replica, divided by the number of replicas.

    Args:
      regularization_loss: a loss, or several to sum.

    Returns:
      A scalar; the replicas' scalars add up to the loss.

    >>> tf.nn.scale_regularization_loss([1.0, 2.0]).numpy()
    np.float32(3.0)
    """
    total = reduce_sum(as_tensor(regularization_loss))
    return divide(total, float(_replicas()))
