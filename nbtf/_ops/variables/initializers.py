"""Initializers, which return a variable's initial value for a shape and dtype."""

from __future__ import annotations

from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.creation import constant, ones, zeros
from nbtf._ops.random.stateless import stateless_normal, stateless_uniform
from nbtf._ops.random.streams import normal, uniform
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, as_dtype, float32

_PARTITION = ("partition_shape", "partition_offset")


class _Initializer:
    """Base class of initializers, with `get_config` and `from_config`."""

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments as plain data."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns the initializer for a config; a `dtype` entry is ignored."""
        return cls(**{name: value for name, value in config.items() if name != "dtype"})


def _shape(shape: Any, options: dict[str, Any]) -> Any:
    """Returns the shape of the part that a partitioned variable requests, or the whole shape."""
    for name in options:
        if name not in _PARTITION:
            raise TypeError(f"Keyword argument should be one of {[*_PARTITION]}. Received: {name}")
    return options.get("partition_shape", shape)


def _of_numbers(dtype: DTypeLike, or_truth: bool = True) -> DType:
    result = as_dtype(dtype)
    if not (result.is_numeric or (or_truth and result.is_bool)):
        raise ValueError(f"Argument `dtype` expected to be numeric or boolean. Received {result}.")
    return result


class Zeros(_Initializer):
    """Initializes with zeros.

    >>> tf.zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: DTypeLike = float32, **kwargs: Any) -> Tensor:
        """Returns a tensor of zeros.

        Args:
          shape: the shape of the whole variable.
          dtype: a numeric dtype or bool; float32 by default.
          **kwargs: `partition_shape` and `partition_offset`, which select a part of the variable.

        Raises:
          ValueError: if `dtype` is neither numeric nor boolean.
        """
        return zeros(_shape(shape, kwargs), _of_numbers(dtype))


class Ones(_Initializer):
    """Initializes with ones.

    >>> tf.ones_initializer()([2], tf.int32).numpy()
    array([1, 1], dtype=int32)
    """

    def __call__(self, shape: Any, dtype: DTypeLike = float32, **kwargs: Any) -> Tensor:
        """Returns a tensor of ones.

        Args:
          shape: the shape of the whole variable.
          dtype: a numeric dtype or bool; float32 by default.
          **kwargs: `partition_shape` and `partition_offset`, which select a part of the variable.

        Raises:
          ValueError: if `dtype` is neither numeric nor boolean.
        """
        return ones(_shape(shape, kwargs), _of_numbers(dtype))


class Constant(_Initializer):
    """Initializes with a constant, or with the elements of a list.

    Args:
      value: a number, a string, a list of these, or an array; 0 by default.
      support_partition: whether a partitioned variable may request a part; False by default.

    Raises:
      TypeError: if `value` has any other type, including tensors.

    >>> tf.constant_initializer([1.0, 2.0, 3.0, 4.0])([2, 2]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        if not (CPU.xp.isscalar(value) or isinstance(value, list | tuple | CPU.xp.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, list or tuple of "
                "values, or numpy.ndarray."
            )
        self.value = value
        self.support_partition = support_partition

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Returns a tensor of the value.

        Args:
          shape: the shape of the variable.
          dtype: the dtype; by default the value's own.
          **kwargs: `partition_shape` and `partition_offset`, which `support_partition` allows.

        Raises:
          ValueError: if a part is requested and `support_partition` is False.
          TypeError: if the numbers of elements of value and shape differ.
        """
        _shape(shape, kwargs)
        if kwargs and not self.support_partition:
            raise ValueError("Constant initializer doesn't support partition-related arguments")
        return constant(self.value, None if dtype is None else as_dtype(dtype), shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments as plain data."""
        return {"value": self.value}


class RandomUniform(_Initializer):
    """Initializes with uniformly distributed random values.

    Args:
      minval: lower limit; -0.05 by default.
      maxval: upper limit, not included; 0.05 by default.
      seed: integer with which all calls for a shape return the same values; by default, values come from the global
        seed.

    >>> tf.random_uniform_initializer(seed=3)([2]).numpy()
    array([-0.03040872,  0.04393453], dtype=float32)
    """

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: DTypeLike = float32, **kwargs: Any) -> Tensor:
        """Returns a tensor of random values.

        Args:
          shape: the shape of the whole variable.
          dtype: a floating-point or integer dtype; float32 by default.
          **kwargs: `partition_shape` and `partition_offset`, which select a part of the variable.

        Raises:
          ValueError: if `dtype` is not numeric.
        """
        number_dtype = _of_numbers(dtype, or_truth=False)
        shape = _shape(shape, kwargs)
        if self.seed is None:
            return uniform(shape, self.minval, self.maxval, number_dtype)
        return stateless_uniform(shape, [self.seed, 0], self.minval, self.maxval, number_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the limits and the seed."""
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class RandomNormal(_Initializer):
    """Initializes with normally distributed random values.

    Args:
      mean: mean of the distribution; 0 by default.
      stddev: standard deviation; 0.05 by default.
      seed: integer with which all calls for a shape return the same values; by default, values come from the global
        seed.

    >>> tf.random_normal_initializer(seed=3)([2]).numpy()
    array([-0.03357924,  0.08380252], dtype=float32)
    """

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: DTypeLike = float32, **kwargs: Any) -> Tensor:
        """Returns a tensor of random values.

        Args:
          shape: the shape of the whole variable.
          dtype: a floating-point dtype; float32 by default.
          **kwargs: `partition_shape` and `partition_offset`, which select a part of the variable.

        Raises:
          ValueError: if `dtype` is not a floating-point dtype.
        """
        number_dtype = as_dtype(dtype)
        if not number_dtype.is_floating:
            raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {number_dtype}.")
        shape = _shape(shape, kwargs)
        if self.seed is None:
            return normal(shape, self.mean, self.stddev, number_dtype)
        return stateless_normal(shape, [self.seed, 0], self.mean, self.stddev, number_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the mean, the standard deviation and the seed."""
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
