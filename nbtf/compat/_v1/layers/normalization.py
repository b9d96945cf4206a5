"""Batch normalization."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._types import float32
from nbtf.compat._v1._surface import neural
from nbtf.compat._v1._training.slots import beside
from nbtf.compat._v1._variables.initializers import Ones, Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1.layers.base import Layer, call_layer
from nbtf.compat._v1.layers.core import choose_by


class BatchNormalization(Layer):
    """Normalizes each channel to mean `beta` and standard deviation `gamma`.

    Training uses the statistics of the batch; otherwise moving averages are used. The nodes that update these averages
    are in the collection `UPDATE_OPS`: make the training step depend on them.

    Args:
      axis: axis of the channels.
      momentum: decay of the moving averages.
      epsilon: number added to variances.
      center: whether to add `beta`.
      scale: whether to multiply by `gamma`.
      beta_initializer: by default zeros.
      gamma_initializer: by default ones.
      moving_mean_initializer: by default zeros.
      moving_variance_initializer: by default ones.
      beta_regularizer: function that computes a loss from `beta`.
      gamma_regularizer: function that computes a loss from `gamma`.
      beta_constraint: function that optimizers apply to `beta`.
      gamma_constraint: function that optimizers apply to `gamma`.
      trainable: whether `beta` and `gamma` are trainable.
      fused: unless False, images are normalized as by TensorFlow's fused op.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = None,
        gamma_initializer: Any = None,
        moving_mean_initializer: Any = None,
        moving_variance_initializer: Any = None,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        fused: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, **options)
        self.axis = axis
        self.momentum: float = momentum
        self.epsilon: float = epsilon
        self._fused = fused
        self._of_beta = (beta_initializer or Zeros(), beta_regularizer, beta_constraint) if center else None
        self._of_gamma = (gamma_initializer or Ones(), gamma_regularizer, gamma_constraint) if scale else None
        self._of_mean = moving_mean_initializer or Zeros()
        self._of_variance = moving_variance_initializer or Ones()
        self.beta: Any = None
        self.gamma: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, tensor: Any) -> None:
        """Creates the variables."""
        rank = tensor.shape.rank
        self.axis %= rank
        shape = [tensor.shape.dims[self.axis]]
        if shape[0] is None:
            raise ValueError(f"There are undefined dimensions in the input shape: {tensor.shape}")
        if self._of_gamma is not None:
            self.gamma = self.add_weight("gamma", shape, float32, *self._of_gamma)
        if self._of_beta is not None:
            self.beta = self.add_weight("beta", shape, float32, *self._of_beta)
        self.moving_mean = self.add_weight("moving_mean", shape, float32, self._of_mean, trainable=False)
        self.moving_variance = self.add_weight("moving_variance", shape, float32, self._of_variance, trainable=False)

    def call(self, tensor: Any, **arguments: Any) -> Any:
        """Returns the output; `training` is a bool or a Boolean tensor."""
        training = arguments.get("training", False)
        if isinstance(training, bool | int) and not training:
            return self._normalized(tensor, self.moving_mean, self.moving_variance)
        axes = [axis for axis in range(tensor.shape.rank) if axis != self.axis]
        mean, variance = neural.moments(tensor, axes)
        share = nbtf.constant(1.0 - self.momentum)
        rate = choose_by(training, lambda: share, lambda: nbtf.zeros_like(share))
        for running, new in ((self.moving_mean, mean), (self.moving_variance, self._unbiased(tensor, variance))):
            update = _moved(running, nbtf.cast(new, float32), rate)
            tensor.graph.add_to_collection(GraphKeys.UPDATE_OPS, update)
        mean = choose_by(training, lambda: mean, lambda: nbtf.cast(self.moving_mean, mean.dtype))
        variance = choose_by(training, lambda: variance, lambda: nbtf.cast(self.moving_variance, variance.dtype))
        return self._normalized(tensor, mean, variance)

    def _unbiased(self, tensor: Any, variance: Any) -> Any:
        """Returns the variance for the moving average; unbiased for images, as in TensorFlow's fused op."""
        if self._fused is False or tensor.shape.rank != 4 or self.axis not in (1, 3):
            return variance
        count = nbtf.cast(nbtf.size(tensor), variance.dtype) / nbtf.cast(nbtf.size(variance), variance.dtype)
        return variance * (count / nbtf.maximum(count - 1.0, 1.0))

    def _normalized(self, tensor: Any, mean: Any, variance: Any) -> Any:
        shape = [1] * tensor.shape.rank
        shape[self.axis] = -1
        last = self.axis == len(shape) - 1
        mean, variance, offset, scale = [
            statistic if statistic is None or last else nbtf.reshape(statistic, shape)
            for statistic in (mean, variance, self.beta, self.gamma)
        ]
        normalized: Any = neural.batch_normalization(tensor, mean, variance, offset, scale, self.epsilon)
        normalized.set_shape(tensor.shape)
        return normalized


def _moved(running: Any, new: Any, rate: Any) -> Any:
    """Returns the node that updates a moving average."""
    with running.graph.name_scope("AssignMovingAvg") as scope, beside(running):
        return running.assign_sub((running - new) * rate, name=scope)


def batch_normalization(
    inputs: Any,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = None,
    gamma_initializer: Any = None,
    moving_mean_initializer: Any = None,
    moving_variance_initializer: Any = None,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    fused: bool | None = None,
) -> Any:
    """Returns the inputs, normalized to mean `beta` and standard deviation `gamma`; see `BatchNormalization`.

    Args:
      inputs: floats.
      training: whether to use the statistics of the batch: a bool or a Boolean tensor.
      reuse: whether to use existing variables.
    """
    return call_layer(BatchNormalization, **locals())
