"""A layer that gives each channel of a batch the same mean and variance."""

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
    """Gives each channel mean `beta` and width `gamma`: over the batch in training, by running means otherwise.

    The nodes that update the running means are put into the collection `UPDATE_OPS`: let the training step wait for
    them.

    Args:
      axis: the axis of the channels.
      momentum: how slowly the running means follow.
      epsilon: added to variances.
      center: whether there is a `beta`.
      scale: whether there is a `gamma`.
      beta_initializer: by default zeros.
      gamma_initializer: by default ones.
      moving_mean_initializer: by default zeros.
      moving_variance_initializer: by default ones.
      beta_regularizer: makes a loss of `beta`.
      gamma_regularizer: makes a loss of `gamma`.
      beta_constraint: is applied to `beta` by optimizers.
      gamma_constraint: is applied to `gamma` by optimizers.
      trainable: whether `beta` and `gamma` are trained.
      fused: accepted: images are treated as by TensorFlow's op for them unless it is False.
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
        """Makes the variables."""
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
        """Returns the result; `training` is a bool, or a tensor of one."""
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
        """Returns a variance as running means take it: of images the unbiased one, as TensorFlow's op for them."""
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
    """Returns the node that moves a running mean."""
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
    """Returns inputs whose channels have mean `beta` and width `gamma`; see `BatchNormalization`.

    Args:
      inputs: floats.
      training: whether means and variances are those of the batch: a bool, or a tensor of one.
      reuse: whether the variables are there already.
    """
    return call_layer(BatchNormalization, **locals())
