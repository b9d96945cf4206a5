"""Layers that normalize values to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from nbtf import nn
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.magnitude import square
from nbtf._ops.nn.normalization import layer_normalization
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._types import float32
from nbtf.keras.layers.described import arguments_of
from nbtf.keras.layers.input_spec import InputSpec
from nbtf.keras.layers.same_shape import SameShape
from nbtf.keras.type_guards import is_list


class BatchNormalization(SameShape):
    """Normalizes each channel to mean 0 and variance 1: over the batch in training, otherwise by moving averages.

    Args:
      axis: axis of the channels; the last by default.
      momentum: fraction of a moving average that is kept at each step; 0.99 by default.
      epsilon: number added to the variance; 0.001 by default.
      center: whether to add a trainable offset to the results; true by default.
      scale: whether to multiply the results by a trainable factor; true by default.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer, beta_regularizer,
        gamma_regularizer, beta_constraint, gamma_constraint: as in `LayerNormalization`.
      synchronized: ignored; each replica normalizes its own part of the batch.

    >>> layer = tf.keras.layers.BatchNormalization()
    >>> layer([[1.0], [3.0]], training=True).numpy().round(2)
    array([[-1.],
           [ 1.]], dtype=float32)
    >>> layer.moving_mean.numpy()
    array([0.02], dtype=float32)
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis: int = int(axis[0]) if is_list(axis) else int(axis)
        self.momentum: float = float(momentum)
        self.epsilon: float = epsilon
        self.center: bool = center
        self.scale: bool = scale
        self.synchronized = synchronized
        self._take_rules("beta", beta_initializer, beta_regularizer, beta_constraint)
        self._take_rules("gamma", gamma_initializer, gamma_regularizer, gamma_constraint)
        self._take_rules("moving_mean", moving_mean_initializer)
        self._take_rules("moving_variance", moving_variance_initializer)
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    _config = arguments_of(__init__, "synchronized")

    def build(self, input_shape: Any) -> None:
        channels = input_shape[self.axis]
        shape = (channels,)
        if self.scale:
            self.gamma = self._weight("gamma", shape)
        if self.center:
            self.beta = self._weight("beta", shape)
        # Each replica updates averages of its own part of the batch; reading them outside of replicas gives their mean.
        moving: dict[str, Any] = {
            "trainable": False,
            "autocast": False,
            "aggregation": "mean",
            "synchronization": "on_read",
        }
        self.moving_mean = self._weight("moving_mean", shape, **moving)
        self.moving_variance = self._weight("moving_variance", shape, **moving)
        self.input_spec: Any = InputSpec(ndim=len(input_shape), axes={self.axis: channels})

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Computes the results, and in training updates the moving averages."""
        rank = inputs.ndim
        channels = self.axis % rank
        x = inputs if inputs._dtype.name != "float16" else cast(inputs, float32)
        if training and self.trainable:
            mean, variance = self._moments(x, [axis for axis in range(rank) if axis != channels], mask)
            self._move(mean, variance)
        else:
            mean, variance = self.moving_mean.value, self.moving_variance.value
        broadcast_shape = [1] * rank
        broadcast_shape[channels] = inputs._array.shape[channels]

        def fit_to_input(statistic: Any) -> Any:
            """Returns a value per channel, reshaped to broadcast with the input."""
            statistic = cast(statistic, x._dtype) if statistic.dtype is not x._dtype else statistic
            return statistic if channels == rank - 1 else reshape(statistic, broadcast_shape)

        beta, gamma = (None if weight is None else fit_to_input(weight.value) for weight in (self.beta, self.gamma))
        normalized = nn.batch_normalization(x, fit_to_input(mean), fit_to_input(variance), beta, gamma, self.epsilon)
        return normalized if normalized._dtype is inputs._dtype else cast(normalized, inputs._dtype)

    def _move(self, mean: Any, variance: Any) -> None:
        for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
            old_share = moving.value * self.momentum
            moving.assign(old_share + cast(now, old_share.dtype) * (1.0 - self.momentum))

    def _moments(self, x: Any, axes: list[int], mask: Any) -> tuple[Any, Any]:
        if mask is None:
            return nn.moments(x, axes)
        counted = cast(mask, x._dtype)
        while counted.ndim < x.ndim:
            counted = expand_dims(counted, -1)
        counted = counted * (x * 0.0 + 1.0)
        count = reduce_sum(counted, axes, keepdims=True) + 1e-7
        mean = reduce_sum(counted * x, axes, keepdims=True) / count
        variance = reduce_sum(counted * square(x - mean), axes, keepdims=True) / count
        length = [x._array.shape[self.axis]]
        return reshape(mean, length), reshape(variance, length)


class LayerNormalization(SameShape):
    """Normalizes the values of each example to mean 0 and variance 1.

    Args:
      axis: axis or axes to normalize; the last by default.
      epsilon: number added to the variance; 0.001 by default.
      center: whether to add a trainable offset to the results; true by default.
      scale: whether to multiply the results by a trainable factor; true by default.
      beta_initializer: initializer of the offset.
      gamma_initializer: initializer of the factor.
      beta_regularizer: penalty for large offsets.
      gamma_regularizer: penalty for large factors.
      beta_constraint: constraint applied to the offset after each update.
      gamma_constraint: constraint applied to the factor after each update.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis: Any = list(axis) if is_list(axis) else axis
        self.epsilon: float = epsilon
        self.center: bool = center
        self.scale: bool = scale
        self._take_rules("beta", beta_initializer, beta_regularizer, beta_constraint)
        self._take_rules("gamma", gamma_initializer, gamma_regularizer, gamma_constraint)
        self.gamma: Any = None
        self.beta: Any = None

    _config = arguments_of(__init__)

    def _axes(self, rank: int) -> list[int]:
        axes: list[Any] = self.axis if is_list(self.axis) else [self.axis]
        return sorted(axis % rank for axis in axes)

    def build(self, input_shape: Any) -> None:
        shape = tuple(input_shape[axis] for axis in self._axes(len(input_shape)))
        if self.scale:
            self.gamma = self._weight("gamma", shape)
        if self.center:
            self.beta = self._weight("beta", shape)

    def call(self, inputs: Any) -> Any:
        x = inputs if inputs._dtype.name != "float16" else cast(inputs, float32)
        gamma, beta = (None if weight is None else weight.value for weight in (self.gamma, self.beta))
        normalized = layer_normalization(x, gamma, beta, axes=self._axes(x.ndim), epsilon=self.epsilon)
        return normalized if normalized._dtype is inputs._dtype else cast(normalized, inputs._dtype)
