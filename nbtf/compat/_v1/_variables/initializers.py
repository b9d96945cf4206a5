"""The initializers of TensorFlow 1, for `tf.get_variable`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from nbtf._ops.arrays.creation import ones, zeros
from nbtf._shapes import TensorShape
from nbtf._types import DType, DTypeLike, as_dtype, float32, string
from nbtf.compat._v1._graph.defaults import building, constant
from nbtf.compat._v1._surface.random_numbers import random_normal, random_uniform, truncated_normal
from nbtf.keras import initializers as keras


class Initializer:
    """Creates the initial value of a variable for a given shape and, optionally, a dtype other than `dtype`."""

    _config: tuple[str, ...] = ()
    """Names of the attributes, besides `dtype`, that make up its configuration."""

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

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration from which an equal initializer can be created."""
        return {**{name: getattr(self, name) for name in self._config}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Returns the initializer for a configuration."""
        return cls(**config)


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

    _config = ("value",)

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
        value_shape = np.shape(self.value)
        if self._verify_shape and value_shape != tuple(shape):
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {value_shape}.")
        return constant(self.value, dtype, shape)


class _Random(Initializer):
    """A random initial value, drawn when a session runs the variable's initializer."""

    _config = ("seed",)

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.seed = seed


class RandomUniform(_Random):
    """Uniformly distributed values.

    Args:
      minval: lower limit.
      maxval: upper limit, exclusive; None means 1.
      seed: seed of the op; None uses only the graph's seed.
    """

    _config = ("minval", "maxval", "seed")

    def __init__(
        self, minval: float = 0.0, maxval: float | None = None, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(seed, dtype)
        self.minval: float = minval
        self.maxval: float | None = maxval

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return random_uniform(shape, self.minval, 1 if self.maxval is None else self.maxval, dtype, self.seed)


class RandomNormal(_Random):
    """Normally distributed values.

    Args:
      mean: mean of the distribution.
      stddev: standard deviation of the distribution.
      seed: seed of the op; None uses only the graph's seed.
    """

    _config = ("mean", "stddev", "seed")
    _draw = staticmethod(random_normal)

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(seed, dtype)
        self.mean: float = mean
        self.stddev: float = stddev

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return self._draw(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normally distributed values that are at most two standard deviations from the mean."""

    _draw = staticmethod(truncated_normal)


class VarianceScaling(_Random):
    """Random values whose variance is scaled to the number of a layer's inputs or outputs.

    Args:
      scale: factor of the variance.
      mode: divisor of the variance: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
      distribution: `"truncated_normal"`, `"untruncated_normal"` or `"uniform"`.
      seed: seed of the op; None uses only the graph's seed.

    Raises:
      ValueError: if the mode or distribution is unknown, or the scale is not positive.
    """

    _config = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(seed, dtype)
        self._rule = keras.VarianceScaling(scale, mode, distribution)
        self.scale: float = self._rule.scale
        self.mode: str = self._rule.mode
        self.distribution: str = self._rule.distribution

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        width = self._rule.width(shape)
        if self.distribution == "uniform":
            return random_uniform(shape, -width, width, dtype, self.seed)
        draw = truncated_normal if self.distribution == "truncated_normal" else random_normal
        return draw(shape, 0.0, width, dtype, self.seed)


class _Fixed(VarianceScaling):
    """A `VarianceScaling` with fixed parameters except for the seed."""

    _config = ("seed",)
    _like: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        scale, mode, distribution = self._like
        super().__init__(scale, mode, distribution, seed, dtype)


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


class UniformUnitScaling(_Random):
    """Uniform values that preserve the scale of the inputs.

    Args:
      factor: factor of the limits.
      seed: seed of the op; None uses only the graph's seed.
    """

    _config = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(seed, dtype)
        self.factor = factor

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        limit = math.sqrt(3 / max(1.0, math.prod(shape[:-1]))) * self.factor
        return random_uniform(shape, -limit, limit, dtype, self.seed)


class Orthogonal(_Random):
    """A matrix whose rows or columns, whichever are fewer, are orthogonal. It is drawn once for each graph.

    Args:
      gain: factor of the matrix.
      seed: the random seed; None draws one.
    """

    _config = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(seed, dtype)
        self.gain = gain

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return keras.Orthogonal(self.gain, self.seed)(shape, dtype)


class Identity(Initializer):
    """A multiple of the identity matrix.

    Args:
      gain: factor of the matrix.
    """

    _config = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return keras.Identity(self.gain)(shape, dtype)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
