"""The initializers of TensorFlow 1: what `tf.get_variable` takes for the first values of variables."""

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
    """What makes the first value of a variable: called with a shape, and a dtype where `dtype` is not meant."""

    _config: tuple[str, ...] = ()
    """The attributes that say how it was made, beside `dtype`."""

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype: DType = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None) -> Any:
        """Returns a tensor of the default graph.

        Args:
          shape: its shape.
          dtype: its dtype; by default that of the initializer.
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
        """Returns what it takes to make another."""
        return {**{name: getattr(self, name) for name in self._config}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Returns the initializer that a configuration describes."""
        return cls(**config)


_LARGE = 1000
"""Elements from which on a node fills the value when it is run; of fewer there is a constant (`array_ops.zeros`)."""


def _full(name: str, fill: Callable[..., Any], shape: list[int], dtype: DType) -> Any:
    if math.prod(shape) >= _LARGE:
        return fill(shape, dtype, name=name)
    value = b"" if dtype is string else getattr(np, name)((), dtype.np_dtype)
    return constant(np.full(shape, value, dtype.np_dtype), dtype, name=name)


class Zeros(Initializer):
    """Zeros; empty texts."""

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return _full("zeros", zeros, shape, dtype)


class Ones(Initializer):
    """Ones."""

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return _full("ones", ones, shape, dtype)


class Constant(Initializer):
    """One value everywhere, or given values in the order of the elements; the last one is repeated.

    Args:
      value: a number, a text, a list or an array.
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
    """What draws the first value; a session draws it when it runs the variable's initializer."""

    _config = ("seed",)

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.seed = seed


class RandomUniform(_Random):
    """Values equally likely between two limits.

    Args:
      minval: the lower limit.
      maxval: the upper one, not included; None means 1.
      seed: a number.
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
      mean: of the distribution.
      stddev: its standard deviation.
      seed: a number.
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
    """Normally distributed values, none further than two standard deviations from the mean."""

    _draw = staticmethod(truncated_normal)


class VarianceScaling(_Random):
    """Random values whose spread fits the number of inputs or outputs of a layer.

    Args:
      scale: a factor of the variance.
      mode: by what it is divided: `"fan_in"`, `"fan_out"`, `"fan_avg"`.
      distribution: `"truncated_normal"`, `"untruncated_normal"`, `"uniform"`.
      seed: a number.

    Raises:
      ValueError: another mode or distribution, or a scale that is not positive.
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
    """A `VarianceScaling` of which only the seed is chosen."""

    _config = ("seed",)
    _like: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        scale, mode, distribution = self._like
        super().__init__(scale, mode, distribution, seed, dtype)


class GlorotUniform(_Fixed):
    """Uniform values that keep the variance through layers: what `tf.get_variable` takes by default."""

    _like = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Fixed):
    """Truncated normal values that keep the variance through layers."""

    _like = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Fixed):
    """Uniform values for layers with `relu`."""

    _like = (2.0, "fan_in", "uniform")


class HeNormal(_Fixed):
    """Truncated normal values for layers with `relu`."""

    _like = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Fixed):
    """Uniform values whose variance is that of the inputs."""

    _like = (1.0, "fan_in", "uniform")


class LecunNormal(_Fixed):
    """Truncated normal values whose variance is that of the inputs."""

    _like = (1.0, "fan_in", "truncated_normal")


class UniformUnitScaling(_Random):
    """Uniform values that keep the scale of the inputs.

    Args:
      factor: a factor of the limits.
      seed: a number.
    """

    _config = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(seed, dtype)
        self.factor = factor

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        limit = math.sqrt(3 / max(1.0, math.prod(shape[:-1]))) * self.factor
        return random_uniform(shape, -limit, limit, dtype, self.seed)


class Orthogonal(_Random):
    """A matrix with orthogonal rows or columns, whichever are fewer; the numbers are drawn once for each graph.

    Args:
      gain: a factor.
      seed: a number.
    """

    _config = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(seed, dtype)
        self.gain = gain

    def _build_value(self, shape: list[int], dtype: DType) -> Any:
        return keras.Orthogonal(self.gain, self.seed)(shape, dtype)


class Identity(Initializer):
    """A multiple of the unit matrix.

    Args:
      gain: the factor.
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
