"""The initializers of TensorFlow 1, for `tf.get_variable`."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from nbtf._ops.arrays.creation import ones, zeros
from nbtf._shapes import TensorShape
from nbtf._types import DType, DTypeLike, as_dtype, float32, string
from nbtf.compat._v1._graph.defaults import building, constant
from nbtf.compat._v1._surface.random_numbers import random_normal, random_uniform, truncated_normal
from nbtf.compat._v1._surface.removed import without_attributes
from nbtf.keras import initializers as keras


@without_attributes("Initializer")
class Initializer:
    """Creates the initial value of a variable for a given shape and, optionally, a dtype other than `dtype`."""

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype: DType = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None) -> Any:
        """Returns a tensor of the default graph.

        Args:
          shape: shape of the tensor.
          dtype: dtype of the tensor; by default that of the initializer.
          partition_info: accepted and ignored.
        """
        value_dtype = self.dtype if dtype is None else as_dtype(dtype)
        graph = building()
        with nullcontext() if graph is None else graph.inside():
            lengths: list[Any] = TensorShape(shape).as_list()
            return self._build_value([int(length) for length in lengths], value_dtype)

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        raise NotImplementedError


_LARGE = 1000
"""Minimum number of elements for a node that fills the value when it runs; smaller values are constants."""


def _full(name: str, fill: Callable[..., Any], shape: list[int], dtype: DType) -> Any:
    if math.prod(shape) >= _LARGE:
        return fill(shape, dtype, name=name)
    value = b"" if dtype is string else getattr(np, name)((), dtype.np_dtype)
    return constant(np.full(shape, value, dtype.np_dtype), dtype, name=name)


class Zeros(Initializer):
    """Zeros, or empty strings."""

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return _full("zeros", zeros, shape, dtype)


class Ones(Initializer):
    """Ones."""

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return _full("ones", ones, shape, dtype)


class Constant(Initializer):
    """A constant, or a list of values in row-major order, whose last value is repeated.

    Args:
      value: a number, string, list or array.
      verify_shape: whether the values must have the variable's shape.
    """

    def __init__(self, value: Any = 0, dtype: DTypeLike = float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. "
                "Expected Python scalar, list or tuple of values, or numpy.ndarray."
            )
        super().__init__(dtype)
        self.value: Any = value
        self._verify_shape = verify_shape

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        if self._verify_shape and np.shape(self.value) != tuple(shape):
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {np.shape(self.value)}.")
        return constant(self.value, dtype, shape)


class RandomUniform(Initializer):
    """Uniformly distributed values, drawn when a session runs the variable's initializer.

    Args:
      minval: lower limit.
      maxval: upper limit, exclusive; None means 1.
      seed: seed of the op; None uses only the graph's seed.
    """

    def __init__(
        self, minval: float = 0.0, maxval: float | None = None, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(dtype)
        self._limits, self._seed = (minval, 1 if maxval is None else maxval), seed

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return random_uniform(shape, *self._limits, dtype, self._seed)


class RandomNormal(Initializer):
    """Normally distributed values.

    Args:
      mean: mean of the distribution.
      stddev: standard deviation of the distribution.
      seed: seed of the op; None uses only the graph's seed.
    """

    _draw = staticmethod(random_normal)

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(dtype)
        self._mean, self._stddev, self._seed = mean, stddev, seed

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return self._draw(shape, self._mean, self._stddev, dtype, self._seed)


class TruncatedNormal(RandomNormal):
    """Normally distributed values that are at most two standard deviations from the mean."""

    _draw = staticmethod(truncated_normal)


class VarianceScaling(Initializer):
    """Random values whose variance is scaled to the number of a layer's inputs or outputs.

    Args:
      scale: factor of the variance.
      mode: divisor of the variance: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
      distribution: `"truncated_normal"`, `"untruncated_normal"` or `"uniform"`.
      seed: seed of the op; None uses only the graph's seed.

    Raises:
      ValueError: if the mode or distribution is unknown, or the scale is not positive.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(dtype)
        self._rule, self._seed = keras.VarianceScaling(scale, mode, distribution), seed

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        width = self._rule.width(shape)
        if self._rule.distribution == "uniform":
            return random_uniform(shape, -width, width, dtype, self._seed)
        draw = truncated_normal if self._rule.distribution == "truncated_normal" else random_normal
        return draw(shape, 0.0, width, dtype, self._seed)


class _Fixed(VarianceScaling):
    """A `VarianceScaling` with fixed parameters except for the seed."""

    _like: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(*self._like, seed, dtype)


class GlorotUniform(_Fixed):
    """Uniform values that preserve the variance across layers; the default of `tf.get_variable`."""

    _like = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Fixed):
    """Truncated normal values that preserve the variance across layers."""

    _like = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Fixed):
    """Uniform values for layers with `relu`."""

    _like = (2.0, "fan_in", "uniform")


class HeNormal(_Fixed):
    """Truncated normal values for layers with `relu`."""

    _like = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Fixed):
    """Uniform values that preserve the variance of the inputs."""

    _like = (1.0, "fan_in", "uniform")


class LecunNormal(_Fixed):
    """Truncated normal values that preserve the variance of the inputs."""

    _like = (1.0, "fan_in", "truncated_normal")


class Orthogonal(Initializer):
    """A matrix whose rows or columns, whichever are fewer, are orthogonal. It is drawn once for each graph.

    Args:
      gain: factor of the matrix.
      seed: the random seed; None draws one.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self._rule = keras.Orthogonal(gain, seed)

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return self._rule(shape, dtype)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
